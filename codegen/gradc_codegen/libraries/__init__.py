"""What other libraries have, by its addresses in this process: BLAS, LAPACK, SciPy's functions."""

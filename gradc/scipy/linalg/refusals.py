"""Why functions of scipy.linalg are refused."""

from gradc.tracing.advice.refusals import REASONS_IN_SCIPY

_KNOWN = "for orders and sizes that are known, for which it runs as it is"
_EIGENVALUES = "eigenvalues of a general matrix may be complex: for a symmetric one use eigh"
_OF_MATRIX = "functions of a general matrix may be complex: for a symmetric one use eigh"
REASONS_IN_SCIPY["scipy.linalg"] = (
    (r"eig|eigvals|schur|rsf2csf|cdf2rdf|qz|ordqz", _EIGENVALUES),
    (
        r"(sqrt|log|sign|fun|cos|sin|tan|cosh|sinh|tanh)m|fractional_matrix_power|expm_.*",
        _OF_MATRIX,
    ),
    (r"hadamard|helmert|(inv)?hilbert|(inv)?pascal", _KNOWN),
    (r"dft", "complex numbers are not there yet"),
    (r"bandwidth|is(hermitian|symmetric)", "its answer depends on values"),
    (r".*(blas|lapack).*", "it returns functions of other libraries"),
    (
        r"fiedler.*|leslie|convolution_matrix|diagsvd",
        "write it with toeplitz, circulant or np.diag",
    ),
    (r"matmul_toeplitz|solve_circulant", "write a @ b or solve with the whole matrix"),
    (r"null_space|orth|subspace_angles|cossin", "write it with svd and a known rank"),
    (
        r"pinvh|eig_banded|eig.*_tridiagonal|eigvals_banded",
        "write it with the whole matrix and eigh",
    ),
    (r"qr_.*|rq|ldl|hessenberg", "write it with qr, lu or cholesky"),
    (r"cho.*_banded", "write it with the whole matrix and cholesky, or solveh_banded"),
    (r"clarkson.*", "it draws random numbers"),
)

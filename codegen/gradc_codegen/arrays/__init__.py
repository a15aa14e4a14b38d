"""Ops on whole arrays: sorting, scans, factorisations, BLAS, functions of C."""

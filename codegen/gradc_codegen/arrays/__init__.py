"""Ops on whole arrays, between the loops of a nest: sorting, scans, factorisations, BLAS,
functions of C.
"""

"""SciPy's functions, recorded in terms of ops and of gradc.special: one file or room a module of
SciPy.
"""

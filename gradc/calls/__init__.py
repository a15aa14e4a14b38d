"""One call of a function: what binds and checks its arguments and nests its results, before
anything is traced or run.
"""

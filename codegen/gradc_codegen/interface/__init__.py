"""How a kernel is called, from Python and from C, and with tapes that grow: what knows the
callers.
"""

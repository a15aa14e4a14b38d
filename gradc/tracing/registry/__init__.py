"""How the record of a function is made and found: the decorator, NumPy's protocols, the options
of ufuncs.
"""

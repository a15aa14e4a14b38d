"""How the user's code is seen: copies of functions, and stand-ins for the modules, classes and
values they reach.
"""

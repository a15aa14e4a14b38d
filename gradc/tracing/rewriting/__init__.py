"""The copy of a user's code in which loops and branches are asked for: from source to code objects;
nothing here runs.
"""

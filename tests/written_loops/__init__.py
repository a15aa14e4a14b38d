"""Programs with Python's own loops and branches, as people write them: none is written for gradc.

Each file holds one kind of programs and a list of them, ``PROGRAMS``. They were written down before
loops were captured, and are not to be edited for the sake of what captures them.
"""

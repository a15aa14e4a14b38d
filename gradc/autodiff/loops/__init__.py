"""What reverse mode keeps of the steps of a loop and what it computes again: the choice, not the
loops.
"""

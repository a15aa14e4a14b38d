"""What a graph means, written as people write it: its mathematics, in Python or LaTeX; the numerics
stay hidden.
"""

"""What is told of a function, its graphs, the rules that fired, what is supported: text, which
nothing else reads.
"""

"""What is told of a function: its graphs as text, the rules that fired, what is supported."""

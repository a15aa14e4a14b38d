"""What is asked of a function, options and a kind of derivative: data, and nothing that acts."""

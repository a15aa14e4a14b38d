"""What is asked of graphs and cut out of them: matrices, windows, subgraphs, costs."""

"""What a function costs, by the user's lines: operations and bytes counted, kernels measured."""

"""The functions of scipy.linalg, and the reasons why others are refused."""

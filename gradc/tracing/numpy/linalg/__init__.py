"""numpy.linalg, and the products of vectors and matrices."""

"""Functions that are sums over rows, cut into parts that know some of the rows each."""

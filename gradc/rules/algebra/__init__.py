"""Sums, products and polynomials as rules see them: views that any rule may share, and no rule."""

"""Values that equations define: what solves these, and the derivatives by the implicit function
theorem.
"""

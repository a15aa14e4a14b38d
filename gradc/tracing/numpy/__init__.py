"""NumPy's functions, each recorded in terms of ops beside its record; every file is loaded on
need.
"""

from gradc import on_need

# The order is that in which names are looked for: what most programs call comes first.
on_need.announce(
    on_need.NUMPY_FUNCTIONS,
    "gradc.tracing.numpy.math.ufuncs",
    "gradc.tracing.numpy.linalg.products",
    "gradc.tracing.numpy.shape.shaping",
    "gradc.tracing.numpy.reduce.reductions",
    "gradc.tracing.numpy.select.choosing",
    "gradc.tracing.numpy.create.creation",
    "gradc.tracing.numpy.shape.asking",
    "gradc.tracing.numpy.math.rounding",
    "gradc.tracing.numpy.shape.rearranging",
    "gradc.tracing.numpy.create.sequences",
    "gradc.tracing.numpy.linalg.einsum",
    "gradc.tracing.numpy.reduce.ignoring_nan",
    "gradc.tracing.numpy.reduce.statistics",
    "gradc.tracing.numpy.reduce.accumulating",
    "gradc.tracing.numpy.select.sorting",
    "gradc.tracing.numpy.select.positions",
    "gradc.tracing.numpy.linalg.norms",
    "gradc.tracing.numpy.linalg.solving",
    "gradc.tracing.numpy.linalg.matrices",
    "gradc.tracing.numpy.math.calculus",
    "gradc.tracing.numpy.select.searching",
    "gradc.tracing.numpy.math.number_parts",
    "gradc.tracing.numpy.create.constructors",
    "gradc.tracing.numpy.shape.padding",
    "gradc.tracing.numpy.shape.sliding",
    "gradc.tracing.numpy.reduce.quantiles",
    "gradc.tracing.numpy.reduce.histograms",
    "gradc.tracing.numpy.reduce.ufunc_methods",
    "gradc.tracing.numpy.select.ufunc_at",
    "gradc.tracing.numpy.select.applying",
    "gradc.tracing.numpy.math.windows",
    "gradc.tracing.numpy.math.polynomials",
    "gradc.tracing.numpy.math.series",
    "gradc.tracing.numpy.linalg.determinants",
    "gradc.tracing.numpy.linalg.factorisations",
    "gradc.tracing.numpy.linalg.least_squares",
    "gradc.tracing.numpy.linalg.fitting",
)
on_need.announce(
    on_need.NUMPY_OBJECTS,
    "gradc.tracing.numpy.create.grids",
    "gradc.tracing.numpy.create.rows_and_columns",
    "gradc.tracing.numpy.select.applying",
)

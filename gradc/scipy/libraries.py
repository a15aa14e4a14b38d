"""What modules of libraries are recorded by which of ours, loaded once a program uses theirs."""

from gradc import on_need


def announce() -> None:
    """Announce them all; done once, when gradc is imported."""
    on_need.announce(on_need.MATH, "gradc.special.python_math")
    on_need.announce("scipy.integrate", "gradc.scipy.integrate")
    on_need.announce(
        "scipy.interpolate", "gradc.scipy.interpolate.captured", "gradc.scipy.interpolate.cubic"
    )
    on_need.announce(
        "scipy.linalg",
        "gradc.scipy.linalg.refusals",
        "gradc.scipy.linalg.equations",
        "gradc.scipy.linalg.factorisations",
        "gradc.scipy.linalg.matrix_exponential",
        "gradc.scipy.linalg.special_matrices",
    )
    on_need.announce(
        "scipy.optimize",
        "gradc.scipy.optimize.rosenbrock",
        "gradc.scipy.optimize.brackets",
        "gradc.scipy.optimize.enclosures",
        "gradc.scipy.optimize.secants",
        "gradc.scipy.optimize.root_scalar",
        "gradc.scipy.optimize.systems",
        "gradc.scipy.optimize.scalar_minima",
        "gradc.scipy.optimize.minima",
    )
    on_need.announce(
        "scipy.sparse", "gradc.scipy.sparse.captured", "gradc.scipy.sparse.constructors"
    )
    on_need.announce("scipy.sparse.linalg", "gradc.scipy.sparse.equations")
    on_need.announce("scipy.spatial.distance", "gradc.scipy.distance")
    on_need.announce("scipy.special", "gradc.scipy.special_refusals", "gradc.scipy.special")
    on_need.announce("scipy.stats", "gradc.scipy.stats.stand_ins", "gradc.scipy.stats.summaries")

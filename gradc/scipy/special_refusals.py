"""Why functions of scipy.special are refused."""

from gradc.tracing.advice.refusals import REASONS_IN_SCIPY

_KNOWN = "for orders and sizes that are known, for which it runs as it is"

REASONS_IN_SCIPY["scipy.special"] = (
    (r"geterr|seterr", "it is about error states"),
    (r"(roots_|.*_roots$).*|bernoulli|euler|factorial2|factorialk|stirling2", _KNOWN),
    (r".*_zeros", _KNOWN),
    (
        r"eval_.*",
        "orthogonal polynomials: find the coefficients outside, evaluate with np.polyval",
    ),
    (
        r"legendre|cheby[tucs]|jacobi|(gen)?laguerre|hermite(norm)?|gegenbauer|sh_(legendre|cheby[tu]"
        r"|jacobi)|assoc_laguerre",
        "its results are polynomial objects: evaluate their coefficients with np.polyval",
    ),
    (
        r"lpmv|lq.*|(assoc_|sph_)?legendre_p.*|sph_harm.*|ellip_(harm.*|normal)",
        "Legendre functions and harmonics: write the recurrence for a known order as a loop",
    ),
    (r"hankel.*|h[12]vp|wofz|lambertw|wrightomega", "complex numbers are not there yet"),
    (
        r"(bdtr|nbdtr|pdtr|fdtr|chdtr|chndtr|ncfdtr|nctdtr|stdtr|gdtr|btdtr|nrdtr|ndtri_exp|kolmog"
        r"|smirnov|tklmbda|betainccinv).*",
        "distribution functions of statistics: write them with betainc, gammainc or ndtr",
    ),
    (
        r"ellip.*|agm",
        "elliptic integrals of this kind: integrate with fixed nodes, np.sum(weights * f(nodes))",
    ),
    (r"hyp.*|.*wright_bessel", "its derivative by a parameter has no closed form"),
    (
        r"obl_.*|pro_.*|mathieu_.*|modfresnel.|pb[dvw].*|riccati.*|lmbda",
        "functions of separated wave equations: call it outside and pass the result in",
    ),
    (
        r"(airy|airye|be[ir]p?|ke[ir]p?|kelvin|it.*|jve|yve|.*struve.*|besselpoly|spherical_.*|jn.*)",
        "Bessel and related functions of this kind have no recording: call it outside",
    ),
)

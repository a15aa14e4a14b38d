"""Why a function has no recording and what to write in its place: by its name, or its module."""

from __future__ import annotations

import ast
import re

from gradc import on_need
from gradc_ir.classes.named import NamedTuple


class Cure(NamedTuple):
    """Why a function is refused, no text when nothing is known, and what to write instead."""

    why: str
    help: str


_OUTSIDE = "compute it outside of the function and pass the result in"
_GENERAL = f"write it with supported functions (docs/numpy.md), or {_OUTSIDE}"
_ON_VALUES = f"keep the shape: np.where(condition, x, 0); or {_OUTSIDE}"
_EIGENVALUES = "eigenvalues of a general matrix may be complex"

# Function (as after ``np.``) -> why it is refused.
REASONS = {
    name: why
    for why, names in {
        "the shape of the result would depend on values": """
            trim_zeros unique unique_all unique_counts unique_inverse
            unique_values intersect1d setdiff1d setxor1d union1d polydiv
        """,
        "the results are complex": "linalg.eig linalg.eigvals roots",
        "it is about text and files": """
            array2string array_repr array_str base_repr binary_repr format_float_positional
            format_float_scientific fromfile fromregex fromstring genfromtxt load loadtxt save
            savetxt savez savez_compressed frombuffer from_dlpack fromiter
        """,
        "takes no arrays of numbers": """
            busday_count busday_offset is_busday datetime_as_string datetime_data isnat get_include
            get_printoptions set_printoptions printoptions getbufsize setbufsize geterr seterr
            geterrcall seterrcall info show_config show_runtime test linalg.test nested_iters
        """,
        "it takes dtypes, for which it runs as it is": """
            can_cast common_type isdtype issubdtype min_scalar_type mintypecode promote_types
            typename
        """,
        "matrices are arrays with two axes": "asmatrix bmat",
        "gradc decides where arrays lie": "may_share_memory shares_memory isfortran",
        "its results are Python objects": "frompyfunc",
        "complex numbers are not there yet": "sort_complex",
        "it is about the bits of numbers": """
            bitwise_count bitwise_left_shift bitwise_right_shift left_shift right_shift nextafter
            packbits spacing unpackbits
        """,
        "its steps depend on the values": "gcd lcm",
        "whether it raises depends on the values": "asarray_chkfinite",
        "it solves a problem of its own, in steps that depend on the values": """
            scipy.optimize.isotonic_regression scipy.optimize.linear_sum_assignment
            scipy.optimize.linprog scipy.optimize.lsq_linear scipy.optimize.milp
            scipy.optimize.nnls scipy.optimize.quadratic_assignment
        """,
        "it is a derivative, which gradc makes of scipy.optimize.rosen": """
            scipy.optimize.rosen_der scipy.optimize.rosen_hess scipy.optimize.rosen_hess_prod
        """,
    }.items()
    for name in names.split()
}

_LAYOUT = "gradc decides where arrays lie"
_BYTES = "it is about bytes and files"

# Attribute or method of arrays that is refused -> why, and what to write instead.
MEMBERS_REFUSED = {
    "base": (_LAYOUT, "leave the question out, and copy what is assigned to: x.copy()"),
    "byteswap": (_BYTES, "call it outside and pass the result in"),
    "ctypes": (_LAYOUT, "call compiled C code outside of the function"),
    "data": (_LAYOUT, "read the bytes outside of the function"),
    "dump": (_BYTES, "return the array and write it outside"),
    "dumps": (_BYTES, "return the array and write it outside"),
    "flags": (_LAYOUT, "leave the question out: the order in memory changes no value"),
    "getfield": (_BYTES, "write x.astype(dtype) for other numbers of the same value"),
    "resize": ("an array keeps its shape", "write x = np.resize(x, shape), or x.reshape(shape)"),
    "setfield": (_BYTES, "write x[...] = values"),
    "setflags": (_LAYOUT, "leave it out"),
    "strides": (_LAYOUT, "write np.lib.stride_tricks.sliding_window_view for windows"),
    "tobytes": (_BYTES, "return the array and call x.tobytes() outside"),
    "tofile": (_BYTES, "return the array and write it outside"),
}

# Module of SciPy -> patterns of names and why they are refused, the first that fits counts; the
# files that record its functions announce them.
REASONS_IN_SCIPY: dict[str, tuple[tuple[str, str], ...]] = {}
_NOT_RECORDED = "it has no recording"

# Function (as after ``np.``, or in full) -> what to write.
_HELP = {
    "unique": "make the argument static, gradc.compile(static=…), or capture the array by name; "
    "groups of a known number are np.bincount(i, minlength=n)",
    "linalg.eig": "for a symmetric matrix write np.linalg.eigh(a)",
    "linalg.eigvals": "for a symmetric matrix write np.linalg.eigvalsh(a)",
    "roots": f"{_OUTSIDE}; a root of low degree has a formula",
    "polydiv": "the value at x of the quotient is np.polyval(u, x) / np.polyval(v, x)",
    "isfortran": "leave the question out: the order in memory changes no value",
    "may_share_memory": "leave the question out, and copy what is assigned to: x.copy()",
    "shares_memory": "leave the question out, and copy what is assigned to: x.copy()",
    "spacing": "write np.finfo(x.dtype).eps * 2.0**np.floor(np.log2(np.abs(x)))",
    "nextafter": "a step of about that size is np.finfo(x.dtype).eps * np.abs(x)",
    "sort_complex": "write np.sort(x)",
    "gcd": _OUTSIDE,
    "lcm": _OUTSIDE,
    "bitwise_count": _OUTSIDE,
    "bitwise_left_shift": "write x * 2**n",
    "left_shift": "write x * 2**n",
    "bitwise_right_shift": "write x // 2**n",
    "right_shift": "write x // 2**n",
    "asarray_chkfinite": "write np.asarray(x); GRADC_DEBUG_NANS=1 names what is not finite",
    "frompyfunc": "call the function with whole arrays, with np.where for its branches",
    "asmatrix": "keep arrays with two axes, and write a @ b",
    "bmat": "write np.block(blocks)",
    "scipy.linalg.eig": "for a symmetric matrix write np.linalg.eigh(a)",
    "scipy.linalg.eigvals": "for a symmetric matrix write np.linalg.eigvalsh(a)",
    "scipy.linalg.sqrtm": "for a symmetric matrix: w, v = np.linalg.eigh(a), (v * w**0.5) @ v.T",
    "scipy.linalg.logm": "for a symmetric matrix: w, v = np.linalg.eigh(a), (v * np.log(w)) @ v.T",
    "scipy.integrate.odeint": "write the steps of the method as a loop: gradc.scan over the times",
    "scipy.integrate.solve_ivp": "write the steps of the method as a loop: gradc.while_loop",
}  # fmt: skip

# Module -> why none of its functions is there, and what to write; the longest name counts.
_MODULES = {
    "fft": Cure(
        "complex numbers, and so Fourier transforms, are not there yet",
        "for a fixed length multiply with a matrix of cosines and one of sines, "
        "or transform outside",
    ),
    "ma": Cure("masked arrays are not there", "keep the mask as an array: np.where(mask, 0, x)"),
    "polynomial": Cure(
        "polynomials of the package are not there",
        "write np.polyval(coefficients, x), the highest power first",
    ),
    "char": Cure("texts are no numbers", _OUTSIDE),
    "strings": Cure("texts are no numbers", _OUTSIDE),
    "lib.scimath": Cure("complex numbers are not there yet", "write the function of np itself"),
    "emath": Cure("complex numbers are not there yet", "write the function of np itself"),
    "scipy.fft": Cure(
        "complex numbers, and so Fourier transforms, are not there yet",
        "for a fixed length multiply with a matrix of cosines and one of sines, "
        "or transform outside",
    ),
    "scipy.optimize": Cure(
        "it calls a function with numbers, and how often depends on them",
        "call it outside with the compiled function: minimize(f.value_and_grad, x0, jac=True); "
        "or give its result derivatives, gradc.implicit(solver, conditions, spec)",
    ),
    "scipy.integrate": Cure(
        "it calls a function with numbers, and how often depends on them",
        "fixed nodes can be differentiated: np.sum(weights * f(nodes)), or np.trapezoid(y, x)",
    ),
    "scipy.interpolate": Cure(
        "", f"write CubicSpline(x, y)(points), np.interp(x, xp, fp) for a linear one, or {_OUTSIDE}"
    ),
    "scipy.sparse.linalg": Cure(
        "", "write spsolve(A, b), or gradc.linear_solve(lambda x: A @ x, b, method='cg').x"
    ),
    "scipy.sparse": Cure(
        "",
        "make the matrix outside of the function; inside, csr_array, csc_array and coo_array take "
        "(data, (row, col)) with traced data, and diags_array and block_array parts",
    ),
    "scipy.signal": Cure("", f"write np.convolve(x, weights), or {_OUTSIDE}"),
    "scipy.ndimage": Cure("", f"write np.convolve(x, weights), or {_OUTSIDE}"),
}

# What to write by what a reason begins with, where a function has no line of its own.
_BY_REASON = {
    "the shape of the result": _ON_VALUES,
    "it is about text": _OUTSIDE,
    "it takes dtypes": "give it the dtype: x.dtype",
    "it is about the bits": _OUTSIDE,
    "takes no arrays": "leave it out, or call it outside",
    "it solves a problem": _OUTSIDE,
    "it is a derivative": "write gradc.grad, gradc.hessian or gradc.hvp of scipy.optimize.rosen",
}


def _of_module(key: str) -> Cure:
    """Return what holds for all functions of a module, no texts when nothing does."""
    module = key.rpartition(".")[0]
    while module and module not in _MODULES:
        module = module.rpartition(".")[0]
    return _MODULES.get(module, Cure("", ""))


def calls_back(name: str) -> bool:
    """Whether a function of SciPy calls a function of the user's, as often as it likes."""
    return name.startswith(("scipy.integrate.", "scipy.optimize."))


def _reason_in_scipy(name: str) -> str:
    """Return why a function of SciPy is refused, no text for modules without reasons."""
    module, _, function = name.rpartition(".")
    on_need.load(module)
    if module not in REASONS_IN_SCIPY:
        return ""
    reasons = REASONS_IN_SCIPY[module]
    fitting = (why for pattern, why in reasons if re.fullmatch(pattern, function))
    return next(fitting, _NOT_RECORDED)


def handed_out(text: str) -> Cure | None:
    """Return the cure for an array that was handed to what is called in an expression."""
    try:
        called = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    while isinstance(called, ast.Call):
        called = called.func
    name = ast.unparse(called)
    key = name.removeprefix("np.")
    if key in _HELP or _of_module(key) != Cure("", ""):
        return cure(name)
    return None


def cure(name: str) -> Cure:
    """Return why a function (``np.median``, ``x.sort``) is refused, and what to write instead.

    No function is named because it sounds alike: it does something else.
    """
    package, _, rest = name.partition(".")
    key = rest if package in ("np", "x") else name
    if name.endswith("(vectorized)"):  # what np.frompyfunc made
        key = "frompyfunc"
    of_module = _of_module(key)
    why = REASONS.get(key, of_module.why)
    if not why and package == "scipy":
        why = _reason_in_scipy(name)
    if key in ("linalg.eig", "linalg.eigvals"):
        why = _EIGENVALUES
    help = _HELP.get(key) or next(
        (text for start, text in _BY_REASON.items() if why.startswith(start)), of_module.help
    )
    return Cure(why, help or _GENERAL)

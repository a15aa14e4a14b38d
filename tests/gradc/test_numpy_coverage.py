"""What docs/numpy.md says: the functions other libraries differentiate, and each refusal."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import gradc
from gradc.scipy import coverage as scipy_coverage
from gradc.tracing.numpy import coverage
from gradc_ir.errors import TraceError
from tests.gradc.every_numpy_function import words

# What autograd 1.7 differentiates in numpy, numpy.linalg and scipy.special.
NUMPY = words(
    """
    abs absolute amax amin angle arccos arccosh arcsin arcsinh arctan arctanh array_split
    atleast_1d atleast_2d atleast_3d broadcast_to clip concatenate conj cos cosh cumsum deg2rad
    degrees diag diff dot dsplit einsum exp exp2 expand_dims expm1 fabs fliplr flipud full gradient
    hsplit imag inner kron log log10 log1p log2 matmul max mean min moveaxis nan_to_num negative pad
    partition prod rad2deg radians ravel real real_if_close reciprocal repeat reshape roll rollaxis
    rot90 sin sinh sort split sqrt square squeeze std sum swapaxes tan tanh tensordot tile transpose
    tril triu var vsplit add subtract multiply divide true_divide mod remainder power maximum
    minimum fmax fmin logaddexp logaddexp2 arctan2 hypot where select cross outer trace average
    linspace sinc linalg.norm linalg.cholesky linalg.det linalg.eig linalg.eigh linalg.inv
    linalg.pinv linalg.slogdet linalg.solve linalg.svd
    """
)
SPECIAL = words(
    """
    digamma erf erfc erfcinv erfinv expit gamma gammainc gammaincc gammaln gammasgn i0 i1 iv ive j0
    j1 jn logit logsumexp polygamma psi rgamma y0 y1 yn beta betaln betainc multigammaln
    """
)
EXCEPTIONS = {
    "linalg.eig": (coverage.REFUSED, "eigenvalues of a general matrix may be complex"),
    "imag": (coverage.VALUE, ""),  # zero: no array is complex
    "gammasgn": (coverage.VALUE, "`gradc.special.gammasgn`"),  # a sign
}
ROWS = [*coverage.rows(), *coverage.rows("linalg.", np.linalg)]
X = np.array([[1.5, -2.25, 0.5], [0.75, 2.5, -1.0], [0.25, 1.0, 3.5]])


def test_what_others_differentiate() -> None:
    states = {name: (row.state, row.note) for row in ROWS for name in row.names}
    states |= {row.names[0]: (row.state, row.note) for row in scipy_coverage.special()
               if row.names[0] in SPECIAL}  # fmt: skip
    missing = {
        name: states[name] for name in (*NUMPY, *SPECIAL) if states[name][0] != coverage.BOTH
    }
    assert missing == EXCEPTIONS


@pytest.mark.parametrize("row", [row for row in ROWS if row.state == coverage.REFUSED], ids=str)
def test_a_refusal_names_reason_and_cure(row: coverage.Row) -> None:
    for name in row.names:
        if name.endswith("test"):
            continue  # an object, not a function
        function = getattr(np.linalg if name.startswith("linalg.") else np, name.split(".")[-1])
        with pytest.raises(TraceError) as caught:
            gradc.compile(lambda x: function(x))(X)  # noqa: B023
        text = str(caught.value)
        assert "is not supported for traced arrays" in text
        assert row.note in text
        assert f"help: {row.instead}" in text
        assert row.note
        assert row.instead


def test_every_function_of_scipy_has_a_state() -> None:
    rows = [*scipy_coverage.special(), *scipy_coverage.linalg()]
    assert all(row.note for row in rows if row.state == coverage.REFUSED)
    unexplained = [row for row in rows if row.note == "it has no recording"]
    assert len(unexplained) < 20


def test_a_refusal_of_scipy_names_the_reason() -> None:
    with pytest.raises(TraceError, match="its derivative by a parameter has no closed form"):
        gradc.compile(lambda x: scipy.special.hyp0f1(x, x))(X)

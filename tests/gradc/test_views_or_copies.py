"""Which functions share memory with their argument: what one is assigned the other sees."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradc.tracing import trace
from gradc_ir.errors import TraceError
from gradc_ir.interpreter.interpret import interpret

EXPRESSIONS = """
x[:]
x[...]
x[None]
x[0]
x[[0, 1, 2]]
x[np.array(1)]
x.T
x.mT
x.real
x.conj()
x.copy()
x.flatten()
x.ravel()
x.T.ravel()
x[::-1].ravel()
x[0, ::-1].ravel()
x[0, ::-1].reshape(-1)
x.reshape(9)
x.T.reshape(9)
x.squeeze()
x.astype(float)
x.astype(float, copy=False)
x.astype(dtype=np.float64)
x.swapaxes(0, 0)
x.transpose(0, 1)
+x
abs(x)
np.abs(x)
np.positive(x)
np.conj(x)
np.real(x)
np.array(x)
np.array(x, copy=None)
np.array([x])[0]
np.asarray(x)
np.asarray(x, dtype=float)
np.asanyarray(x)
np.ascontiguousarray(x)
np.ascontiguousarray(x.T)
np.copy(x)
np.ravel(x[0])
np.reshape(x, (9,))
np.transpose(x)
np.permute_dims(x, (1, 0))
np.matrix_transpose(x)
np.moveaxis(x, 0, 1)
np.rollaxis(x, 1)
np.expand_dims(x, 0)
np.squeeze(x[:1])
np.atleast_1d(x)
np.atleast_2d(x[0])
np.atleast_3d(x)
np.diagonal(x)
np.diag(x)
np.linalg.diagonal(x)
np.einsum('ii->i', x)
np.einsum('ij->ji', x)
np.einsum('ij', x)
np.einsum('ij->i', x)
np.split(x, 3)[1]
np.array_split(x, 2)[0]
np.hsplit(x, 3)[0]
np.unstack(x)[1]
np.flip(x)
np.fliplr(x)
np.rot90(x)
np.rot90(x, 4)
np.roll(x, 0)
np.tril(x)
np.triu(x, -3)
np.nan_to_num(x)
np.broadcast_to(x, (2, 3, 3))
np.concatenate([x])
np.stack([x])[0]
np.block([x])
np.take(x, [0])
np.where(True, x, x)
np.delete(x, [], 0)
np.repeat(x, 1, 0)
np.tile(x, 1)
np.resize(x, (3, 3))
np.pad(x, 0)
np.diff(x, n=0)
np.round(x)
np.sort(x)
np.clip(x, -9, 9)
np.sum(x, axis=())
np.max(x, axis=())
np.cumsum(x[0])
np.linalg.matrix_power(x, 1)
np.meshgrid(x[0], x[1])[0]
""".strip().splitlines()
PROGRAMS = {
    "the argument is written": "v = {}; x[0, 0] = 50; x[1] = 70; return v * 1",
    "the result is written": "v = {}; v[...] = 9; return x",
    "the result is changed in place": "v = {}; v += 1; return x",
}
X = np.arange(9.0).reshape(3, 3) / 4 - 1


def function_of(program: str) -> Callable[..., Any]:
    text = "def f(x):\n" + "".join(f"    {line}\n" for line in program.split("; "))
    linecache.cache[program] = (len(text), None, text.splitlines(keepends=True), program)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, program, "exec"), space)
    found: Callable[..., Any] = space["f"]
    return found


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_sharing(expression: str, program: str) -> None:
    function = function_of(program.format(expression))
    try:
        want = function(X.copy())
    except ValueError:  # NumPy's result is read-only
        with pytest.raises(TraceError, match="cannot be assigned to"):
            trace(function, (X,))
        return
    try:
        function_ = trace(function, (X,)).function
    except TraceError as error:
        if "may or may not share memory" not in error.what:
            raise
        return
    (found,) = interpret(function_, [X])
    np.testing.assert_array_equal(found, want, strict=True)

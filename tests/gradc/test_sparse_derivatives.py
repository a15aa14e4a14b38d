"""Sparse Jacobians and Hessians as users ask for them: values, structure, errors."""

from __future__ import annotations

import functools
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize
from scipy.sparse import csr_array

import gradc
from tests.comparing import assert_same_bits
from tests.gradc.test_error_messages import says

POINT = np.random.default_rng(0).uniform(0.5, 1.5, 12)


def chain(x: Any) -> Any:
    return x[1:-1] ** 2 * np.sin(x[2:]) - np.exp(x[:-2])


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def arrow(x: Any) -> Any:
    return np.concatenate([[np.sum(x**2)], x[0] * x[1:] ** 2])


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("function", [chain, arrow, rosenbrock])
def test_a_sparse_jacobian_has_the_elements_of_the_dense_one(function: Any, mode: Any) -> None:
    compiled = gradc.compile(function)
    found = compiled.jacobian(POINT, sparse=True, mode=mode)
    assert isinstance(found, csr_array)
    assert found.has_canonical_format
    dense = gradc.jacobian(function, mode="forward" if mode == "auto" else mode)(POINT)
    np.testing.assert_allclose(found.toarray(), dense.reshape(found.shape), rtol=1e-14)
    assert_same_bits(gradc.sparse_jacobian(function, mode=mode)(POINT).toarray(), found.toarray())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sparse_hessian_has_the_elements_of_the_dense_one(dtype: Any) -> None:
    compiled, x = gradc.compile(rosenbrock), POINT.astype(dtype)
    found = compiled.hessian(x, sparse=True)
    assert_same_bits(found.toarray(), compiled.hessian(x))
    assert found.nnz == 34
    rows, columns = compiled.hessian_structure(x)
    assert (rows >= columns).all()
    assert len(rows) == 23
    assert_same_bits(compiled.hessian_values(x), found.toarray()[rows, columns])
    assert_same_bits(gradc.sparse_hessian(rosenbrock)(x).toarray(), found.toarray())


def test_structure_and_values() -> None:
    compiled = gradc.compile(chain)
    rows, columns = compiled.jacobian_structure(POINT)
    values = compiled.jacobian_values(POINT)
    dense = compiled.jacobian(POINT)
    assert_same_bits(values, dense[rows, columns])
    assert np.count_nonzero(dense) == len(values) == 30
    buffer = np.empty_like(values)
    assert compiled.jacobian_values(POINT, out=buffer) is buffer
    assert_same_bits(buffer, values)
    derivative = gradc.sparse_jacobian(chain)
    assert_same_bits(derivative.values(POINT), values)
    np.testing.assert_array_equal(derivative.structure(POINT), (rows, columns))
    np.testing.assert_array_equal(derivative.sparsity(POINT).toarray(), dense != 0)


def test_out_is_an_earlier_result() -> None:
    compiled = gradc.compile(chain)
    found = compiled.jacobian(POINT, sparse=True)
    assert compiled.jacobian(2 * POINT, sparse=True, out=found) is found
    assert_same_bits(found.toarray(), compiled.jacobian(2 * POINT))


def test_a_result_is_the_callers_own() -> None:
    compiled = gradc.compile(chain)
    found = compiled.jacobian(POINT, sparse=True)
    found.indices[:] = 0
    found.data[:] = 0
    compiled.sparsity(POINT).indices[:] = 0
    compiled.jacobian_structure(POINT)[1][:] = 0
    assert_same_bits(compiled.jacobian(POINT, sparse=True).toarray(), compiled.jacobian(POINT))


def test_by_any_argument_of_any_shape() -> None:
    def product(a: Any, b: Any, c: Any = 2.0) -> Any:
        return a * b[:, None] * c

    a, b = POINT.reshape(3, 4), POINT[:3]
    compiled = gradc.compile(product)
    for wrt in (0, 1, "b", -2, "c"):
        found = compiled.jacobian(a, b, c=3.0, wrt=wrt, sparse=True)
        dense = compiled.jacobian(a, b, c=3.0, wrt=wrt).reshape(12, -1)
        np.testing.assert_array_equal(found.toarray(), dense)
        assert found.nnz == 12
    assert compiled.sparsity(a, b, wrt=1).shape == (12, 3)


def test_sizes_change() -> None:
    compiled = gradc.compile(chain)
    for size in (12, 3, 30, 2, 31):
        x = np.linspace(0.1, 1, size)
        found = compiled.jacobian(x, sparse=True)
        assert_same_bits(found.toarray(), compiled.jacobian(x))


def test_indices_of_a_call_decide_on_the_pattern() -> None:
    @gradc.compile
    def picked(x: Any, at: Any) -> Any:
        return x[at] ** 2 * x[0]

    for at in ([1, 2, 3], [1, 2, 3], [3, 3, 0], [5, 6, 7], [1, 2, 3]):
        indices = np.array(at)
        found = picked.jacobian(POINT, indices, sparse=True)
        dense = picked.jacobian(POINT, indices)
        assert_same_bits(found.toarray(), dense)
        assert found.nnz == np.count_nonzero(dense)


class Holder:
    """What a function reads from outside."""

    at = np.array([1, 2])
    is_wide = False


def test_what_is_read_from_outside_decides_on_the_pattern() -> None:
    holder = Holder()

    @gradc.compile
    def outside(x: Any) -> Any:
        return x[holder.at] * (np.sum(x) if holder.is_wide else x[0])

    for _ in range(3):
        assert outside.sparsity(POINT).nnz == 4
    holder.at = np.array([4, 5, 6])
    np.testing.assert_array_equal(
        outside.jacobian(POINT, sparse=True).toarray(), outside.jacobian(POINT)
    )
    holder.at[0] = 7
    np.testing.assert_array_equal(
        outside.jacobian(POINT, sparse=True).toarray(), outside.jacobian(POINT)
    )
    holder.is_wide = True
    assert outside.sparsity(POINT).nnz == 36


def test_integers_that_pick_nothing_decide_on_nothing() -> None:
    @gradc.compile
    def weighted(x: Any, labels: Any) -> Any:
        return np.where(labels == 1, x**2, x) * labels

    for seed in range(3):
        labels = np.random.default_rng(seed).integers(0, 3, 12)
        assert weighted.jacobian(POINT, labels, sparse=True).nnz == 12
    (plans,) = weighted._plans._plans.values()
    assert len(plans) == 1


def test_infinite_slopes_leave_the_rest_zero() -> None:
    x = np.array([0.0, 4.0, 0.0, 1.0])
    found = gradc.sparse_jacobian(lambda x: np.sqrt(x[:-1]) * x[1:])(x)
    dense = gradc.jacobian(lambda x: np.sqrt(x[:-1]) * x[1:])(x)
    assert_same_bits(found.toarray(), dense)


def test_nothing_and_numbers() -> None:
    compiled = gradc.compile(lambda x: 3.0 * x)
    assert compiled.jacobian(np.float64(2.0), sparse=True).toarray().tolist() == [[3.0]]
    assert compiled.jacobian(np.zeros(0), sparse=True).shape == (0, 0)
    constant = gradc.compile(lambda x: np.ones(4))
    assert constant.jacobian(POINT, sparse=True).nnz == 0
    assert constant.jacobian_values(POINT).shape == (0,)
    assert gradc.compile(lambda x: np.sum(2 * x)).hessian(POINT, sparse=True).nnz == 0


def test_statics_methods_and_variables() -> None:
    @gradc.compile(static="power")
    def powers(x: Any, power: int) -> Any:
        return x[:-1] ** power * x[1:]

    for power in (2, 3):
        found = powers.jacobian(POINT, power, sparse=True)
        assert_same_bits(found.toarray(), powers.jacobian(POINT, power))

    class Model:
        scale = 2.0

        @gradc.compile
        def residual(self, x: Any) -> Any:
            return self.scale * chain(x)

    model = Model()
    assert_same_bits(
        model.residual.jacobian(POINT, sparse=True).toarray(), model.residual.jacobian(POINT)
    )
    assert len(model.residual.jacobian_values(POINT)) == 30
    assert model.residual.sparsity(POINT).nnz == 30
    variable = gradc.Variable(POINT)
    by = gradc.compile(lambda: chain(variable.value))
    assert by.jacobian(wrt=variable, sparse=True).nnz == 30


def test_custom_gradients_and_policies_of_scopes() -> None:
    @gradc.custom_gradient
    def clipped(x: Any) -> Any:
        return np.clip(x, -1, 1)

    clipped.def_vjp(lambda upstream, x: upstream)
    compiled = gradc.compile(lambda x: clipped(3 * x)[1:] * x[:-1])
    found = compiled.jacobian(POINT, sparse=True)
    assert_same_bits(found.toarray(), compiled.jacobian(POINT))


def test_what_wraps_a_function_has_plans_of_its_own() -> None:
    inner = gradc.compile(chain)
    assert inner.sparsity(POINT).nnz == 30

    @functools.wraps(inner)
    def outer(x: Any) -> Any:
        return np.sum(inner(x)) * x

    assert gradc.compile(outer).sparsity(POINT).nnz == 144
    assert inner.sparsity(POINT).nnz == 30


def test_pickles() -> None:
    derivative = pickle.loads(pickle.dumps(gradc.sparse_jacobian(chain)))
    assert derivative(POINT).nnz == 30
    assert pickle.loads(pickle.dumps(gradc.compile(chain))).sparsity(POINT).nnz == 30


def test_scipy_takes_them() -> None:
    start = np.full(20, -1.0)
    residual = gradc.compile(lambda x: np.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]]))
    solved = least_squares(residual, start, jac=gradc.sparse_jacobian(residual))
    np.testing.assert_allclose(solved.x, 1, atol=1e-6)
    value = gradc.compile(rosenbrock)
    found = minimize(
        value, start, jac=value.grad, hess=gradc.sparse_hessian(rosenbrock), method="trust-constr"
    )
    np.testing.assert_allclose(found.x, 1, atol=1e-4)


# -- errors ----------------------------------------------------------------------------------------


def test_errors() -> None:
    compiled = gradc.compile(chain)
    says(
        lambda: gradc.compile(lambda p: p["a"] * p["b"]).jacobian(
            {"a": POINT, "b": POINT}, sparse=True
        ),
        """
        TraceError: a sparse jacobian of <lambda> is by one array, not by 2
          help: pass one vector and take it apart in the function: a, b = x[:n], x[n:]
        """,
    )
    says(
        lambda: gradc.compile(lambda x, y: x * y).jacobian(POINT, POINT, wrt=(0, 1), sparse=True),
        """
        TraceError: a sparse jacobian of <lambda> is by one argument, not by wrt=(0, 1)
          help: take one for each of them
        """,
    )
    says(
        lambda: gradc.compile(lambda x: (x, 2 * x)).jacobian(POINT, sparse=True),
        """
        ShapeError: a sparse jacobian is of one array; <lambda> returns 2
          help: return one vector: np.concatenate([a.ravel(), b.ravel()])
        """,
    )
    says(
        lambda: gradc.compile(lambda x: x > 1).jacobian(POINT, sparse=True),
        """
        DTypeError: a sparse jacobian is of floats; <lambda> returns bool[12]
          help: only floating-point values have derivatives
        """,
    )
    says(
        lambda: compiled.jacobian(POINT, sparse=True, out=np.zeros(30)),
        """
        TraceError: out= of a sparse derivative is a csr_array, not ndarray
          help: pass what an earlier call has returned
        """,
    )
    says(
        lambda: compiled.jacobian(POINT, sparse=True, out=csr_array((10, 12))),
        """
        ShapeError: out= has another pattern than the derivative
          0 elements in (10, 12), wanted 30 in (10, 12)
          help: pass what an earlier call with such arguments has returned
        """,
    )
    says(
        lambda: compiled.sparsity(POINT, of="gradient"),
        """
        TraceError: there is no pattern of 'gradient'
          help: choose of="jacobian" or of="hessian"
        """,
    )
    with pytest.raises(gradc.ShapeError):
        compiled.hessian(POINT, sparse=True)
    with pytest.raises(gradc.DTypeError):
        compiled.jacobian(np.arange(12), sparse=True)
    with pytest.raises(gradc.TraceError, match="takes a function"):
        gradc.sparse_jacobian(POINT)  # type: ignore[arg-type]


def test_a_traced_function_holds_no_sparse_matrix() -> None:
    compiled = gradc.compile(chain)
    with pytest.raises(gradc.TraceError, match="in a traced function there is none"):
        gradc.compile(lambda x: compiled.jacobian(x, sparse=True))(POINT)
    with pytest.raises(gradc.TraceError, match="in a traced function there is none"):
        gradc.compile(lambda x: gradc.sparse_jacobian(chain)(x))(POINT)


def test_a_parameter_may_be_called_sparse() -> None:
    compiled = gradc.compile(lambda x, sparse: x * sparse)
    assert gradc.sparse_jacobian(compiled)(POINT, sparse=2.0).nnz == 12
    with pytest.raises(gradc.TraceError, match="has a parameter called 'sparse'"):
        compiled.jacobian(POINT, 2.0)


def test_each_matrix_is_its_own() -> None:
    compiled = gradc.compile(lambda x: x[1:] ** 2 * x[:-1])
    x = np.arange(1.0, 6.0)
    first, second = (compiled.jacobian(x, sparse=True) for _ in range(2))
    wanted = compiled.jacobian(x)
    for mine, other in zip(*((one.data, one.indices, one.indptr) for one in (first, second))):
        assert not np.shares_memory(mine, other)
    first.data[:] = 0
    first.indices[:] = 0
    first.eliminate_zeros()
    assert np.array_equal(second.toarray(), wanted)
    third = compiled.jacobian(x, sparse=True)
    assert type(third) is csr_array
    assert np.array_equal(third.toarray(), wanted)
    assert np.array_equal((third.T @ third).toarray(), wanted.T @ wanted)
    assert np.array_equal(third[1:, [0, 1]].toarray(), wanted[1:, :2])

"""Derivatives of factorisations.

Matrices are in the last two axes. ``cholesky`` and ``eigh`` read one triangle of a symmetric
matrix, and are differentiated by what they read: a change there is one of both triangles, a change
of the other one is none.

Sources: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008); I. Murray, "Differentiation of the Cholesky decomposition" (2016);
S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with application
in optimum experimental design" (2010); J. Townsend, "Differentiating the singular value
decomposition" (2016); M. Seeger et al., "Auto-differentiating linear algebra" (2017).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

from gradc.autodiff.cotangents.mask import Mask
from gradc.autodiff.cotangents.masks import Cotangent, plain
from gradc.autodiff.table import Cotangents, Site, Tangents, forward_rule, reverse_rule
from gradc.autodiff.zeros import solid
from gradc_ir import build, ops
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.op import Op
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import DType
from gradc_ir.graphs.matrices import (
    along_columns,
    along_rows,
    diagonal,
    diagonal_matrix,
    folded,
    lower,
    matrix_product,
    mirrored,
    on_diagonal,
    product_with_transposed,
    rows,
    rows_put_back,
    scale_columns,
    solve_right,
    transposed,
    transposed_product,
    triangle,
    upper,
    window,
)

_PlainRule: TypeAlias = Callable[[Site, Tangents], Tangents]
_EPSILON = {DType.F64: 2.0**-52, DType.F32: 2.0**-23}


def _tangents(site: Site, tangents: Tangents) -> list[Value]:
    return [solid(t, operand.type) for t, operand in zip(tangents, site.operands)]


def _filled(site: Site, cotangents: Tangents) -> list[Value]:
    return [solid(c, result.type) for c, result in zip(cotangents, site.results)]


def _reverse(op: Op) -> Callable[[_PlainRule], _PlainRule]:
    """Declare a reverse rule of plain values: results' cotangents to operands', None for zero.

    Where all cotangents of one matrix of a stack are masked, its gradients are.
    """

    def declare(rule: _PlainRule) -> _PlainRule:
        def reverse(site: Site, cotangents: Cotangents) -> Cotangents:
            found = rule(site, plain(cotangents))
            return [None if value is None else _masked(value, cotangents) for value in found]

        reverse_rule(op)(reverse)
        return rule

    return declare


def _masked(gradient: Value, cotangents: Cotangents) -> Cotangent:
    given = [c.mask for c in cotangents if c is not None]
    sources = [mask for mask in given if mask is not None]
    if len(sources) < len(given):
        return Cotangent(gradient)
    stack = gradient.type.rank - 2

    def make(*bits: Value) -> Value:
        each = [build.reduce_max(x, tuple(range(stack, x.type.rank))) for x in bits]
        live = functools.reduce(build.logical_or, each)
        return build.broadcast(live, gradient.type.shape, tuple(range(stack)))

    return Cotangent(gradient, Mask(sources=sources, build=make), clean=False)


# -- cholesky --------------------------------------------------------------------------------------


@forward_rule(ops.cholesky)
def push_through_cholesky(site: Site, tangents: Tangents) -> Tangents:
    """With the half lower triangle Φ: dL = L Φ(L⁻¹ dA L⁻ᵀ)  (Murray 2016, eq. 8)."""
    (factor,) = site.results
    (change,) = _tangents(site, tangents)
    left = build.triangular_solve(factor, mirrored(change), lower=True)
    inner = solve_right(left, factor, transposed_too=True, lower=True)
    return [matrix_product(factor, _half_lower(inner))]


@_reverse(ops.cholesky)
def pull_through_cholesky(site: Site, cotangents: Tangents) -> Tangents:
    """L⁻ᵀ Φ(Lᵀ L̄) L⁻¹, folded onto the triangle that is read  (Murray 2016, eq. 10)."""
    (factor,) = site.results
    (cotangent,) = _filled(site, cotangents)
    inner = _half_lower(transposed_product(factor, lower(cotangent)))
    left = build.triangular_solve(factor, inner, lower=True, transposed=True)
    return [folded(solve_right(left, factor, lower=True))]


def _half_lower(x: Value) -> Value:
    """Return the lower triangle with half its diagonal."""
    halved = build.select(on_diagonal(x.type.shape), x * 0.5, x)
    return lower(halved)


# -- lu --------------------------------------------------------------------------------------------


@forward_rule(ops.lu)
def push_through_lu(site: Site, tangents: Tangents) -> Tangents:
    """With F = L⁻¹ dA U⁻¹: dL = L tril(F, -1) and dU = triu(F) U.

    L and U of a rectangle are completed to squares by columns or rows of the identity.
    """
    factors, order = site.results
    (change,) = _tangents(site, tangents)
    below, above = _completed(factors)
    left = build.triangular_solve(below, rows(change, order), lower=True, unit=True)
    inner = solve_right(left, above, lower=False)
    pushed_lower = lower(matrix_product(below, lower(inner, 1)), 1)
    pushed_upper = upper(matrix_product(upper(inner), above))
    return [pushed_lower + pushed_upper, None]


@_reverse(ops.lu)
def pull_through_lu(site: Site, cotangents: Tangents) -> Tangents:
    """With F̄ = tril(Lᵀ L̄, -1) + triu(Ū Uᵀ): the rows of L⁻ᵀ F̄ U⁻ᵀ, put back."""
    factors, order = site.results
    cotangent = _filled(site, cotangents)[0]
    below, above = _completed(factors)
    inner = lower(transposed_product(below, lower(cotangent, 1)), 1) + upper(
        product_with_transposed(upper(cotangent), above)
    )
    left = build.triangular_solve(below, inner, lower=True, unit=True, transposed=True)
    whole = solve_right(left, above, transposed_too=True, lower=False)
    return [rows_put_back(whole, order)]


def _completed(factors: Value) -> tuple[Value, Value]:
    """Return L and U as squares of full rank."""
    *stack, height, width = factors.type.shape
    k = sizes.minimum(height, width)
    tall, wide = (*stack, height, height), (*stack, width, width)
    below = _padded(window(lower(factors, 1), height, k), tall)
    below = build.select(on_diagonal(tall), build.ones_like(below), below)
    above = _padded(window(upper(factors), k, width), wide)
    if k != width:
        row = build.broadcast(build.iota(DType.I64, width), wide, (len(stack),))
        last = build.broadcast_to(build.size_value(k), wide)
        missing = build.logical_and(on_diagonal(wide), build.le(last, row))
        above = build.select(missing, build.ones_like(above), above)
    return below, above


def _padded(x: Value, shape: Shape) -> Value:
    return build.pad(x, (0,) * len(shape), shape, (1,) * len(shape))


# -- equations -------------------------------------------------------------------------------------


@forward_rule(ops.triangular_solve)
def push_through_triangular_solve(site: Site, tangents: Tangents) -> Tangents:
    """The same equations with the right-hand sides db - da x."""
    (x,), (a, _) = site.results, site.operands
    of_a, of_b = tangents
    change = None if of_a is None else _read_part(of_a, site)
    right = _changed_right(x, change, of_b, site.attributes["transposed"])
    return [build.apply("triangular_solve", a, right, **site.attributes)]


@_reverse(ops.triangular_solve)
def pull_through_triangular_solve(site: Site, cotangents: Tangents) -> Tangents:
    """b̄ solves the transposed equations for x̄; ā is -b̄ xᵀ in the triangle that is read."""
    (cotangent,) = _filled(site, cotangents)
    given = dict(site.attributes)
    given["transposed"] = not given["transposed"]
    of_b = build.apply("triangular_solve", site.operands[0], cotangent, **given)
    of_a = _toward_matrix(site, of_b)
    return [None if of_a is None else _read_part(of_a, site), of_b]


def _read_part(x: Value, site: Site) -> Value:
    """Return the part of a matrix that triangular_solve reads."""
    return triangle(x, site.attributes["lower"], int(site.attributes["unit"]))


@forward_rule(ops.solve)
def push_through_solve(site: Site, tangents: Tangents) -> Tangents:
    """The same equations with the right-hand sides db - da x."""
    (x,), (of_a, of_b) = site.results, tangents
    transpose_too = site.attributes["transposed"]
    right = _changed_right(x, of_a, of_b, transpose_too)
    return [build.solve(site.operands[0], right, transposed=transpose_too)]


@_reverse(ops.solve)
def pull_through_solve(site: Site, cotangents: Tangents) -> Tangents:
    """b̄ solves the transposed equations for x̄; ā is -b̄ xᵀ."""
    (cotangent,) = _filled(site, cotangents)
    of_b = build.solve(site.operands[0], cotangent, transposed=not site.attributes["transposed"])
    return [_toward_matrix(site, of_b), of_b]


def _changed_right(x: Value, of_a: Value | None, of_b: Value | None, transpose_too: bool) -> Value:
    if of_a is None:
        assert of_b is not None
        return of_b
    moved = (transposed_product if transpose_too else matrix_product)(of_a, x)
    return -moved if of_b is None else of_b - moved


def _toward_matrix(site: Site, of_b: Value) -> Value | None:
    if not site.wanted[0]:
        return None
    pair = of_b, site.results[0]
    return -product_with_transposed(*(pair[::-1] if site.attributes["transposed"] else pair))


# -- qr --------------------------------------------------------------------------------------------


@forward_rule(ops.qr)
def push_through_qr(site: Site, tangents: Tangents) -> Tangents:
    """With T = dX R₁⁻¹ of the first k columns X, C = Qᵀ T and S = tril(C, -1) - tril(C, -1)ᵀ:
    dQ = T - Q (C - S) and dR = Qᵀ dA - S R  (Walter and Lehmann 2010, for k = n).
    """  # fmt: skip
    q, r = site.results
    (change,) = _tangents(site, tangents)
    *_, m, k = q.type.shape
    spread = solve_right(window(change, m, k), window(r, k, k), lower=False)
    inner = transposed_product(q, spread)
    skew = lower(inner, 1) - transposed(lower(inner, 1))
    pushed_q = spread - matrix_product(q, inner - skew)
    return [pushed_q, upper(transposed_product(q, change) - matrix_product(skew, r))]


@_reverse(ops.qr)
def pull_through_qr(site: Site, cotangents: Tangents) -> Tangents:
    """The transpose of the forward rule, with K = Qᵀ Q̄ and W = K - R̄ Rᵀ:
    Ā = Q R̄ + [(Q̄ - Q K + Q tril(W - Wᵀ, -1)) R₁⁻ᵀ, 0].
    """  # fmt: skip
    q, r = site.results
    of_q, of_r = _filled(site, cotangents)
    of_r = upper(of_r)
    k = q.type.shape[-1]
    inner = transposed_product(q, of_q)
    skew = inner - product_with_transposed(of_r, r)
    within = lower(skew - transposed(skew), 1) - inner
    spread = of_q + matrix_product(q, within)
    of_first = solve_right(spread, window(r, k, k), transposed_too=True, lower=False)
    return [matrix_product(q, of_r) + _padded(of_first, site.operands[0].type.shape)]


# -- eigh and svd ----------------------------------------------------------------------------------


@forward_rule(ops.eigh)
def push_through_eigh(site: Site, tangents: Tangents) -> Tangents:
    """With P = Vᵀ dA V: dw = diag(P), dV = V (P / (wⱼ - wᵢ))  (Giles 2008, §3.1)."""
    w, v = site.results
    (change,) = _tangents(site, tangents)
    whole = mirrored(change, site.attributes["lower"])
    inner = matrix_product(transposed_product(v, whole), v)
    turned = _over(inner, build.abs(inner), _gaps(w), w)
    return [diagonal(inner), matrix_product(v, turned)]


@_reverse(ops.eigh)
def pull_through_eigh(site: Site, cotangents: Tangents) -> Tangents:
    """With X = Vᵀ V̄: V (diag(w̄) + (X - Xᵀ) / 2(wⱼ - wᵢ)) Vᵀ, folded onto what is read."""
    w, v = site.results
    of_w, of_v = _filled(site, cotangents)
    inner = diagonal_matrix(of_w)
    if cotangents[1] is not None:
        x = transposed_product(v, of_v)
        weight = build.abs(x) + build.abs(transposed(x))
        inner = inner + 0.5 * _over(x - transposed(x), weight, _gaps(w), w)
    whole = product_with_transposed(matrix_product(v, inner), v)
    return [folded(whole, site.attributes["lower"])]


@forward_rule(ops.svd)
def push_through_svd(site: Site, tangents: Tangents) -> Tangents:
    """With P = Uᵀ dA V, E = (P + Pᵀ) / 2(sⱼ - sᵢ) and H = (P - Pᵀ) / 2(sⱼ + sᵢ) off the diagonal:
    ds = diag(P), dU = U (E + H) + (I - U Uᵀ) dA V / s, dV = V (E - H) + (I - V Vᵀ) dAᵀ U / s
    (Townsend 2016, with F ∘ (P S + S Pᵀ) taken apart).
    """  # fmt: skip
    u, s, vt = site.results
    (change,) = _tangents(site, tangents)
    across = product_with_transposed(change, vt)
    inner = transposed_product(u, across)
    flipped = transposed(inner)
    even, odd = _turns(inner + flipped, inner - flipped, build.abs(inner) + build.abs(flipped), s)
    of_u = matrix_product(u, even + odd)
    if u.type.shape[-2] != s.type.shape[-1]:
        of_u = of_u + _outside(across - matrix_product(u, inner), s)
    v = transposed(vt)
    of_v = matrix_product(v, even - odd)
    if vt.type.shape[-1] != s.type.shape[-1]:
        down = transposed_product(change, u)
        of_v = of_v + _outside(down - matrix_product(v, flipped), s)
    return [of_u, diagonal(inner), transposed(of_v)]


@_reverse(ops.svd)
def pull_through_svd(site: Site, cotangents: Tangents) -> Tangents:
    """With Y = Uᵀ Ū + Vᵀ V̄ and Z = Uᵀ Ū - Vᵀ V̄, P̄ = diag(s̄) + (Y - Yᵀ) / 2(sⱼ - sᵢ)
    + (Z - Zᵀ) / 2(sⱼ + sᵢ): Ā = U P̄ Vᵀ + (I - U Uᵀ) (Ū / s) Vᵀ + U ((I - V Vᵀ) (V̄ / s))ᵀ.
    """  # fmt: skip
    u, s, vt = site.results
    of_u, of_s, of_vt = _filled(site, cotangents)
    if cotangents[0] is None and cotangents[2] is None:
        return [matrix_product(scale_columns(u, of_s), vt)]
    v, of_v = transposed(vt), transposed(of_vt)
    left, right = transposed_product(u, of_u), transposed_product(v, of_v)
    total, difference = left + right, left - right
    weight = build.abs(left) + build.abs(right)
    weight = weight + transposed(weight)
    even, odd = _turns(total - transposed(total), difference - transposed(difference), weight, s)
    inner = diagonal_matrix(of_s) + even + odd
    gradient = matrix_product(matrix_product(u, inner), vt)
    if u.type.shape[-2] != s.type.shape[-1]:
        outside = _outside(of_u - matrix_product(u, left), s)
        gradient = gradient + matrix_product(outside, vt)
    if vt.type.shape[-1] != s.type.shape[-1]:
        outside = _outside(of_v - matrix_product(v, right), s)
        gradient = gradient + product_with_transposed(u, outside)
    return [gradient]


def _turns(even: Value, odd: Value, weight: Value, s: Value) -> tuple[Value, Value]:
    shape = even.type.shape
    sums = along_columns(s, shape) + along_rows(s, shape)
    return 0.5 * _over(even, weight, _gaps(s), s), 0.5 * _over(odd, weight, sums, s)


def _gaps(w: Value) -> Value:
    """Return the differences wⱼ - wᵢ."""
    shape = (*w.type.shape, w.type.shape[-1])
    return along_columns(w, shape) - along_rows(w, shape)


def _over(x: Value, weight: Value, gaps: Value, values: Value) -> Value:
    """Return x over the gaps between values, zero on the diagonal.

    Vectors that belong to one repeated value are not determined, nor is their derivative: it is
    infinite. It is zero where nothing asks for it: where gap and ``weight`` are only rounding.
    """
    nothing = build.logical_or(on_diagonal(x.type.shape), _negligible(weight, gaps, values))
    return build.select(nothing, build.zeros_like(x), x / gaps)


def _outside(x: Value, s: Value) -> Value:
    """Return x's columns over the singular values, zero where both are only rounding."""
    columns = along_columns(s, x.type.shape)
    nothing = _negligible(build.abs(x), columns, s)
    return build.select(nothing, build.zeros_like(x), x / columns)


def _negligible(weight: Value, gaps: Value, values: Value) -> Value:
    """Return where gaps are rounding errors of the values, and weights of the largest one."""
    shape, rank = weight.type.shape, weight.type.rank
    dtype = values.type.dtype
    largest = build.reduce_max(build.abs(values), (rank - 2,))
    heaviest = build.reduce_max(weight, (rank - 2, rank - 1))
    rounding = build.count(values, (rank - 2,), dtype) * (8 * _EPSILON[dtype])

    def at_most(x: Value, scale: Value) -> Value:
        limit = scale * build.broadcast_to(rounding, scale.type.shape)
        return build.le(build.abs(x), build.broadcast(limit, shape, tuple(range(rank - 2))))

    return build.logical_and(at_most(gaps, largest), at_most(weight, heaviest))

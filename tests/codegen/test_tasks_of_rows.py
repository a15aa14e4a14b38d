"""The functions of the benchmark have the bits of one thread on any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.rows import ROWS
from benchmarks.rows.row import Row, make_case
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import Type, dtype_of
from tests.codegen.test_tasks import check, eager

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures(eager.__name__)]


def cases() -> Iterator[Any]:
    for row in ROWS:
        for dtype in row.dtypes:
            yield pytest.param(row, dtype, False, id=f"{row.name}-{dtype}")
        if row.symbolic:
            yield pytest.param(row, row.dtypes[0], True, id=f"{row.name}-symbolic")


@pytest.mark.parametrize(("row", "dtype", "symbolic"), [*cases()])
def test_bits_are_those_of_one_thread(row: Row, dtype: str, symbolic: bool) -> None:
    arguments = make_case(row, row.sizes[0], dtype).arguments
    types = [
        Type(dtype_of(x.dtype), (symbol("n"), *x.shape[1:]) if symbolic else x.shape)
        for x in arguments
    ]
    request = Request("value") if row.wrt is None else Request(row.of, row.wrt)
    function = derive(trace(row.function, tuple(types)).function, request)
    if not any(tasks for _, tasks, _ in Compilation(function, threads=2).divisions):
        pytest.skip("it has no loop that could be divided")
    check(function, arguments)

"""A condition on a traced value: the error holds the user's own lines, rewritten with np.where.

That is what one is told where branches are not recorded: without source, or with ``capture=False``.
"""

from __future__ import annotations

import linecache
import textwrap
from typing import Any

import numpy as np
import pytest

import gradc

NEVER = "an argument that only steers the function can be static: gradc.compile(static=…)"

CASES = {
    "return": """
        if x > 0:
            return x
        return -x
        >>> write return np.where(x > 0, x, -x)
        """,
    "if else": """
        if x > 0 and not x > 2:
            return np.exp(x)
        else:
            return 1
        >>> write return np.where((x > 0) & np.logical_not(x > 2), np.exp(x), 1)
        """,
    "elif": """
        if x > 1: return x
        elif x > 0: return x ** 2
        return 0
        >>> write return np.where(x > 1, x, np.where(x > 0, x ** 2, 0))
        """,
    "assignment": """
        y = 0.0
        if x > 0:
            y = x
        return y
        >>> write y = np.where(x > 0, x, y)
        """,
    "in place": """
        y = np.zeros(2)
        if x > 0 or x < -1:
            y[0] += 2 * x
        return y
        >>> write y[0] = np.where((x > 0) | (x < -1), y[0] + 2 * x, y[0])
        """,
    "several": """
        if x > 0:
            y = x
            z = 2 * y
        else:
            y = 1.0
            z = 3.0
        return y + z
        >>> write
              y = np.where(x > 0, x, 1.0)
              z = np.where(x > 0, 2 * y, 3.0)
        """,
    "the condition changes": """
        y = 1.0
        if x > 0:
            x = 2 * x
            y = x
        return x + y
        >>> compute both, and choose: np.where(x > 0, …, …)
            or write a function for each, of which one runs: gradc.cond(x > 0, …, …)
        """,
    "more than assignments": """
        if x > 0:
            print("positive")
        return x
        >>> compute both, and choose: np.where(x > 0, …, …)
            or write a function for each, of which one runs: gradc.cond(x > 0, …, …)
        """,
    "raise": """
        if x < 0:
            raise ValueError("negative")
        return x
        >>> check the arguments before the call, outside of the traced function
        """,
    "assert": """
        assert x > 0, "negative"
        return x
        >>> check the arguments before the call, outside of the traced function
        """,
    "ternary": """
        return 2 * (x if x > 0 else -x)
        >>> write np.where(x > 0, x, -x)
        """,
    "nested ternary": """
        return x if x > 1 else 0 if x < 0 else 1
        >>> write np.where(x > 1, x, np.where(x < 0, 0, 1))
        """,
    "and": """
        return (x > 0) and (x < 1)
        >>> write (x > 0) & (x < 1)
        """,
    "or of numbers": """
        return x or 1.0
        >>> write np.where(x, x, 1.0)
        """,
    "and of numbers": """
        return x and x + 1
        >>> write np.where(x, x + 1, x)
        """,
    "not": """
        return not x > 0
        >>> write np.logical_not(x > 0)
        """,
    "chained": """
        return 0 < x <= 1
        >>> write (0 < x) & (x <= 1)
        """,
    "while": """
        while x > 1:
            x = x / 2
        return x
        >>> write x = gradc.while_loop(lambda x: x > 1, lambda x: x / 2, x)
        """,
    "while of several": """
        n = 0
        while x > 1 and not n > 9:
            y = x / 2
            x = y
            n += 1
        return n
        >>> write
              def condition(carry):
                  x, n = carry
                  return (x > 1) & np.logical_not(n > 9)
              def body(carry):
                  x, n = carry
                  y = x / 2
                  x = y
                  n += 1
                  return x, n
              x, n = gradc.while_loop(condition, body, (x, n))
        """,
    "while with an assignment to an entry": """
        y = np.zeros(3)
        while y[0] < x:
            y[0] += 1
        return y
        >>> write
              def body(y):
                  y[0] += 1
                  return y
              y = gradc.while_loop(lambda y: y[0] < x, body, y)
        """,
    "while with a break": """
        while x > 1:
            x = x / 2
            if x < 0.1: break
        return x
        >>> a loop of a traced number of steps is gradc.while_loop(condition, body, carry)
        """,
    "while with an if inside": """
        y = 1.0
        while x < 3:
            if len(str(y)) > 2:
                y = 2.0
            x = x + y
        return x
        >>> write
              def condition(carry):
                  y, x = carry
                  return x < 3
              def body(carry):
                  y, x = carry
                  if len(str(y)) > 2:
                      y = 2.0
                  x = x + y
                  return y, x
              y, x = gradc.while_loop(condition, body, (y, x))
        """,
    "for": """
        total = 0.0
        for i in range(np.int64(x)):
            total += i * x
        return total
        >>> write total = gradc.fori_loop(0, np.int64(x), lambda i, total: total + i * x, total)
        """,
    "for of several": """
        a, b = 0.0, 1.0
        for _ in range(1, np.int64(x)):
            a, b = b, a + b
        return a
        >>> write
              def body(_, carry):
                  a, b = carry
                  a, b = (b, a + b)
                  return a, b
              a, b = gradc.fori_loop(1, np.int64(x), body, (a, b))
        """,
    "for with a list": """
        found = []
        for i in range(np.int64(x)):
            found.append(i)
        return found
        >>> a loop of a traced number of steps is gradc.fori_loop(lower, upper, body, carry)
        """,
    "comprehension": """
        return sum(v for v in (x, 2 * x) if v > 0 if v < 9)
        >>> keep all elements, and choose in what is made of them: np.where((v > 0) & (v < 9), …, 0)
        """,
    "over several lines": """
        if (x > 0
                and x < 2):
            return x
        return 1
        >>> write return np.where((x > 0) & (x < 2), x, 1)
        """,
    "of a call": """
        if bool(np.any(x > 0)):
            return x
        return 1
        >>> write return np.where(np.any(x > 0), x, 1)
        """,
    "somewhere inside": """
        return sorted([(x, "a"), (1.0, "b")])[0][0]
        >>> write np.where(condition, x, y), or gradc.cond(condition, f, g); """
    + NEVER,
}


def cell(name: str, body: str, numpy: str = "np") -> Any:
    """Return a function defined as in a cell of a notebook."""
    source = f"import numpy as {numpy}\ndef function(x):\n{textwrap.indent(body, '    ')}\n"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    names: dict[str, Any] = {}
    exec(compile(source, name, "exec"), names)
    return names["function"]


def helps(function: Any) -> str:
    with pytest.raises(gradc.TraceError) as error:
        gradc.compile(function, capture=False)(0.5)
    return str(error.value.help)


@pytest.mark.parametrize("name", CASES)
def test_what_to_write(name: str) -> None:
    body, wanted = textwrap.dedent(CASES[name]).strip().split("\n>>> ")
    found = helps(cell(f"<cell {name}>", body))
    if NEVER not in wanted:
        found = found.removesuffix(f"\n    {NEVER}")
    assert found == wanted


def test_numpy_by_another_name() -> None:
    body = "y = xp.sin(x)\nif y > 0:\n    y = 2 * y\nreturn y"
    assert helps(cell("<cell xp>", body, "xp")).startswith("write y = xp.where(y > 0, 2 * y, y)")


def test_without_the_source_there_is_a_general_help() -> None:
    names: dict[str, Any] = {}
    exec("def function(x):\n    return 1 if x > 0 else x", names)
    wanted = f"write np.where(condition, x, y), or gradc.cond(condition, f, g); {NEVER}"
    assert helps(names["function"]) == wanted


def test_what_is_said_is_right() -> None:
    def given(x):
        if x > 1:
            y = x
        elif x > 0:
            y = x**2
        else:
            y = -x
        return y

    def said(x):
        y = np.where(x > 1, x, np.where(x > 0, x**2, -x))
        return y

    assert helps(given).startswith("write y = np.where(x > 1, x, np.where(x > 0, x ** 2, -x))")
    for x in (-1.0, 0.5, 2.0):
        assert gradc.compile(said)(x) == given(x)

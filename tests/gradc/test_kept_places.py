"""Lines of the user's in what is kept on disk: all that a line knows is written and read."""

from __future__ import annotations

import marshal
from typing import Any

from gradc.kept.places import WrittenLines, read_line
from gradc_ir.location import Location, Outside


def user(x: Any) -> Any:
    return x + 1


def test_all_that_a_line_knows_is_kept() -> None:
    code = user.__code__
    line = Location.of_instruction(code, 2, code.co_firstlineno + 1, "user")
    line.outside = Outside("BoundsError", "an index", "another one")
    line.is_whole, line.derived, line.named = True, "dg_", ("a", None)
    line.caller = Location.of_instruction(code, 4, code.co_firstlineno, "user")
    written = marshal.loads(marshal.dumps(WrittenLines([((0, ()), code)])(line)))
    again = read_line([user], written)
    assert again == line
    for name in Location.__annotations__:  # a field that is added must be kept, too
        assert getattr(line, name) != getattr(Location("f", 1), name), f"{name}: no example here"
        assert getattr(again, name) == getattr(line, name), name

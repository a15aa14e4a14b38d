"""A function that is being rewritten: names of its own making, its sites, what it reads where."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

from gradc.tracing.rewriting.names import assigned, mentions, own_nodes, variables
from gradc.tracing.rewriting.site import Site


class CannotRewrite(Exception):
    """A function that is to be traced as it is, with the reason and its line."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


class FunctionScope:
    """One function: makes names that it does not have, and sites.

    Parameters
    ----------
    node: the function.
    file: the file it stands in.
    sites: what constants stand for, which takes the new sites.
    """

    def __init__(
        self, node: ast.FunctionDef | ast.Lambda, file: str, sites: dict[str, Site]
    ) -> None:
        self.name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
        self.file = file
        self._sites = sites
        body = node.body if isinstance(node.body, list) else [node.body]
        self._read = mentions(body)
        tries = [part for part in own_nodes(body) if isinstance(part, ast.Try)]
        parameters = [*node.args.posonlyargs, *node.args.args, node.args.vararg]
        # what super() reads without a mention
        self._first = parameters[0].arg if parameters[0] is not None else None
        self._catches = any(part.handlers for part in tries)
        self._taken = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        self._taken |= {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
        # flags and the value of a return, which are variables like those of the user
        self.flags: list[str] = []
        self._objects: set[str] = set()
        self._variables = variables(node)
        self.returned: str | None = None
        self.result: str | None = None

    def new_name(self, word: str, line: int) -> str:
        """Return a name that the function does not have, which tells of a line."""
        name = f"_{word}_{line}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def new_flag(self, word: str, line: int) -> str:
        """Return the name of a flag."""
        name = self.new_name(word, line)
        self.flags.append(name)
        return name

    def new_object(self, word: str, line: int) -> str:
        """Return the name of an object of the runtime, which is no variable of a body."""
        name = self.new_name(word, line)
        self._objects.add(name)
        return name

    def site(
        self,
        kind: str,
        node: ast.stmt | ast.expr,
        inside: Counter[str],
        *,
        made: Sequence[ast.AST] = (),
        leaving: Sequence[str] = (),
        target: str | None = None,
        handled: int | None = None,
        handles: bool = False,
        appended: frozenset[str] = frozenset(),
        indexed: frozenset[str] = frozenset(),
    ) -> tuple[ast.Constant, Site]:
        """Return a new site, and the constant that stands for it.

        ``inside`` are the names that its code mentioned as it was, ``made`` is what has become of
        the part that is run by it.
        """
        own = {*self.flags, self.result}
        reads = {*inside, self._first} if "super" in inside and self._first else inside
        names = [name for name in assigned(made) if name not in self._objects]
        # a list among them may be an array in the steps
        names += sorted(indexed & self._variables - set(names))
        site = Site(
            kind,
            self.file,
            node.lineno,
            node.end_lineno or node.lineno,
            self.name,
            tuple(names),
            frozenset(reads),
            frozenset(n for n in names if n in own or self._read[n] > inside[n]),
            tuple(leaving),
            tuple(name for name in names if name in self.flags),
            self.returned,
            () if self.result is None else (self.result,),
            target,
            handled,
            self._catches,
            handles,
            appended,
            indexed,
        )
        key = f"{kind} at line {node.lineno}, site {len(self._sites)}"
        self._sites[key] = site
        return ast.Constant(key), site

"""Loops of the user's as they are traced: run by Python, or recorded as one operation."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import Any

from gradc.capture.attempt import Attempt, Outcome
from gradc.capture.choices import Choice, refuse_effect
from gradc.capture.decide import Size as Nodes
from gradc.capture.decide import Told, is_worth_rolling
from gradc.capture.driver import Driver
from gradc.capture.held.fence import Fence
from gradc.capture.held.heap import Heap
from gradc.capture.held.recording import Before, variables_now
from gradc.capture.held.truth import truth, truth_value
from gradc.capture.held.uniform import NotUniform
from gradc.capture.items import Items, items_of, iterators_behind
from gradc.capture.notes import note_rolled, note_unrolled
from gradc.tracing import NeedsConcreteSize, Tracer
from gradc.tracing.building.needed import need_number
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.rewriting.comprehensions import named_for_a_user
from gradc.tracing.rewriting.site import Site
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.errors import GradcError


class _Chooser(Driver):
    """A loop of which a piece may be run only if it was not left before, which is not known."""

    def taken(self, choice: Choice) -> Iterator[None]:
        """Have the frame run what is next as the first side of a choice; its second is nothing."""
        self.give(dict(zip(self.site.names, choice.begin(True))))

        def abandon(error: BaseException) -> bool:
            choice.abandon(True)
            refuse_effect(error)
            return True

        self.on_error = abandon
        yield
        self.on_error = None
        choice.end(True)
        choice.skip(False)


# After so many steps it is tried once more to record a loop that has many more of them.
_LATER = (6, 18)
_MANY_STEPS = 50
# It is asked again whether that is good where steps cost so many times what the first one did.
_MUCH_MORE = 4


def _are_as_before(items: Items, before: Before) -> bool:
    """Whether lists that are gone through hold what they held before the first step."""
    changed = {id(held.thing) for held, _ in before.heap.changed()}
    visited = [("", thing) for thing in items.visited()]
    return not changed or changed.isdisjoint(Heap.reached(visited).held)


class Loop(_Chooser):
    """A ``for``."""

    def __init__(self, iterable: Any, site: Site) -> None:
        self._told: bool | None = None
        if type(iterable) is Told:
            self._told, iterable = iterable.rolled, iterable.iterable
        self._iterable = iterable
        self._why: NotUniform | None = None
        super().__init__(site, sys._getframe(1))

    def turns(self) -> Iterator[None]:
        """Run a step or some by Python, then record the others as one operation if that is good."""
        items = self._items()
        if items is not None and not isinstance(items.count, int):
            yield from self._open(items)
            return
        count = None if items is None else items.count
        assert count is None or isinstance(count, int)
        tries = items is not None and is_worth_rolling(count, 10**9) and self._told is not False
        if not tries and self._told is not True:
            yield from self._by_python(iter(self._iterable), count)
            return
        if items is None or count is None:
            raise trace_error(
                "gradc.rolled: what this loop goes through is not alike in every step",
                found=self._why.why if self._why else type(self._iterable).__name__,
            )
        yield from self._counted(items, count)

    def _items(self) -> Items | None:
        if type(self._iterable) is list and any(type(x) is Fence for x in self._iterable[:1]):
            return self._iterable[0].goes_through()  # type: ignore[no-any-return]
        try:
            return items_of(self._iterable)
        except NotUniform as why:
            self._why = why
            return None

    def _counted(self, items: Items, count: int) -> Iterator[None]:
        """Run a loop of a known number of steps."""
        before = Before(self.frame, self.site, others=items.visited())
        if before.heap.iterators:
            taken = next(iter(before.heap.iterators.values()))
            why = f"it takes items of {taken.path}, an iterator"
            note_unrolled(self.site, f"{count} steps", why)
            yield from self._by_python(iter(self._iterable), count)
            return
        if self._told:
            found = yield from self._attempt(before, items, 0)
            if isinstance(found, NotUniform):
                raise _cannot(self.site, found)
            return
        iterator = iter(self._iterable)
        nodes = Nodes(running())
        yield from self._step(iterator)
        each, first = nodes.since(), 1
        left = [truth(flag) for flag in self.flags]
        if True in left:
            return
        if count == 1:
            yield from self._grown(iterator, items, before)
            return
        least = _MUCH_MORE * each
        while None not in left and not is_worth_rolling(count - first + 1, each):
            # the first steps of a loop may do next to nothing, as of a triangle
            more = min(first, count - first)
            yield from self._steps_by_python(iterator, more)
            first += more
            left = [truth(flag) for flag in self.flags]
            if True in left:
                return
            if first == count:
                yield from self._grown(iterator, items, before)
                return
            if None in left or not is_worth_rolling(count - first, 10**9):
                yield from self._by_python(iterator, count - first)
                return
            now, nodes = nodes.since() // more, Nodes(running())
            each = now if now > least else 0
        if self.site.handles or self.site.handled is not None:
            # which steps raise what is handled is known while tracing, as an index is
            note_unrolled(self.site, f"{count} steps", "errors in it may be handled by a try")
            yield from self._by_python(iterator, count - first)
            return
        is_steady = _are_as_before(items, before)
        after = Before(self.frame, self.site, self.gone(), earlier=before)
        found = NotUniform("it changes the list that it goes through")
        if first == 1:
            found = yield from self._attempt(before, items, 0, after)
        if isinstance(found, NotUniform) and is_steady:
            found = yield from self._attempt(after, items, first, None)
        if not isinstance(found, NotUniform):
            return
        self._return_to(after)
        given: dict[str, Any] | None = after.variables
        for last in _LATER if None not in left else ():
            if last <= first:
                continue
            if count < _MANY_STEPS + last:
                break
            # it may be the first steps alone that are not like the others, as of a window
            yield from self._steps_by_python(iterator, last - first)
            first = last
            left = [truth(flag) for flag in self.flags]
            given = None
            if True in left or None in left or not _are_as_before(items, before):
                break
            after = Before(self.frame, self.site, self.gone(), earlier=before)
            again = yield from self._attempt(after, items, last, None)
            if not isinstance(again, NotUniform):
                return
            self._return_to(after)
            given = after.variables
        note_unrolled(self.site, f"{count} steps", found)
        yield from self._by_python(iterator, count - first, given)

    def _return_to(self, state: Before) -> None:
        """Have everything be what it was before an attempt that failed."""
        state.put_back()
        self.give(state.variables)
        # those of the attempts are of no trace any more
        self.flags = tuple(state.variables[name] for name in self.site.leaving)

    def _grown(self, iterator: Iterator[Any], items: Items, before: Before) -> Iterator[None]:
        """Run the steps for what was added, on the way, to the list that is gone through."""
        if not _are_as_before(items, before):
            yield from self._by_python(iterator, None)

    def _steps_by_python(self, iterator: Iterator[Any], count: int) -> Iterator[None]:
        """Run some steps as Python does, until one may leave the loop."""
        for self.item in islice(iterator, count):
            yield
            if any(truth(flag) is not False for flag in self.flags):
                return

    def _attempt(
        self, start: Before, items: Items, first: int, after: Before | None = None
    ) -> Generator[None, None, NotUniform | None]:
        """Record the steps from one on; return why that cannot be, if it cannot."""
        attempt = Attempt(self, start, items, first, after)
        found = yield from attempt.run()
        return (yield from _ended(self, found))

    def _open(self, items: Items) -> Iterator[None]:
        """Run a loop whose number of steps is a symbolic size, or a traced number."""
        before = Before(self.frame, self.site, others=items.visited())
        found = yield from self._attempt(before, items, 0)
        if not isinstance(found, NotUniform):
            return
        before.put_back()
        if isinstance(items.count, Tracer):
            need_number(items.count, "a loop whose steps are not alike")
            raise _cannot(self.site, found)
        what = f"a loop that is not uniform ({named_for_a_user(found.why)})"
        raise NeedsConcreteSize(items.count, what, found.at)

    # -- by Python -------------------------------------------------------------------------------

    def _by_python(
        self, iterator: Iterator[Any], count: int | None, given: dict[str, Any] | None = None
    ) -> Iterator[None]:
        """Run the rest of the steps as Python does.

        ``given`` are variables that the frame is about to be given: it still has those of attempts.
        """
        while True:
            left = [truth(flag) for flag in self.flags]
            if True in left:
                return
            if None in left:
                yield from self._guarded(iterator, given)
                return
            try:
                self.item = next(iterator)
            except StopIteration:
                return
            given = None
            yield

    def _step(self, iterator: Iterator[Any]) -> Iterator[None]:
        self.item = next(iterator)
        yield

    def _guarded(self, iterator: Iterator[Any], given: dict[str, Any] | None) -> Iterator[None]:
        """Run each further step only if the loop was not left before, which is not known."""
        self._refuse_shared()
        variables = variables_now(self.frame, self.site) if given is None else dict(given)
        for item in iterator:
            variables |= self.gone(variables)
            choice = Choice(self.frame, self.site, _stays(self.flags), variables)
            self.item = item
            yield from self.taken(choice)
            variables = dict(zip(self.site.names, choice.joined()))
            self.flags = tuple(variables[name] for name in self.site.leaving)
            if True in map(truth, self.flags):  # this step leaves it, where none before has
                break
        self.give(variables | self.gone(variables), ends=True)
        yield

    def _refuse_shared(self) -> None:
        """Raise TraceError where an iterator that others hold would be left somewhere in it."""
        feeding = iterators_behind(self._iterable)
        if not feeding:
            return
        found = {k: v for k, v in self.frame.f_locals.items() if not isinstance(v, Driver)}
        held = Heap.reached(found.items()).iterators
        shared = [each for each in feeding if each in held]
        if shared:
            path = held[shared[0]].path
            raise trace_error(
                f"where in {path} the {self.site.kind} loop of line {self.site.line} is left "
                "is not known while tracing",
                found=f"a {feeding[shared[0]]}",
                help=f"go through a list: list({path}), or through the array itself",
            )


class WhileLoop(_Chooser):
    """A ``while``."""

    def __init__(self, site: Site) -> None:
        self._attempt: Attempt | None = None
        self._goes_on: bool | None = True
        self._test: Any = None
        self._is_over = False
        super().__init__(site, sys._getframe(1))

    def holds(self, test: Any) -> bool:
        """Take the condition; return whether the body is to be run now."""
        if self._is_over:
            return False
        if self._attempt is not None:
            return self._attempt.asked(test)
        self._test = test
        self._goes_on = truth(test)
        return bool(self._goes_on)

    def turns(self) -> Iterator[None]:
        """Run steps by Python as long as that is known, and good; then record the loop."""
        nodes = Nodes(running())
        first = Before(self.frame, self.site)
        steps, tried = 0, False
        given: dict[str, Any] | None = None
        while True:
            if steps == 0:
                before = first
            else:
                given = (given or {}) | self.gone(given)
                before = Before(self.frame, self.site, given, earlier=first)
            given = None
            yield
            if self._goes_on is False:
                return
            if self._goes_on is None:
                test = self._test
                error = yield from self._recorded(before)
                if error is not None:
                    if isinstance(test, Tracer):
                        need_number(test, "a loop whose steps are not alike")
                    raise _cannot(self.site, error)
                return
            steps += 1
            left = [truth(flag) for flag in self.flags]
            if True in left:
                return
            tried = tried or bool(first.heap.iterators)
            if None in left or (not tried and is_worth_rolling(None, nodes.since())):
                now = Before(self.frame, self.site, self.gone(), earlier=first)
                tried = True
                error = yield from self._recorded(first if steps <= 8 else before)
                if error is None:
                    return
                if None in left:
                    raise _cannot(self.site, error)
                note_unrolled(self.site, "a known number of steps", error)
                now.put_back()
                given = now.variables
                self.give(given)

    def _recorded(self, start: Before) -> Generator[None, None, NotUniform | None]:
        """Record the loop from a state on; return why that cannot be, if it cannot."""
        attempt = self._attempt = Attempt(self, start, None)
        found = yield from attempt.run()
        self._attempt = None
        if not found.asks:
            return (yield from _ended(self, found))
        note_rolled(self.site, found.steps, found.carries)
        yield from self._asked_last(found.variables)
        return None

    def _asked_last(self, variables: dict[str, Any]) -> Iterator[None]:
        """Have the frame ask once more, as it does when a loop ends: what that changes is so.

        Where the loop may have been left before, it asks only if it was not.
        """
        self._is_over = True
        left = [variables[name] for name in self.site.leaving]
        if True in map(truth, left):
            self.give(variables, ends=True)
            yield
            return
        if None not in map(truth, left):
            self.give(variables)
            yield
            return
        choice = Choice(self.frame, self.site, _stays(left), variables)
        yield from self.taken(choice)
        self.give(dict(zip(self.site.names, choice.joined())), ends=True)
        yield


def _stays(flags: Iterable[Any]) -> Value:
    """Return whether a loop was not left yet."""
    open_ = [truth_value(flag) for flag in flags if truth(flag) is None]
    stays = build.logical_not(open_[0])
    for flag in open_[1:]:
        stays = build.logical_and(stays, build.logical_not(flag))
    return stays


def _ended(loop: Driver, found: Outcome) -> Generator[None, None, NotUniform | None]:
    """Give what a recorded loop leaves; return why it cannot be recorded, if it cannot."""
    if found.error is not None:
        return found.error
    note_rolled(loop.site, found.steps, found.carries)
    loop.give(found.variables, ends=True)
    yield
    return None


def _cannot(site: Site, why: NotUniform) -> GradcError:
    if isinstance(why.__cause__, GradcError):
        return why.__cause__
    return trace_error(
        f"the {site.kind} loop of line {site.line} has to be one operation, which it cannot be",
        found=named_for_a_user(why.why if why.at is None else f"line {why.at.line}: {why.why}"),
        help="have every step leave the same shapes and dtypes; write results into an array, "
        "x[i] = v, that is made before the loop",
    )

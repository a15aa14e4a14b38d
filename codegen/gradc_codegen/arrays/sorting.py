"""The order that sorts: keys are made integers, then merged bottom up with their positions.

The integer of a float orders as the float does, with one zero and every nan last, so that one
comparison decides and the sort is stable as NumPy's is.
"""

from __future__ import annotations

from gradc_codegen.arrays.sort_pieces import RUN, key_of
from gradc_codegen.arrays.whole_array_site import Site, WholeOp, around
from gradc_codegen.text.module import MEMORY, Module, suffix
from gradc_codegen.text.writer import Writer
from gradc_ir.core.graph import Node
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType

# about how much an element takes, in a row of some hundreds
OPERATIONS = 1000
_BUFFERS = [f"ptr noalias %{each}" for each in ("keys", "keys.copy", "order", "order.copy")]


def _scratch(node: Node) -> tuple[Size, ...]:
    """Return the bytes of keys and positions of one row, and of their copies."""
    _, length, _ = around(node)
    keys = length * key_of(node.operands[0].type.dtype).bytes
    return keys, keys, length * 8, length * 8


def _write_argsort(site: Site) -> None:
    """Call the function that sorts all rows along an axis."""
    dtype = site.node.operands[0].type.dtype
    name = f"@gradc.argsort.{'bool' if dtype is DType.BOOL else suffix(dtype)}"
    module = site.writer.module
    module.help(name, lambda: _define_argsort(module, name, dtype))
    before, length, behind = around(site.node)
    sizes = (*site.items(before * behind), site.size(length), site.size(behind))
    site.call(name, (*site.operands, *site.results, *site.scratch), sizes)


def _rows(node: Node) -> Size:
    before, _, behind = around(node)
    return before * behind


def _work(node: Node) -> Size:
    """Return about how much it takes, as cheap operations of vectors."""
    return node.results[0].type.count * OPERATIONS


argsort = WholeOp(_write_argsort, _scratch, _rows, _work)


def _define_argsort(module: Module, name: str, dtype: DType) -> str:
    writer = Writer(module, {})
    key = MEMORY[key_of(dtype)]
    sort = sort_function(module, key)

    def row(start: str) -> None:
        """Sort what begins at a position and goes on at every ``behind``-th."""

        def place(index: str) -> str:
            return writer.add(start, writer.multiply(index, "%behind"))

        def fill(index: str) -> None:
            made = write_key(writer, dtype, writer.load_at(MEMORY[dtype], "%in", place(index)))
            writer.store_at(key, made, "%keys", index)
            writer.store_at("i64", index, "%order", index)

        writer.plain_loop("0", "%length", fill)
        buffers = "ptr %keys, ptr %keys.copy, ptr %order, ptr %order.copy"
        order = writer.emit(f"call ptr {sort}({buffers}, i64 %length)")

        def result(index: str) -> None:
            to = place(index)
            writer.store_at("i64", writer.load_at("i64", order, index), "%out", to)

        writer.plain_loop("0", "%length", result)

    def each(number: str) -> None:
        """Sort a row by its number."""
        outer = writer.emit(f"udiv i64 {number}, %behind")
        across = writer.emit(f"urem i64 {number}, %behind")
        first = writer.multiply(writer.multiply(outer, "%length"), "%behind")
        row(writer.add(first, across))

    writer.plain_loop("%first", "%last", each)
    arrays = ("ptr noalias readonly %in", "ptr noalias %out", *_BUFFERS)
    sizes = ("i64 %first", "i64 %last", "i64 %length", "i64 %behind")
    return writer.procedure(name, (*arrays, *sizes))


def write_key(writer: Writer, dtype: DType, element: str) -> str:
    """Return the integer that orders as an element does."""
    if dtype is DType.BOOL:
        return writer.emit(f"zext i8 {element} to i32")
    if dtype.is_integer:
        return element
    type_, key = MEMORY[dtype], MEMORY[key_of(dtype)]
    largest = 2 ** (8 * dtype.bytes - 1) - 1
    one_zero = writer.emit(f"fadd {type_} {element}, 0.0")  # -0.0 becomes 0.0
    bits = writer.emit(f"bitcast {type_} {one_zero} to {key}")
    sign = writer.emit(f"ashr {key} {bits}, {8 * dtype.bytes - 1}")
    flipped = writer.emit(f"and {key} {sign}, {largest}")
    ordered = writer.emit(f"xor {key} {bits}, {flipped}")
    is_nan = writer.emit(f"fcmp uno {type_} {element}, {element}")
    return writer.emit(f"select i1 {is_nan}, {key} {largest}, {key} {ordered}")


def sort_function(module: Module, key: str) -> str:
    """Return the name of a function of the module that sorts keys with their order.

    It returns which buffer the order is in: the one it was in, or that of its copy.
    """
    name = f"@gradc.sort.{key}"
    module.help(name, lambda: _merge_sort(module, name, key))
    return name


def _merge_sort(module: Module, name: str, key: str) -> str:
    """Return a function that sorts keys with their order; it returns which buffer the order is in.

    Runs are merged from one pair of buffers into the other; two that are in order already, or one
    that has no partner, are copied.
    """
    module.declare("declare i64 @llvm.smin.i64(i64, i64)")
    text = _MERGE_SORT.replace("{K}", key).replace("{RUN}", str(RUN))
    parameters = ", ".join((*_BUFFERS, "i64 %length"))
    return f"define internal ptr {name}({parameters}) noinline {{\n{text.strip()}\n}}"


_MERGE_SORT = """
entry:
  br label %runs
runs:
  %first = phi i64 [ 0, %entry ], [ %stop, %insert ]
  %some = icmp slt i64 %first, %length
  br i1 %some, label %run, label %pass
run:
  %full = add i64 %first, {RUN}
  %stop = call i64 @llvm.smin.i64(i64 %full, i64 %length)
  %second = add i64 %first, 1
  br label %insert
insert:
  %i = phi i64 [ %second, %run ], [ %following, %put ]
  %more = icmp slt i64 %i, %stop
  br i1 %more, label %take, label %runs
take:
  %taken.at = getelementptr {K}, ptr %keys, i64 %i
  %taken = load {K}, ptr %taken.at
  %taken.order.at = getelementptr i64, ptr %order, i64 %i
  %taken.order = load i64, ptr %taken.order.at
  br label %shift
shift:
  %hole = phi i64 [ %i, %take ], [ %left, %move ]
  %at.start = icmp eq i64 %hole, %first
  br i1 %at.start, label %put, label %look
look:
  %left = sub i64 %hole, 1
  %left.at = getelementptr {K}, ptr %keys, i64 %left
  %left.key = load {K}, ptr %left.at
  %larger = icmp sgt {K} %left.key, %taken
  br i1 %larger, label %move, label %put
move:
  %hole.at = getelementptr {K}, ptr %keys, i64 %hole
  store {K} %left.key, ptr %hole.at
  %left.order.at = getelementptr i64, ptr %order, i64 %left
  %left.order = load i64, ptr %left.order.at
  %hole.order.at = getelementptr i64, ptr %order, i64 %hole
  store i64 %left.order, ptr %hole.order.at
  br label %shift
put:
  %put.at = getelementptr {K}, ptr %keys, i64 %hole
  store {K} %taken, ptr %put.at
  %put.order.at = getelementptr i64, ptr %order, i64 %hole
  store i64 %taken.order, ptr %put.order.at
  %following = add i64 %i, 1
  br label %insert
pass:
  %width = phi i64 [ {RUN}, %runs ], [ %double, %pairs ]
  %from = phi ptr [ %keys, %runs ], [ %to, %pairs ]
  %to = phi ptr [ %keys.copy, %runs ], [ %from, %pairs ]
  %from.order = phi ptr [ %order, %runs ], [ %to.order, %pairs ]
  %to.order = phi ptr [ %order.copy, %runs ], [ %from.order, %pairs ]
  %unsorted = icmp slt i64 %width, %length
  br i1 %unsorted, label %halves, label %sorted
halves:
  %double = mul i64 %width, 2
  br label %pairs
pairs:
  %low = phi i64 [ 0, %halves ], [ %high, %copy ]
  %pair.left = icmp slt i64 %low, %length
  br i1 %pair.left, label %pair, label %pass
pair:
  %low.end = add i64 %low, %width
  %middle = call i64 @llvm.smin.i64(i64 %low.end, i64 %length)
  %high.end = add i64 %low, %double
  %high = call i64 @llvm.smin.i64(i64 %high.end, i64 %length)
  %alone = icmp eq i64 %middle, %high
  br i1 %alone, label %rest, label %seam
seam:
  %seam.left = sub i64 %middle, 1
  %seam.left.at = getelementptr {K}, ptr %from, i64 %seam.left
  %seam.left.key = load {K}, ptr %seam.left.at
  %seam.right.at = getelementptr {K}, ptr %from, i64 %middle
  %seam.right.key = load {K}, ptr %seam.right.at
  %in.order = icmp sle {K} %seam.left.key, %seam.right.key
  br i1 %in.order, label %rest, label %merge
merge:
  %a = phi i64 [ %low, %seam ], [ %a.next, %merge.on ]
  %b = phi i64 [ %middle, %seam ], [ %b.next, %merge.on ]
  %place = phi i64 [ %low, %seam ], [ %place.next, %merge.on ]
  %a.at = getelementptr {K}, ptr %from, i64 %a
  %a.key = load {K}, ptr %a.at
  %b.at = getelementptr {K}, ptr %from, i64 %b
  %b.key = load {K}, ptr %b.at
  %take.b = icmp slt {K} %b.key, %a.key
  %key = select i1 %take.b, {K} %b.key, {K} %a.key
  %source = select i1 %take.b, i64 %b, i64 %a
  %source.at = getelementptr i64, ptr %from.order, i64 %source
  %source.order = load i64, ptr %source.at
  %place.at = getelementptr {K}, ptr %to, i64 %place
  store {K} %key, ptr %place.at
  %place.order.at = getelementptr i64, ptr %to.order, i64 %place
  store i64 %source.order, ptr %place.order.at
  %b.step = zext i1 %take.b to i64
  %a.step = xor i64 %b.step, 1
  %b.next = add i64 %b, %b.step
  %a.next = add i64 %a, %a.step
  %place.next = add i64 %place, 1
  %a.more = icmp slt i64 %a.next, %middle
  %b.more = icmp slt i64 %b.next, %high
  %both = and i1 %a.more, %b.more
  br i1 %both, label %merge.on, label %one.left
merge.on:
  br label %merge
one.left:
  %left.over = select i1 %a.more, i64 %a.next, i64 %b.next
  br label %rest
rest:
  %rest.from = phi i64 [ %low, %pair ], [ %low, %seam ], [ %left.over, %one.left ]
  %rest.to = phi i64 [ %low, %pair ], [ %low, %seam ], [ %place.next, %one.left ]
  br label %copy
copy:
  %x = phi i64 [ %rest.from, %rest ], [ %x.next, %copied ]
  %y = phi i64 [ %rest.to, %rest ], [ %y.next, %copied ]
  %copying = icmp slt i64 %y, %high
  br i1 %copying, label %copied, label %pairs
copied:
  %x.at = getelementptr {K}, ptr %from, i64 %x
  %x.key = load {K}, ptr %x.at
  %y.at = getelementptr {K}, ptr %to, i64 %y
  store {K} %x.key, ptr %y.at
  %x.order.at = getelementptr i64, ptr %from.order, i64 %x
  %x.order = load i64, ptr %x.order.at
  %y.order.at = getelementptr i64, ptr %to.order, i64 %y
  store i64 %x.order, ptr %y.order.at
  %x.next = add i64 %x, 1
  %y.next = add i64 %y, 1
  br label %copy
sorted:
  ret ptr %from.order
"""

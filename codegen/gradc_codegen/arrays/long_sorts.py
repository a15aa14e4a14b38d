"""Long sorts in pieces: pieces that are sorted, and parts of what two neighbours merge to.

A part of a merge begins where as many elements are before it as its place says: a search finds how
many of these are of each neighbour.
"""

from __future__ import annotations

from gradc_codegen.arrays.sort_pieces import LEVELS, key_of, piece
from gradc_codegen.arrays.sorting import OPERATIONS, sort_function, write_key
from gradc_codegen.arrays.whole_array_site import Site, WholeOp
from gradc_codegen.text.module import MEMORY, Module, suffix
from gradc_codegen.text.writer import Writer
from gradc_ir.core.graph import Node
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType

_PIECES = 1 << LEVELS
# about how much an element takes in a merge
_OPERATIONS = 60


def _length(node: Node) -> Size:
    return node.results[0].type.shape[0]


def _scratch(node: Node) -> tuple[Size, ...]:
    """Return the bytes of a copy of a piece's keys, and of their places."""
    count = piece(_length(node))
    return count * key_of(node.operands[0].type.dtype).bytes, count * 8


def _write_sorted(site: Site) -> None:
    """Call the function that sorts pieces."""
    dtype = site.node.operands[0].type.dtype
    name = f"@gradc.sort.pieces.{'bool' if dtype is DType.BOOL else suffix(dtype)}"
    module, length = site.writer.module, _length(site.node)
    module.help(name, lambda: _define_sorted(module, name, dtype))
    sizes = (*site.items(_PIECES), site.size(length), site.size(piece(length)))
    site.call(name, (*site.operands, *site.results, *site.scratch), sizes)


def _define_sorted(module: Module, name: str, dtype: DType) -> str:
    writer = Writer(module, {})
    key = MEMORY[key_of(dtype)]
    sort = sort_function(module, key)

    def each(number: str) -> None:
        """Sort a piece by its number."""
        start = writer.minimum(writer.multiply(number, "%piece"), "%length")
        count = writer.minimum(writer.subtract("%length", start), "%piece")
        keys = writer.emit(f"getelementptr {key}, ptr %keys, i64 {start}")
        order = writer.emit(f"getelementptr i64, ptr %order, i64 {start}")

        def fill(index: str) -> None:
            place = writer.add(start, index)
            element = writer.load_at(MEMORY[dtype], "%in", place)
            writer.store_at(key, write_key(writer, dtype, element), keys, index)
            writer.store_at("i64", place, order, index)

        writer.plain_loop("0", count, fill)
        buffers = f"ptr {keys}, ptr %keys.copy, ptr {order}, ptr %order.copy"
        found = writer.emit(f"call ptr {sort}({buffers}, i64 {count})")

        def back(index: str) -> None:
            for type_, copy, kept in ((key, "%keys.copy", keys), ("i64", "%order.copy", order)):
                writer.store_at(type_, writer.load_at(type_, copy, index), kept, index)

        is_in_copy = writer.emit(f"icmp ne ptr {found}, {order}")
        writer.where(is_in_copy, lambda: writer.plain_loop("0", count, back))

    writer.plain_loop("%first", "%last", each)
    names = ("in", "keys", "order", "keys.copy", "order.copy")
    sizes = ("i64 %first", "i64 %last", "i64 %length", "i64 %piece")
    return writer.procedure(name, (*(f"ptr noalias %{each}" for each in names), *sizes))


sorted_pieces = WholeOp(
    _write_sorted, _scratch, lambda node: _PIECES, lambda node: _length(node) * OPERATIONS
)


def _write_merged(site: Site) -> None:
    """Call the function that merges parts, each as long as a piece."""
    dtype = site.node.operands[0].type.dtype
    key = MEMORY[dtype]
    name = f"@gradc.sort.merged.{key}"
    module, length = site.writer.module, _length(site.node)
    module.declare("declare i64 @llvm.smin.i64(i64, i64)")
    module.declare("declare i64 @llvm.smax.i64(i64, i64)")
    module.help(name, lambda: _merged_text(name, key))
    level = site.node.attributes["level"]
    sizes = (
        *site.items(_PIECES),
        site.size(length),
        site.size(piece(length)),
        site.size(piece(length) * 2**level),
    )
    site.call(name, (*site.operands, *site.results), sizes)


merged_pieces = WholeOp(
    _write_merged,
    items=lambda node: _PIECES,
    work=lambda node: _length(node) * _OPERATIONS,
)


def _merged_text(name: str, key: str) -> str:
    """Return the function that merges parts, and the one that says where they begin."""
    arrays = [f"ptr noalias %{each}" for each in ("keys", "order", "keys.to", "order.to")]
    sizes = [f"i64 %{each}" for each in ("first", "last", "length", "piece", "width")]
    text = _MERGED.replace("{parameters}", ", ".join((*arrays, *sizes)))
    return text.replace("{name}", name).replace("{K}", key).strip()


# Of two neighbours, from %low to %middle and from there to %high, the part from %from to %to of
# what they merge to; of equal keys those of the left one come first.
_MERGED = """
define internal i64 @gradc.sort.split.{K}(ptr %keys, i64 %low, i64 %middle, i64 %high, i64 %place) {
entry:
  %before = sub i64 %place, %low
  %left = sub i64 %middle, %low
  %right = sub i64 %high, %middle
  %over = sub i64 %before, %right
  %least = call i64 @llvm.smax.i64(i64 %over, i64 0)
  %most = call i64 @llvm.smin.i64(i64 %before, i64 %left)
  br label %search
search:
  %least.now = phi i64 [ %least, %entry ], [ %least.then, %look ]
  %most.now = phi i64 [ %most, %entry ], [ %most.then, %look ]
  %some = icmp slt i64 %least.now, %most.now
  br i1 %some, label %look, label %found
look:
  %both = add i64 %least.now, %most.now
  %half = ashr i64 %both, 1
  %a = add i64 %low, %half
  %a.at = getelementptr {K}, ptr %keys, i64 %a
  %a.key = load {K}, ptr %a.at
  %others = sub i64 %before, %half
  %b.behind = add i64 %middle, %others
  %b = sub i64 %b.behind, 1
  %b.at = getelementptr {K}, ptr %keys, i64 %b
  %b.key = load {K}, ptr %b.at
  %is.before = icmp sle {K} %a.key, %b.key
  %next = add i64 %half, 1
  %least.then = select i1 %is.before, i64 %next, i64 %least.now
  %most.then = select i1 %is.before, i64 %most.now, i64 %half
  br label %search
found:
  %result = add i64 %low, %least.now
  ret i64 %result
}

define internal void {name}({parameters}) {
entry:
  br label %parts
parts:
  %number = phi i64 [ %first, %entry ], [ %number.next, %done ]
  %more = icmp slt i64 %number, %last
  br i1 %more, label %part, label %end
part:
  %number.next = add i64 %number, 1
  %start = mul i64 %number, %piece
  %from = call i64 @llvm.smin.i64(i64 %start, i64 %length)
  %stop = mul i64 %number.next, %piece
  %to = call i64 @llvm.smin.i64(i64 %stop, i64 %length)
  %twice = shl i64 %width, 1
  %double = call i64 @llvm.smax.i64(i64 %twice, i64 1)
  %pair = sdiv i64 %start, %double
  %pair.start = mul i64 %pair, %double
  %low = call i64 @llvm.smin.i64(i64 %pair.start, i64 %length)
  %low.end = add i64 %low, %width
  %middle = call i64 @llvm.smin.i64(i64 %low.end, i64 %length)
  %high.end = add i64 %middle, %width
  %high = call i64 @llvm.smin.i64(i64 %high.end, i64 %length)
  %a.first = call i64 @gradc.sort.split.{K}(ptr %keys, i64 %low, i64 %middle, i64 %high, i64 %from)
  %a.end = call i64 @gradc.sort.split.{K}(ptr %keys, i64 %low, i64 %middle, i64 %high, i64 %to)
  %before = sub i64 %from, %a.first
  %b.first = add i64 %before, %middle
  %upto = sub i64 %to, %a.end
  %b.end = add i64 %upto, %middle
  br label %merge
merge:
  %a = phi i64 [ %a.first, %part ], [ %a.next, %take ]
  %b = phi i64 [ %b.first, %part ], [ %b.next, %take ]
  %place = phi i64 [ %from, %part ], [ %place.next, %take ]
  %a.more = icmp slt i64 %a, %a.end
  %b.more = icmp slt i64 %b, %b.end
  %both = and i1 %a.more, %b.more
  br i1 %both, label %take, label %rest
take:
  %a.at = getelementptr {K}, ptr %keys, i64 %a
  %a.key = load {K}, ptr %a.at
  %b.at = getelementptr {K}, ptr %keys, i64 %b
  %b.key = load {K}, ptr %b.at
  %take.b = icmp slt {K} %b.key, %a.key
  %key = select i1 %take.b, {K} %b.key, {K} %a.key
  %source = select i1 %take.b, i64 %b, i64 %a
  %source.at = getelementptr i64, ptr %order, i64 %source
  %source.order = load i64, ptr %source.at
  %place.at = getelementptr {K}, ptr %keys.to, i64 %place
  store {K} %key, ptr %place.at
  %place.order.at = getelementptr i64, ptr %order.to, i64 %place
  store i64 %source.order, ptr %place.order.at
  %b.step = zext i1 %take.b to i64
  %a.step = xor i64 %b.step, 1
  %b.next = add i64 %b, %b.step
  %a.next = add i64 %a, %a.step
  %place.next = add i64 %place, 1
  br label %merge
rest:
  %left.over = select i1 %a.more, i64 %a, i64 %b
  br label %copy
copy:
  %x = phi i64 [ %left.over, %rest ], [ %x.next, %copied ]
  %y = phi i64 [ %place, %rest ], [ %y.next, %copied ]
  %copying = icmp slt i64 %y, %to
  br i1 %copying, label %copied, label %done
copied:
  %x.at = getelementptr {K}, ptr %keys, i64 %x
  %x.key = load {K}, ptr %x.at
  %y.at = getelementptr {K}, ptr %keys.to, i64 %y
  store {K} %x.key, ptr %y.at
  %x.order.at = getelementptr i64, ptr %order, i64 %x
  %x.order = load i64, ptr %x.order.at
  %y.order.at = getelementptr i64, ptr %order.to, i64 %y
  store i64 %x.order, ptr %y.order.at
  %x.next = add i64 %x, 1
  %y.next = add i64 %y, 1
  br label %copy
done:
  br label %parts
end:
  ret void
}
"""

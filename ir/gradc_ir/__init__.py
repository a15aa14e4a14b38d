"""The language of gradc: types, ops, graphs, their text, their meaning, and passes over them."""

from gradc_ir.core.graph import announce

# what Python's operators on values build, and how functions are shown: loaded when first asked for
announce("gradc_ir.build", "gradc_ir.text.display")

__version__ = "0.1.0"

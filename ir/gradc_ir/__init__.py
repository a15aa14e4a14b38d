"""The language of gradc: types, ops, graphs, their text, their meaning, and passes over them."""

from gradc_ir import build as build
from gradc_ir.text import display as display

__version__ = "0.1.0"

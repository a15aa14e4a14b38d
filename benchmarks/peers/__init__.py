"""The tools beside gradc: each turns a case into a contestant."""

from benchmarks.peers.by_hand import cpp, cpp_fast, numpy
from benchmarks.peers.missing import Missing
from benchmarks.peers.with_casadi import casadi, casadi_contracted
from benchmarks.peers.with_jax import jax
from benchmarks.peers.with_numba import numba
from benchmarks.peers.with_torch import torch, torch_compiled

PEERS = (numpy, numba, jax, torch, torch_compiled, cpp, cpp_fast, casadi, casadi_contracted)

__all__ = ["PEERS", "Missing"]

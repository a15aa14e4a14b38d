"""What the core can do at most: reading, copying, and multiply-adds a second."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from benchmarks.native import library_of
from benchmarks.turns import Contestant, Plan, measure

_TEXT = r"""
#include <stdint.h>
#include <string.h>

typedef int64_t words __attribute__((vector_size(64), aligned(8)));
typedef double doubles __attribute__((vector_size(64)));
typedef float floats __attribute__((vector_size(64)));

/* Eight chains of or, so that no load waits for another; then the writing. */
void passing(int64_t calls, const char *data, int64_t bytes, char *to, int64_t written,
             int64_t *out) {
  const words *from = (const words *)data;
  const int64_t count = bytes / 64;
  words joined[8] = {0};
  for (int64_t call = 0; call < calls; ++call) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
      for (int j = 0; j < 8; ++j) joined[j] |= from[i + j];
    for (; i < count; ++i) joined[0] |= from[i];
    memset(to, (int)call, written);
    __asm__ volatile("" ::: "memory");
  }
  for (int j = 0; j < 8; ++j)
    for (int lane = 0; lane < 8; ++lane) *out |= joined[j][lane];
}

void copying(int64_t calls, const char *from, char *to, int64_t bytes) {
  for (int64_t call = 0; call < calls; ++call) {
    memcpy(to, from, bytes);
    __asm__ volatile("" ::: "memory");
  }
}

/* Sixteen chains of multiply-adds, 1000 long. */
#define MULTIPLYING(name, vector, element) \
  void name(int64_t calls, element *out) { \
    const int lanes = 64 / sizeof(element); \
    vector sum[16], factor, term; \
    for (int lane = 0; lane < lanes; ++lane) factor[lane] = 0.5, term[lane] = out[lane]; \
    for (int j = 0; j < 16; ++j) sum[j] = term; \
    for (int64_t i = 0; i < 1000 * calls; ++i) \
      for (int j = 0; j < 16; ++j) sum[j] = sum[j] * factor + term; \
    for (int j = 0; j < 16; ++j) \
      for (int lane = 0; lane < lanes; ++lane) out[lane] += sum[j][lane]; \
  }
MULTIPLYING(multiplying_f64, doubles, double)
MULTIPLYING(multiplying_f32, floats, float)
"""
_CHAINS = 16 * 1000
MEMORY = 512 * 2**20  # what does not fit into most caches


@functools.cache
def _compiled() -> ctypes.CDLL:
    return library_of(_TEXT, ["-O3", "-march=native"])


def passing(read: int, written: int) -> Contestant:
    """Return reading and writing so many bytes: what a case must do with its memory at least."""
    data, to, out = np.ones(read, np.uint8), np.ones(written, np.uint8), np.zeros(1, np.int64)
    call = _compiled().passing

    def run(calls: int) -> None:
        sizes = ctypes.c_int64(data.size), ctypes.c_int64(to.size)
        places = _pointer(data), sizes[0], _pointer(to), sizes[1], _pointer(out)
        call(ctypes.c_int64(calls), *places)

    return Contestant("passing", run)


def copying(size: int) -> Contestant:
    """Return the copying of so many bytes: as many are read as are written."""
    data, to = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    copy = _compiled().copying

    def run(calls: int) -> None:
        copy(ctypes.c_int64(calls), _pointer(data), _pointer(to), ctypes.c_int64(size))

    return Contestant("copying", run)


def multiplying(dtype: str) -> Contestant:
    """Return 16,000 multiply-adds of full vectors, of which sixteen wait for no other."""
    out = np.zeros(16, np.float64 if dtype == "f64" else np.float32)
    multiply = getattr(_compiled(), f"multiplying_{dtype}")

    def run(calls: int) -> None:
        multiply(ctypes.c_int64(calls), _pointer(out))

    return Contestant("multiplying", run)


def multiply_flops(dtype: str) -> float:
    """Return the operations of a call of :func:`multiplying`, two a multiply-add."""
    return 2.0 * _CHAINS * (8 if dtype == "f64" else 16)


def peaks(plan: Plan) -> dict[str, float]:
    """Return GB/s of reading and copying, by where the data is, and GFLOP/s."""
    found = {}
    for place, size in (
        ("16 KiB", 2**14),
        ("512 KiB", 2**19),
        ("16 MiB", 2**24),
        ("512 MiB", MEMORY),
    ):
        taken = measure([passing(size, 0), copying(size // 2)], plan)
        found[f"read {place}"] = size / taken["passing"].median / 1e9
        found[f"copy {place}"] = size // 2 * 2 / taken["copying"].median / 1e9
    for dtype in ("f64", "f32"):
        taken = measure([multiplying(dtype)], plan)
        found[f"fma {dtype}"] = multiply_flops(dtype) / taken["multiplying"].median / 1e9
    return found


def _pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)

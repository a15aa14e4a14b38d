// What each row written by hand defines: value first, then the derivatives, from the row's sizes
// and arguments in their order.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#ifndef REAL
#define REAL double
#endif
using real = REAL;
using size = std::int64_t;

extern "C" void gradient(const size *sizes, const real *const *inputs, real *const *outputs);

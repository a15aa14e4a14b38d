// The logistic loss and its gradient: a few rows at a time, so that the matrix is read once.
#include "gradient.hpp"

constexpr size block = 64;

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size n = sizes[0], m = sizes[1];
  const real *w = inputs[0], *a = inputs[1], *y = inputs[2];
  real *g = outputs[1];
  std::fill(g, g + m, 0);
  double value = 0;
  real e[block], loss[block];
  for (size first = 0; first < n; first += block) {
    const size count = std::min(block, n - first);
    const real *rows = a + first * m, *labels = y + first;
    for (size i = 0; i < count; ++i) {
      real z = 0;
      for (size j = 0; j < m; ++j) z += rows[i * m + j] * w[j];
      e[i] = -labels[i] * z;
    }
    for (size i = 0; i < count; ++i) e[i] = std::exp(e[i]);
    for (size i = 0; i < count; ++i) loss[i] = std::log1p(e[i]);
    for (size i = 0; i < count; ++i) value += loss[i];
    for (size i = 0; i < count; ++i) {
      const real slope = -labels[i] * (e[i] / (1 + e[i]));
      for (size j = 0; j < m; ++j) g[j] += slope * rows[i * m + j];
    }
  }
  *outputs[0] = real(value);
}

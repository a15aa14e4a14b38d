// A chain of differential equations by the method of Runge and Kutta, back by what each step has read.
#include <vector>
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size n = sizes[0], steps = 50;
  const real h = real(2) / steps;
  const real parts[4] = {0, h / 2, h / 2, h}, weights[4] = {h / 6, h / 3, h / 3, h / 6};
  const real *rates = inputs[0];
  real *g = outputs[1];
  static std::vector<real> memory;
  memory.resize((4 * steps + 4) * (n + 1));
  // each array has a place more: 1 before the states, 0 behind the cotangents
  real *read = memory.data(), *y = read + 4 * steps * (n + 1), *slope = y + n + 1;
  real *g_y = slope + n + 1, *g_state = g_y + n + 1;
  std::fill(y, y + n, real(0));
  for (size t = 0; t < steps; ++t) {
    std::fill(slope, slope + n, real(0));
    real *first = read + 4 * t * (n + 1);
    for (size k = 0; k < 4; ++k) {
      real *now = first + k * (n + 1);
      now[0] = 1;
      for (size i = 0; i < n; ++i) now[i + 1] = y[i] + parts[k] * slope[i];
      for (size i = 0; i < n; ++i) slope[i] = rates[i] * now[i];
    }
    const real *a = first, *b = a + n + 1, *c = b + n + 1, *d = c + n + 1;
    for (size i = 0; i < n; ++i) {
      y[i] += rates[i] * (weights[0] * (a[i] + d[i]) + weights[1] * (b[i] + c[i]));
    }
  }
  *outputs[0] = y[n - 1];
  std::fill(g, g + n, real(0));
  std::fill(g_y, g_y + n, real(0));
  std::fill(g_state, g_state + n + 1, real(0));
  g_y[n - 1] = 1;
  for (size t = steps; t-- > 0;) {
    std::fill(slope, slope + n, real(0));
    for (size k = 4; k-- > 0;) {
      const real *before = read + (4 * t + k) * (n + 1);
      // the cotangent of a state is that of the next one's slope, and both are added at the end
      const real part = k == 3 ? real(0) : parts[k + 1];
      real *total = slope;
      for (size i = 0; i < n; ++i) {
        const real g_slope = weights[k] * g_y[i] + part * g_state[i + 1];
        g[i] += g_slope * before[i];
        total[i] += g_state[i + 1];
        g_state[i] = rates[i] * g_slope;
      }
    }
    for (size i = 0; i < n; ++i) g_y[i] += slope[i] + g_state[i + 1];
    std::fill(g_state, g_state + n + 1, real(0));
  }
}

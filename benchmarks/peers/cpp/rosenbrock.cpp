// Rosenbrock's function and its gradient: each element from its neighbours, so that lanes can help.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size n = sizes[0];
  const real *x = inputs[0];
  real *g = outputs[1];
  real value = 0;
  for (size i = 0; i + 1 < n; ++i) {
    const real valley = x[i + 1] - x[i] * x[i], slope = 1 - x[i];
    value += 100 * valley * valley + slope * slope;
  }
  *outputs[0] = value;
  g[0] = n > 1 ? -400 * x[0] * (x[1] - x[0] * x[0]) - 2 * (1 - x[0]) : 0;
  for (size i = 1; i + 1 < n; ++i)
    g[i] = 200 * (x[i] - x[i - 1] * x[i - 1]) - 400 * x[i] * (x[i + 1] - x[i] * x[i]) -
           2 * (1 - x[i]);
  if (n > 1) g[n - 1] = 200 * (x[n - 1] - x[n - 2] * x[n - 2]);
}

// Rosenbrock's function and its gradient, one pass.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size n = sizes[0];
  const real *x = inputs[0];
  real *g = outputs[1];
  real value = 0, carried = 0;
  for (size i = 0; i + 1 < n; ++i) {
    const real valley = x[i + 1] - x[i] * x[i], slope = 1 - x[i];
    value += 100 * valley * valley + slope * slope;
    g[i] = carried - 400 * x[i] * valley - 2 * slope;
    carried = 200 * valley;
  }
  g[n - 1] = carried;
  *outputs[0] = value;
}

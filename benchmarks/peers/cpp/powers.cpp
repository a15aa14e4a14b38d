// The squared errors of a polynomial of 16 weights, by the weights.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size n = sizes[0];
  const real *weights = inputs[0], *t = inputs[1], *y = inputs[2];
  real *g = outputs[1];
  std::fill(g, g + 16, real(0));
  real total = 0;
  for (size i = 0; i < n; ++i) {
    real basis[16] = {1};
    for (size j = 1; j < 16; ++j) basis[j] = basis[j - 1] * t[i];
    real error = -y[i];
    for (size j = 0; j < 16; ++j) error += basis[j] * weights[j];
    total += error * error;
    for (size j = 0; j < 16; ++j) g[j] += 2 * error * basis[j];
  }
  *outputs[0] = total;
}

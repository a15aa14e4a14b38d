// log(sum(exp(x))) and its gradient, the softmax.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size n = sizes[0];
  const real *x = inputs[0];
  real *g = outputs[1];
  real largest = x[0];
  for (size i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  for (size i = 0; i < n; ++i) g[i] = std::exp(x[i] - largest);
  real total = 0;
  for (size i = 0; i < n; ++i) total += g[i];
  const real scale = 1 / total;
  for (size i = 0; i < n; ++i) g[i] *= scale;
  *outputs[0] = std::log(total) + largest;
}

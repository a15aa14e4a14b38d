// The log-likelihood of a mixture, by its means.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size k = sizes[0], n = sizes[1];
  const real *means = inputs[0], *x = inputs[1];
  real *g = outputs[1];
  std::fill(g, g + k, real(0));
  std::vector<real> e(k);
  real sum = 0;
  for (size i = 0; i < n; ++i) {
    real largest = -INFINITY, total = 0;
    for (size j = 0; j < k; ++j) {
      e[j] = -40 * (x[i] - means[j]) * (x[i] - means[j]);
      largest = e[j] > largest ? e[j] : largest;
    }
    for (size j = 0; j < k; ++j) total += e[j] = std::exp(e[j] - largest);
    for (size j = 0; j < k; ++j) g[j] += 80 * (x[i] - means[j]) * (e[j] / total);
    sum += std::log(total) + largest;
  }
  *outputs[0] = sum;
}

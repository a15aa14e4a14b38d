// The sum of a running product, by its factors: each is the product before it times what follows.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size n = sizes[0];
  const real *growth = inputs[0];
  real *g = outputs[1];
  real product = 1, total = 0;
  for (size i = 0; i < n; ++i) {
    g[i] = product;
    product *= 1 + growth[i];
    total += product;
  }
  real follows = 0;
  for (size i = n; i-- > 0;) {
    follows = 1 + follows;
    g[i] *= follows;
    follows *= 1 + growth[i];
  }
  *outputs[0] = total;
}

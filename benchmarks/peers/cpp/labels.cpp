// Squared distances from points to the centres they are labelled with, by the centres.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size n = sizes[0], k = sizes[1], d = sizes[2];
  const real *centres = inputs[0], *points = inputs[1], *scores = inputs[2];
  real *g = outputs[1];
  std::fill(g, g + k * d, real(0));
  real total = 0;
  for (size i = 0; i < n; ++i) {
    const size j = std::min_element(scores + i * k, scores + i * k + k) - (scores + i * k);
    for (size l = 0; l < d; ++l) {
      const real apart = points[i * d + l] - centres[j * d + l];
      total += apart * apart;
      g[j * d + l] -= 2 * apart;
    }
  }
  *outputs[0] = total;
}

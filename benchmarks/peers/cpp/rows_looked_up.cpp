// The Jacobian of some vertices that parameters make of points, each looked up first.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size m = sizes[1], p = sizes[2];
  const real *theta = inputs[0], *points = inputs[1];
  const auto *corners = reinterpret_cast<const long *>(inputs[2]);
  std::fill(outputs[0], outputs[0] + m * 3 * p * 3, real(0));
  for (size r = 0; r < m; ++r) {
    const real *point = points + corners[r] * p;
    for (size c = 0; c < 3; ++c) {
      real sum = 0;
      for (size i = 0; i < p; ++i) sum += point[i] * theta[i * 3 + c];
      const real t = std::tanh(sum), slope = 1 - t * t;
      real *row = outputs[0] + (r * 3 + c) * p * 3;
      for (size i = 0; i < p; ++i) row[i * 3 + c] = slope * point[i];
    }
  }
}

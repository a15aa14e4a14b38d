// The rates of a cart with a pole, solved by hand.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < sizes[0]; ++n) {
    const real *x = inputs[0] + 4 * n, *u = inputs[1] + n;
    real *d = outputs[0] + 4 * n;
    const real c = std::cos(x[1]), s = std::sin(x[1]), w = x[3];
    const real over = 1 / (1.0 + 0.3 * s * s), push = u[0] + 0.15 * w * w * s;
    d[0] = x[2], d[1] = w;
    d[2] = (push + 0.3 * 9.81 * c * s) * over;
    d[3] = (-push * c - 1.3 * 9.81 * s) * over * 2;
  }
}

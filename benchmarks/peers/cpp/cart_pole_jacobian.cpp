// The Jacobians of the rates of a cart with a pole.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < sizes[0]; ++n) {
    const real *x = inputs[0] + 4 * n, *u = inputs[1] + n;
    real *s = outputs[0] + 16 * n, *t = outputs[1] + 4 * n;
    const real c = std::cos(x[1]), si = std::sin(x[1]), w = x[3], g = 9.81;
    const real over = 1 / (1.0 + 0.3 * si * si), below = -0.6 * si * c * over;
    const real push = u[0] + 0.15 * w * w * si, slope = 0.15 * w * w * c;
    const real cart = (push + 0.3 * g * c * si) * over, pole = (-push * c - 1.3 * g * si) * over;
    for (int i = 0; i < 16; ++i) s[i] = 0;
    s[2] = 1, s[7] = 1;
    s[9] = (slope + 0.3 * g * (c * c - si * si)) * over + cart * below;
    s[11] = 0.3 * w * si * over;
    s[13] = 2 * ((push * si - slope * c - 1.3 * g * c) * over + pole * below);
    s[15] = -0.6 * w * si * c * over;
    t[0] = 0, t[1] = 0, t[2] = over, t[3] = -2 * c * over;
  }
}

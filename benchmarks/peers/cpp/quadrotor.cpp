// How a quadrotor's state changes.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < sizes[0]; ++n) {
    const real *x = inputs[0] + 12 * n, *u = inputs[1] + 4 * n;
    real *d = outputs[0] + 12 * n;
    const real cr = std::cos(x[3]), sr = std::sin(x[3]), cp = std::cos(x[4]), sp = std::sin(x[4]);
    const real cy = std::cos(x[5]), sy = std::sin(x[5]), p = x[9], q = x[10], r = x[11];
    const real a = 0.0047, b = 0.0052, c = 0.0089, arm = 0.17, drag = 0.016;
    const real lift = (u[0] + u[1] + u[2] + u[3]) / 0.8, turn = (sr * q + cr * r) / cp;
    d[0] = x[6], d[1] = x[7], d[2] = x[8];
    d[3] = p + turn * sp, d[4] = cr * q - sr * r, d[5] = turn;
    d[6] = lift * (cy * sp * cr + sy * sr);
    d[7] = lift * (sy * sp * cr - cy * sr);
    d[8] = lift * (cp * cr) - 9.81;
    d[9] = (arm * (u[1] - u[3]) - (c - b) * q * r) * (1 / a);
    d[10] = (arm * (u[2] - u[0]) - (a - c) * p * r) * (1 / b);
    d[11] = (drag * (u[0] - u[1] + u[2] - u[3]) - (b - a) * p * q) * (1 / c);
  }
}

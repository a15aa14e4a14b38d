// The Jacobians of a quadrotor's rates by its state and by its thrusts.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < sizes[0]; ++n) {
    const real *x = inputs[0] + 12 * n, *u = inputs[1] + 4 * n;
    real *s = outputs[0] + 144 * n, *t = outputs[1] + 48 * n;
    const real cr = std::cos(x[3]), sr = std::sin(x[3]), cp = std::cos(x[4]), sp = std::sin(x[4]);
    const real cy = std::cos(x[5]), sy = std::sin(x[5]), p = x[9], q = x[10], r = x[11];
    const real a = 0.0047, b = 0.0052, c = 0.0089, arm = 0.17, drag = 0.016, mass = 0.8;
    const real lift = (u[0] + u[1] + u[2] + u[3]) / mass;
    const real over = 1 / cp, tangent = sp * over;
    const real along = sr * q + cr * r, across = cr * q - sr * r;
    for (int i = 0; i < 144; ++i) s[i] = 0;
    for (int i = 0; i < 48; ++i) t[i] = 0;
    s[0 * 12 + 6] = s[1 * 12 + 7] = s[2 * 12 + 8] = 1;
    s[3 * 12 + 3] = across * tangent, s[3 * 12 + 4] = along * (1 + tangent * tangent);
    s[3 * 12 + 9] = 1, s[3 * 12 + 10] = sr * tangent, s[3 * 12 + 11] = cr * tangent;
    s[4 * 12 + 3] = -along, s[4 * 12 + 10] = cr, s[4 * 12 + 11] = -sr;
    s[5 * 12 + 3] = across * over, s[5 * 12 + 4] = along * over * tangent;
    s[5 * 12 + 10] = sr * over, s[5 * 12 + 11] = cr * over;
    const real vx = cy * sp * cr + sy * sr, vy = sy * sp * cr - cy * sr, vz = cp * cr;
    s[6 * 12 + 3] = lift * (sy * cr - cy * sp * sr), s[6 * 12 + 4] = lift * (cy * vz);
    s[6 * 12 + 5] = -lift * vy;
    s[7 * 12 + 3] = -lift * (sy * sp * sr + cy * cr), s[7 * 12 + 4] = lift * (sy * vz);
    s[7 * 12 + 5] = lift * vx;
    s[8 * 12 + 3] = -lift * (cp * sr), s[8 * 12 + 4] = -lift * (sp * cr);
    s[9 * 12 + 10] = -(c - b) / a * r, s[9 * 12 + 11] = -(c - b) / a * q;
    s[10 * 12 + 9] = -(a - c) / b * r, s[10 * 12 + 11] = -(a - c) / b * p;
    s[11 * 12 + 9] = -(b - a) / c * q, s[11 * 12 + 10] = -(b - a) / c * p;
    for (int i = 0; i < 4; ++i)
      t[6 * 4 + i] = vx / mass, t[7 * 4 + i] = vy / mass, t[8 * 4 + i] = vz / mass;
    t[9 * 4 + 1] = arm / a, t[9 * 4 + 3] = -arm / a;
    t[10 * 4 + 2] = arm / b, t[10 * 4 + 0] = -arm / b;
    t[11 * 4 + 0] = t[11 * 4 + 2] = drag / c, t[11 * 4 + 1] = t[11 * 4 + 3] = -drag / c;
  }
}

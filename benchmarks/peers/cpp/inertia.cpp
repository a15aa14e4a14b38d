// The inertia matrix of six joints by composite rigid bodies: mass, first moments and inertia of each.
#include "gradient.hpp"

static const real OFFSETS[6][3] = {{0, 0, 0.3},  {0.1, 0, 0.1}, {0, 0.4, 0},
                                   {0, 0, 0.35}, {0.05, 0, 0},  {0, 0.1, 0.05}};
static const real MASSES[6] = {4, 3.5, 3, 2, 1.5, 0.7};
static const real CENTRES[6][3] = {{0, 0.02, 0.1}, {0.1, 0, 0},  {0, 0.2, 0.01},
                                   {0, 0, 0.1},    {0.02, 0, 0}, {0, 0, 0.03}};
static const real OWN[3] = {0.02, 0.03, 0.025};

// A rigid body in some frame: its mass, mass times centre, and inertia around the origin.
struct Body {
  real mass, h[3], xx, xy, xz, yy, yz, zz;
};

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < sizes[0]; ++n) {
    const real *q = inputs[0] + 6 * n;
    real *found = outputs[0] + 36 * n;
    // rows of the rotation from the frame before: (c, s, 0; -s, c, 0; 0, 0, 1) of a right angle
    real e[6][3][3];
    Body bodies[6];
    for (int i = 0; i < 6; ++i) {
      const real c = std::cos(q[i]), s = std::sin(q[i]), t = i % 2 ? -1 : 1;
      e[i][0][0] = c, e[i][0][1] = 0, e[i][0][2] = s * t;
      e[i][1][0] = -s, e[i][1][1] = 0, e[i][1][2] = c * t;
      e[i][2][0] = 0, e[i][2][1] = -t, e[i][2][2] = 0;
      const real m = MASSES[i], *r = CENTRES[i];
      bodies[i] = {m,
                   {m * r[0], m * r[1], m * r[2]},
                   m * (OWN[0] + r[1] * r[1] + r[2] * r[2]),
                   -m * r[0] * r[1],
                   -m * r[0] * r[2],
                   m * (OWN[1] + r[0] * r[0] + r[2] * r[2]),
                   -m * r[1] * r[2],
                   m * (OWN[2] + r[0] * r[0] + r[1] * r[1])};
    }
    for (int i = 5; i > 0; --i) {
      const Body &b = bodies[i];
      const real(*w)[3] = e[i], *o = OFFSETS[i];
      real h[3], p[3][3], j[3][3];
      for (int k = 0; k < 3; ++k) {
        h[k] = w[0][k] * b.h[0] + w[1][k] * b.h[1] + w[2][k] * b.h[2];
        p[0][k] = b.xx * w[0][k] + b.xy * w[1][k] + b.xz * w[2][k];
        p[1][k] = b.xy * w[0][k] + b.yy * w[1][k] + b.yz * w[2][k];
        p[2][k] = b.xz * w[0][k] + b.yz * w[1][k] + b.zz * w[2][k];
      }
      for (int k = 0; k < 3; ++k)
        for (int l = k; l < 3; ++l)
          j[k][l] = w[0][k] * p[0][l] + w[1][k] * p[1][l] + w[2][k] * p[2][l];
      // moved by the offset: h + m o, and the inertia by the theorem of parallel axes
      const real m = b.mass;
      const real oh = 2 * (o[0] * h[0] + o[1] * h[1] + o[2] * h[2]);
      const real oo = m * (o[0] * o[0] + o[1] * o[1] + o[2] * o[2]);
      Body &a = bodies[i - 1];
      a.mass += m;
      for (int k = 0; k < 3; ++k) a.h[k] += h[k] + m * o[k];
      a.xx += j[0][0] + oh - 2 * o[0] * h[0] + oo - m * o[0] * o[0];
      a.yy += j[1][1] + oh - 2 * o[1] * h[1] + oo - m * o[1] * o[1];
      a.zz += j[2][2] + oh - 2 * o[2] * h[2] + oo - m * o[2] * o[2];
      a.xy += j[0][1] - o[0] * h[1] - o[1] * h[0] - m * o[0] * o[1];
      a.xz += j[0][2] - o[0] * h[2] - o[2] * h[0] - m * o[0] * o[2];
      a.yz += j[1][2] - o[1] * h[2] - o[2] * h[1] - m * o[1] * o[2];
    }
    for (int i = 0; i < 6; ++i) {
      const Body &b = bodies[i];
      real moment[3] = {b.xz, b.yz, b.zz}, force[3] = {-b.h[1], b.h[0], 0};
      found[7 * i] = b.zz;
      for (int k = i; k > 0; --k) {
        const real(*w)[3] = e[k], *o = OFFSETS[k];
        real f[3], t[3];
        for (int l = 0; l < 3; ++l) {
          f[l] = w[0][l] * force[0] + w[1][l] * force[1] + w[2][l] * force[2];
          t[l] = w[0][l] * moment[0] + w[1][l] * moment[1] + w[2][l] * moment[2];
        }
        moment[0] = t[0] + o[1] * f[2] - o[2] * f[1];
        moment[1] = t[1] + o[2] * f[0] - o[0] * f[2];
        moment[2] = t[2] + o[0] * f[1] - o[1] * f[0];
        for (int l = 0; l < 3; ++l) force[l] = f[l];
        found[6 * i + k - 1] = found[6 * (k - 1) + i] = moment[2];
      }
    }
  }
}

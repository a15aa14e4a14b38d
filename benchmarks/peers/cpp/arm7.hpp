// The arm of seven joints: axes, where these stand, and the centres of the links.
#pragma once
#include "gradient.hpp"

static const real TWIST_COS[7] = {6.123233995736766e-17, 6.123233995736766e-17, 6.123233995736766e-17,
                                  6.123233995736766e-17, 6.123233995736766e-17, 6.123233995736766e-17, 1};
static const real TWIST_SIN[7] = {-1, 1, -1, 1, -1, 1, 0};
static const real OFFSET[7] = {0.34, 0, 0.4, 0, 0.4, 0, 0.126};
static const real LENGTH[7] = {0, 0.01, 0, 0.02, 0, 0, 0.03};
static const real WEIGHT[7] = {9.81 * 5.76, 9.81 * 6.35, 9.81 * 3.5, 9.81 * 3.5,
                               9.81 * 3.5,  9.81 * 1.8,  9.81 * 1.2};
static const real CENTRE[7][3] = {{0, -0.03, 0.12},       {0.0003, 0.059, 0.042}, {0, 0.03, 0.13},
                                  {0, 0.067, 0.034},      {0.0001, 0.021, 0.076}, {0, 0.0006, 0.0004},
                                  {0, 0, 0.02}};

struct Frames {
  real axis[8][3], origin[8][3], centre[7][3];
};

// Turns the frame of a joint into the next one.
template <bool CENTRES> static inline void frames(const real *q, Frames &made) {
  real x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, z[3] = {0, 0, 1}, p[3] = {0, 0, 0};
  for (int i = 0; i < 7; ++i) {
    const real c = std::cos(q[i]), s = std::sin(q[i]), ct = TWIST_COS[i], st = TWIST_SIN[i];
    for (int k = 0; k < 3; ++k) {
      made.axis[i][k] = z[k];
      made.origin[i][k] = p[k];
      const real nx = c * x[k] + s * y[k], side = c * y[k] - s * x[k];
      p[k] += LENGTH[i] * nx + OFFSET[i] * z[k];
      const real ny = ct * side + st * z[k], nz = ct * z[k] - st * side;
      x[k] = nx, y[k] = ny, z[k] = nz;
      if (CENTRES)
        made.centre[i][k] = p[k] + nx * CENTRE[i][0] + ny * CENTRE[i][1] + nz * CENTRE[i][2];
    }
  }
  for (int k = 0; k < 3; ++k) made.origin[7][k] = p[k];
}

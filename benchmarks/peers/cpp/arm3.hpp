// The arm of three joints.
#pragma once
#include "gradient.hpp"

struct Arm {
  real hand[3], elbow[3], side[2];
};

static inline Arm arm(const real *q) {
  const real c0 = std::cos(q[0]), s0 = std::sin(q[0]), c1 = std::cos(q[1]), s1 = std::sin(q[1]);
  const real c2 = std::cos(q[2]), s2 = std::sin(q[2]);
  // the upper arm is (0.5, 0.1, 0), the lower one (0.4, 0, -0.05)
  const real x2 = 0.4 * c2 - 0.05 * s2, z2 = -0.4 * s2 - 0.05 * c2;
  const real ex = c1 * 0.5, ez = -s1 * 0.5;
  const real x = ex + c1 * x2 + s1 * z2, z = ez - s1 * x2 + c1 * z2;
  return {{c0 * x - s0 * 0.1, s0 * x + c0 * 0.1, 0.4 + z},
          {c0 * ex - s0 * 0.1, s0 * ex + c0 * 0.1, 0.4 + ez},
          {-s0, c0}};
}

// From a pose to its target: the turn between their quaternions, and the way.
#pragma once
#include "gradient.hpp"

struct Error {
  real over, q[4], turn[4], sine, angle, rotation[3][3], way[3];
};

static inline Error error_of(const real *pose, const real *target) {
  Error e;
  e.over = 1 / std::sqrt(pose[0] * pose[0] + pose[1] * pose[1] + pose[2] * pose[2] + pose[3] * pose[3]);
  for (int k = 0; k < 4; ++k) e.q[k] = pose[k] * e.over;
  const real w = e.q[0], x = e.q[1], y = e.q[2], z = e.q[3], *t = target;
  e.turn[0] = w * t[0] + x * t[1] + y * t[2] + z * t[3];
  e.turn[1] = w * t[1] - x * t[0] - y * t[3] + z * t[2];
  e.turn[2] = w * t[2] + x * t[3] - y * t[0] - z * t[1];
  e.turn[3] = w * t[3] - x * t[2] + y * t[1] - z * t[0];
  e.sine = std::sqrt(e.turn[1] * e.turn[1] + e.turn[2] * e.turn[2] + e.turn[3] * e.turn[3]);
  e.angle = 2 * std::atan2(e.sine, e.turn[0]);
  const real r[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                        {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                        {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
  for (int i = 0; i < 3; ++i) {
    e.way[i] = target[4 + i] - pose[4 + i];
    for (int j = 0; j < 3; ++j) e.rotation[i][j] = r[i][j];
  }
  return e;
}

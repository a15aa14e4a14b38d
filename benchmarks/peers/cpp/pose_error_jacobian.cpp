// The Jacobian of a pose's error by the pose, its quaternion made a unit one inside.
#include "pose_error.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < sizes[0]; ++n) {
    const real *target = inputs[1] + 7 * n;
    const Error e = error_of(inputs[0] + 7 * n, target);
    real *found = outputs[0] + 42 * n;
    const real *t = target, *q = e.q, *d = e.way;
    // of the turn by the unit quaternion
    const real turn[4][4] = {{t[0], t[1], t[2], t[3]},
                             {t[1], -t[0], -t[3], t[2]},
                             {t[2], t[3], -t[0], -t[1]},
                             {t[3], -t[2], t[1], -t[0]}};
    const real scale = e.angle / e.sine;
    const real square = e.sine * e.sine + e.turn[0] * e.turn[0];
    const real by_sine = (2 * e.turn[0] / square - scale) / (e.sine * e.sine);
    const real by_cosine = -2 / square;
    const real w = q[0], x = q[1], y = q[2], z = q[3];
    real slope[6][4];
    for (int j = 0; j < 4; ++j) {
      const real along = e.turn[1] * turn[1][j] + e.turn[2] * turn[2][j] + e.turn[3] * turn[3][j];
      const real factor = by_sine * along + by_cosine * turn[0][j];
      for (int i = 0; i < 3; ++i) slope[i][j] = scale * turn[1 + i][j] + factor * e.turn[1 + i];
    }
    const real a = d[0], b = d[1], c = d[2];
    slope[3][0] = 2 * (z * b - y * c), slope[4][0] = 2 * (x * c - z * a), slope[5][0] = 2 * (y * a - x * b);
    slope[3][1] = 2 * (y * b + z * c), slope[4][1] = 2 * (y * a - 2 * x * b + w * c);
    slope[5][1] = 2 * (z * a - w * b - 2 * x * c);
    slope[3][2] = 2 * (x * b - 2 * y * a - w * c), slope[4][2] = 2 * (x * a + z * c);
    slope[5][2] = 2 * (w * a + z * b - 2 * y * c);
    slope[3][3] = 2 * (x * c + w * b - 2 * z * a), slope[4][3] = 2 * (y * c - w * a - 2 * z * b);
    slope[5][3] = 2 * (x * a + y * b);
    for (int i = 0; i < 6; ++i) {
      // what does not change the length of the quaternion
      const real along = slope[i][0] * w + slope[i][1] * x + slope[i][2] * y + slope[i][3] * z;
      for (int j = 0; j < 4; ++j) found[7 * i + j] = (slope[i][j] - along * q[j]) * e.over;
      for (int j = 0; j < 3; ++j) found[7 * i + 4 + j] = i < 3 ? 0 : -e.rotation[j][i - 3];
    }
  }
}

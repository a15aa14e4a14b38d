// A pose's error: a vector of rotation, and the way in the pose's own frame.
#include "pose_error.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < sizes[0]; ++n) {
    const Error e = error_of(inputs[0] + 7 * n, inputs[1] + 7 * n);
    real *found = outputs[0] + 6 * n;
    const real scale = e.angle / e.sine;
    for (int i = 0; i < 3; ++i) {
      found[i] = scale * e.turn[1 + i];
      found[3 + i] = e.rotation[0][i] * e.way[0] + e.rotation[1][i] * e.way[1] + e.rotation[2][i] * e.way[2];
    }
  }
}

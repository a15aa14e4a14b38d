// How the hand of the arm of seven joints moves: around each axis.
#include "arm7.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < sizes[0]; ++n) {
    Frames found;
    frames<false>(inputs[0] + 7 * n, found);
    real *jacobian = outputs[0] + 21 * n;
    for (int i = 0; i < 7; ++i) {
      const real *z = found.axis[i], *o = found.origin[i], *p = found.origin[7];
      const real a = p[0] - o[0], b = p[1] - o[1], c = p[2] - o[2];
      jacobian[i] = z[1] * c - z[2] * b;
      jacobian[7 + i] = z[2] * a - z[0] * c;
      jacobian[14 + i] = z[0] * b - z[1] * a;
    }
  }
}

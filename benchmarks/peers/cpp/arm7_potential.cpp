// The energy of the arm of seven joints, and its gradient: what hangs behind each axis.
#include "arm7.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < sizes[0]; ++n) {
    Frames found;
    frames<true>(inputs[0] + 7 * n, found);
    real energy = 0, weight = 0, a = 0, b = 0;
    for (int i = 6; i >= 0; --i) {
      energy += WEIGHT[i] * found.centre[i][2];
      weight += WEIGHT[i];
      a += WEIGHT[i] * found.centre[i][0];
      b += WEIGHT[i] * found.centre[i][1];
      const real *z = found.axis[i], *o = found.origin[i];
      outputs[1][7 * n + i] = z[0] * (b - weight * o[1]) - z[1] * (a - weight * o[0]);
    }
    outputs[0][n] = energy;
  }
}

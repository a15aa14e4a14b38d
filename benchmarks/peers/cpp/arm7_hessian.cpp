// The second derivatives of the energy of the arm of seven joints: axis by axis, of half of them.
#include "arm7.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < sizes[0]; ++n) {
    Frames found;
    frames<true>(inputs[0] + 7 * n, found);
    real *hessian = outputs[0] + 49 * n;
    real weight = 0, a = 0, b = 0, c = 0;
    for (int j = 6; j >= 0; --j) {
      weight += WEIGHT[j];
      a += WEIGHT[j] * found.centre[j][0];
      b += WEIGHT[j] * found.centre[j][1];
      c += WEIGHT[j] * found.centre[j][2];
      const real *z = found.axis[j], *o = found.origin[j];
      const real x = a - weight * o[0], y = b - weight * o[1], w = c - weight * o[2];
      // the moment of what hangs behind the axis, turned by it
      const real first = z[1] * w - z[2] * y, second = z[2] * x - z[0] * w;
      for (int i = 0; i <= j; ++i) {
        const real *outer = found.axis[i];
        hessian[7 * i + j] = hessian[7 * j + i] = outer[0] * second - outer[1] * first;
      }
    }
  }
}

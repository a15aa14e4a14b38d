// How the hand of the arm of three joints moves: around each axis.
#include "arm3.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < sizes[0]; ++n) {
    const Arm found = arm(inputs[0] + 3 * n);
    real *jacobian = outputs[0] + 9 * n;
    const real *p = found.hand, *e = found.elbow, *side = found.side;
    jacobian[0] = -p[1], jacobian[3] = p[0], jacobian[6] = 0;
    const real z = p[2] - 0.4, w = p[2] - e[2];
    jacobian[1] = side[1] * z, jacobian[4] = -side[0] * z;
    jacobian[7] = side[0] * p[1] - side[1] * p[0];
    jacobian[2] = side[1] * w, jacobian[5] = -side[0] * w;
    jacobian[8] = side[0] * (p[1] - e[1]) - side[1] * (p[0] - e[0]);
  }
}

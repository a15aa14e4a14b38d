// A step of a Kalman filter, blocks of three by three: the covariance stays symmetric.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const real step = 0.1, noise = 0.01;
  for (size n = 0; n < sizes[0]; ++n) {
    const real *x = inputs[0] + 6 * n, *before = inputs[1] + 36 * n, *z = inputs[2] + 3 * n;
    real *y = outputs[0] + 6 * n, *after = outputs[1] + 36 * n;
    real p[6][6];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 6; ++j) {
        p[i][j] = before[6 * i + j] + step * before[6 * (i + 3) + j];
        p[i + 3][j] = before[6 * (i + 3) + j];
      }
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < 3; ++j) p[i][j] += step * p[i][j + 3];
      p[i][i] += noise;
    }
    const real a = p[0][0] + 0.11, b = p[0][1] + 0.01, c = p[0][2] + 0.01;
    const real d = p[1][0] + 0.01, e = p[1][1] + 0.11, f = p[1][2] + 0.01;
    const real g = p[2][0] + 0.01, h = p[2][1] + 0.01, k = p[2][2] + 0.11;
    const real over = 1 / (a * (e * k - f * h) - b * (d * k - f * g) + c * (d * h - e * g));
    const real inverse[3][3] = {
        {(e * k - f * h) * over, (c * h - b * k) * over, (b * f - c * e) * over},
        {(f * g - d * k) * over, (a * k - c * g) * over, (c * d - a * f) * over},
        {(d * h - e * g) * over, (b * g - a * h) * over, (a * e - b * d) * over}};
    real moved[6], miss[3];
    for (int i = 0; i < 3; ++i) {
      moved[i] = x[i] + step * x[i + 3];
      moved[i + 3] = x[i + 3];
      miss[i] = z[i] - moved[i];
    }
    for (int i = 0; i < 6; ++i) {
      real gain[3];
      for (int j = 0; j < 3; ++j)
        gain[j] = p[i][0] * inverse[0][j] + p[i][1] * inverse[1][j] + p[i][2] * inverse[2][j];
      y[i] = moved[i] + gain[0] * miss[0] + gain[1] * miss[1] + gain[2] * miss[2];
      for (int j = 0; j < 6; ++j)
        after[6 * i + j] = p[i][j] - gain[0] * p[0][j] - gain[1] * p[1][j] - gain[2] * p[2][j];
    }
  }
}

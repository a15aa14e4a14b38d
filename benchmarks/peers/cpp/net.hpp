// A network of two layers of known widths: a sample's loss and gradient.
#pragma once
#include "gradient.hpp"

template <int GIVEN, int HIDDEN, int MADE>
static inline void net(size points, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < points; ++n) {
    const real *w = inputs[0] + GIVEN * HIDDEN * n, *a = inputs[1] + HIDDEN * n;
    const real *v = inputs[2] + HIDDEN * MADE * n, *b = inputs[3] + MADE * n;
    const real *x = inputs[4] + GIVEN * n, *y = inputs[5] + MADE * n;
    real *dw = outputs[1] + GIVEN * HIDDEN * n, *da = outputs[2] + HIDDEN * n;
    real *dv = outputs[3] + HIDDEN * MADE * n, *db = outputs[4] + MADE * n;
    real hidden[HIDDEN], value = 0;
    for (int i = 0; i < HIDDEN; ++i) {
      real sum = a[i];
      for (int j = 0; j < GIVEN; ++j) sum += w[GIVEN * i + j] * x[j];
      hidden[i] = std::tanh(sum);
    }
    for (int k = 0; k < MADE; ++k) {
      real sum = b[k] - y[k];
      for (int i = 0; i < HIDDEN; ++i) sum += v[HIDDEN * k + i] * hidden[i];
      value += sum * sum;
      db[k] = 2 * sum;
      for (int i = 0; i < HIDDEN; ++i) dv[HIDDEN * k + i] = 2 * sum * hidden[i];
    }
    outputs[0][n] = value;
    for (int i = 0; i < HIDDEN; ++i) {
      real sum = 0;
      for (int k = 0; k < MADE; ++k) sum += v[HIDDEN * k + i] * db[k];
      da[i] = sum * (1 - hidden[i] * hidden[i]);
      for (int j = 0; j < GIVEN; ++j) dw[GIVEN * i + j] = da[i] * x[j];
    }
  }
}

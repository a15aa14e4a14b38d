// The log-likelihood of a Gaussian mixture and its gradient: one sample at a time.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size d = sizes[0], k = sizes[1], n = sizes[2], below = d * (d - 1) / 2;
  const real *alpha = inputs[0], *mu = inputs[1], *q = inputs[2], *l = inputs[3], *x = inputs[4];
  real *g_alpha = outputs[1], *g_mu = outputs[2], *g_q = outputs[3], *g_l = outputs[4];
  std::vector<real> diagonal(k * d), sums(k), centred(k * d), scaled(k * d), weight(k);
  std::vector<real> pulled(d), back(d);
  std::fill(g_alpha, g_alpha + k, 0);
  std::fill(g_mu, g_mu + k * d, 0);
  std::fill(g_q, g_q + k * d, 0);
  std::fill(g_l, g_l + k * below, 0);
  for (size i = 0; i < k * d; ++i) diagonal[i] = std::exp(q[i]);
  for (size c = 0; c < k; ++c) {
    sums[c] = alpha[c];
    for (size i = 0; i < d; ++i) sums[c] += q[c * d + i];
  }
  real value = 0;
  for (size s = 0; s < n; ++s) {
    const real *point = x + s * d;
    for (size c = 0; c < k; ++c) {
      real *xc = &centred[c * d], *qx = &scaled[c * d];
      for (size i = 0; i < d; ++i) xc[i] = point[i] - mu[c * d + i];
      const real *row = l + c * below;
      real norm = 0;
      for (size i = 0; i < d; ++i) {
        real sum = diagonal[c * d + i] * xc[i];
        for (size j = 0; j < i; ++j) sum += row[j] * xc[j];
        row += i;
        qx[i] = sum;
        norm += sum * sum;
      }
      weight[c] = sums[c] - real(0.5) * norm;
    }
    const real largest = *std::max_element(weight.begin(), weight.end());
    for (size c = 0; c < k; ++c) weight[c] = std::exp(weight[c] - largest);
    real total = 0;
    for (size c = 0; c < k; ++c) total += weight[c];
    value += std::log(total) + largest;
    for (size c = 0; c < k; ++c) {
      const real *xc = &centred[c * d], *qx = &scaled[c * d];
      const real w = weight[c] / total;
      g_alpha[c] += w;
      for (size i = 0; i < d; ++i) pulled[i] = -w * qx[i];
      for (size i = 0; i < d; ++i) back[i] = diagonal[c * d + i] * pulled[i];
      for (size i = 0; i < d; ++i) g_q[c * d + i] += w + back[i] * xc[i];
      const real *row = l + c * below;
      real *g_row = g_l + c * below;
      for (size i = 0; i < d; ++i) {
        const real p = pulled[i];
        for (size j = 0; j < i; ++j) g_row[j] += p * xc[j];
        for (size j = 0; j < i; ++j) back[j] += p * row[j];
        row += i;
        g_row += i;
      }
      for (size i = 0; i < d; ++i) g_mu[c * d + i] -= back[i];
    }
  }
  const real most = *std::max_element(alpha, alpha + k);
  real mass = 0;
  for (size c = 0; c < k; ++c) mass += weight[c] = std::exp(alpha[c] - most);
  for (size c = 0; c < k; ++c) g_alpha[c] -= n * weight[c] / mass;
  real prior = 0;
  for (size i = 0; i < k * d; ++i) {
    prior += diagonal[i] * diagonal[i];
    g_q[i] += diagonal[i] * diagonal[i];
  }
  for (size i = 0; i < k * below; ++i) {
    prior += l[i] * l[i];
    g_l[i] += l[i];
  }
  *outputs[0] = value - n * (std::log(mass) + most) + real(0.5) * prior;
}

// ADBench's LSTM and its gradient: the states of all steps are kept, then walked backwards.
#include "gradient.hpp"

namespace {

// What a layer keeps of a step; each has the layer's width.
enum Kept { forget, take, give, change, before, hidden, input, curved, kept };

real sigmoid(real z) { return 1 / (1 + std::exp(-z)); }

} // namespace

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size layers = sizes[0], steps = sizes[1] - 1, width = sizes[2];
  const real *main = inputs[0], *extra = inputs[1], *first = inputs[2], *text = inputs[3];
  real *g_main = outputs[1], *g_extra = outputs[2];
  const size of_layer = kept * width, of_step = layers * of_layer;
  std::vector<real> tape(steps * of_step), last(steps * width), soft(steps * width);
  std::vector<real> totals(steps), state(first, first + layers * 2 * width), x(width), guess(width);
  std::fill(g_main, g_main + layers * 8 * width, 0);
  std::fill(g_extra, g_extra + 3 * width, 0);

  real value = 0;
  for (size t = 0; t < steps; ++t) {
    const real *seen = text + t * width, *wanted = seen + width;
    for (size i = 0; i < width; ++i) x[i] = seen[i] * extra[i];
    for (size layer = 0; layer < layers; ++layer) {
      const real *weight = main + layer * 8 * width, *offset = weight + 4 * width;
      real *h = &state[layer * 2 * width], *cell = h + width;
      real *row = &tape[t * of_step + layer * of_layer];
      real *f = row + forget * width, *in = row + take * width, *out = row + give * width;
      real *ch = row + change * width, *curve = row + curved * width;
      for (size i = 0; i < width; ++i) row[input * width + i] = x[i];
      for (size i = 0; i < width; ++i) row[hidden * width + i] = h[i];
      for (size i = 0; i < width; ++i) row[before * width + i] = cell[i];
      for (size i = 0; i < width; ++i) f[i] = sigmoid(x[i] * weight[i] + offset[i]);
      for (size i = 0; i < width; ++i) in[i] = sigmoid(h[i] * weight[width + i] + offset[width + i]);
      for (size i = 0; i < width; ++i)
        out[i] = sigmoid(x[i] * weight[2 * width + i] + offset[2 * width + i]);
      for (size i = 0; i < width; ++i)
        ch[i] = std::tanh(h[i] * weight[3 * width + i] + offset[3 * width + i]);
      for (size i = 0; i < width; ++i) cell[i] = cell[i] * f[i] + in[i] * ch[i];
      for (size i = 0; i < width; ++i) curve[i] = std::tanh(cell[i]);
      for (size i = 0; i < width; ++i) x[i] = h[i] = out[i] * curve[i];
    }
    real *weights = &soft[t * width];
    for (size i = 0; i < width; ++i) last[t * width + i] = x[i];
    for (size i = 0; i < width; ++i) guess[i] = x[i] * extra[width + i] + extra[2 * width + i];
    for (size i = 0; i < width; ++i) weights[i] = std::exp(guess[i]);
    real total = 2;
    for (size i = 0; i < width; ++i) total += weights[i];
    for (size i = 0; i < width; ++i) weights[i] /= total;
    const real normal = std::log(total);
    for (size i = 0; i < width; ++i) value += wanted[i] * (guess[i] - normal);
  }
  const real scale = -1 / real(steps * width);
  *outputs[0] = value * scale;

  // cotangents of the hidden and cell states, and of what a layer hands up
  std::vector<real> back(layers * 2 * width, 0), up(width);
  for (size t = steps - 1; t >= 0; --t) {
    const real *seen = text + t * width, *wanted = seen + width, *weights = &soft[t * width];
    real sum = 0;
    for (size i = 0; i < width; ++i) sum += wanted[i];
    for (size i = 0; i < width; ++i) {
      const real g = scale * (wanted[i] - sum * weights[i]);
      g_extra[width + i] += g * last[t * width + i];
      g_extra[2 * width + i] += g;
      up[i] = g * extra[width + i];
    }
    for (size layer = layers - 1; layer >= 0; --layer) {
      const real *weight = main + layer * 8 * width;
      real *g_weight = g_main + layer * 8 * width, *g_offset = g_weight + 4 * width;
      real *g_h = &back[layer * 2 * width], *g_cell = g_h + width;
      const real *row = &tape[t * of_step + layer * of_layer];
      for (size i = 0; i < width; ++i) {
        const real f = row[forget * width + i], in = row[take * width + i];
        const real out = row[give * width + i], ch = row[change * width + i];
        const real curve = row[curved * width + i], x = row[input * width + i];
        const real h = row[hidden * width + i], cell = row[before * width + i];
        const real g = up[i] + g_h[i];
        const real gc = g_cell[i] + g * out * (1 - curve * curve);
        const real zf = gc * cell * f * (1 - f), zi = gc * ch * in * (1 - in);
        const real zo = g * curve * out * (1 - out), zc = gc * in * (1 - ch * ch);
        g_weight[i] += zf * x;
        g_weight[width + i] += zi * h;
        g_weight[2 * width + i] += zo * x;
        g_weight[3 * width + i] += zc * h;
        g_offset[i] += zf;
        g_offset[width + i] += zi;
        g_offset[2 * width + i] += zo;
        g_offset[3 * width + i] += zc;
        g_cell[i] = gc * f;
        g_h[i] = zi * weight[width + i] + zc * weight[3 * width + i];
        up[i] = zf * weight[i] + zo * weight[2 * width + i];
      }
    }
    for (size i = 0; i < width; ++i) g_extra[i] += up[i] * seen[i];
  }
}

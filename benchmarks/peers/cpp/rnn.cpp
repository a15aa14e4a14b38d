// The recurrent network and its gradients by weights and inputs, backwards through its states.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  const size width = sizes[0], steps = sizes[1];
  const real *weight = inputs[0], *given = inputs[1], *first = inputs[2];
  real *by_weight = outputs[1], *by_input = outputs[2];
  std::vector<real> states((steps + 1) * width), back(width, 0);
  std::copy(first, first + width, states.begin());
  double value = 0;
  for (size t = 0; t < steps; ++t) {
    const real *state = &states[t * width];
    real *next = &states[(t + 1) * width];
    for (size i = 0; i < width; ++i) {
      real total = given[t * width + i];
      for (size j = 0; j < width; ++j) total += weight[i * width + j] * state[j];
      next[i] = total;
    }
    for (size i = 0; i < width; ++i) next[i] = std::tanh(next[i]);
    for (size i = 0; i < width; ++i) value += next[i] * next[i];
  }
  std::fill(by_weight, by_weight + width * width, real(0));
  for (size t = steps; t-- > 0;) {
    const real *state = &states[t * width], *next = &states[(t + 1) * width];
    real *slope = by_input + t * width;
    for (size i = 0; i < width; ++i) slope[i] = (back[i] + next[i]) * (1 - next[i] * next[i]);
    std::fill(back.begin(), back.end(), real(0));
    for (size i = 0; i < width; ++i)
      for (size j = 0; j < width; ++j) back[j] += weight[i * width + j] * slope[i];
    for (size i = 0; i < width; ++i)
      for (size j = 0; j < width; ++j) by_weight[i * width + j] += slope[i] * state[j];
  }
  *outputs[0] = real(value / 2);
}

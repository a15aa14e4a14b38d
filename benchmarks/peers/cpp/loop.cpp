// Calls a row's gradient so many times, out of sight of the row's optimiser.
#include "gradient.hpp"

extern "C" void loop(size calls, const size *sizes, const real *const *inputs,
                     real *const *outputs) {
  for (size i = 0; i < calls; ++i) gradient(sizes, inputs, outputs);
}

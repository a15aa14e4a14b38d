// The likelihood of a measurement of two compartments, and its gradient, backwards by hand.
#include "gradient.hpp"

void gradient(const size *sizes, const real *const *inputs, real *const *outputs) {
  for (size n = 0; n < sizes[0]; ++n) {
    const real *theta = inputs[0] + 7 * n, *eta = inputs[1] + 3 * n, *patient = inputs[2] + 6 * n;
    real *dt = outputs[1] + 7 * n, *de = outputs[2] + 3 * n;
    const real size = patient[0] / 70, grown = std::pow(size, 0.75);
    const real cleared = std::pow(patient[2] / 100, 0.4), aged = std::exp(-0.003 * (patient[1] - 40));
    const real dose = patient[3], time = patient[4], seen = patient[5];
    const real clearance = std::exp(theta[0] + eta[0]) * grown * cleared * aged;
    const real central = std::exp(theta[1] + eta[1]) * size, peripheral = std::exp(theta[2]) * size;
    const real flow = std::exp(theta[3]) * grown, absorption = std::exp(theta[4] + eta[2]);
    const real over = 1 / central;
    const real k10 = clearance * over, k12 = flow * over, k21 = flow / peripheral;
    const real total = k10 + k12 + k21, root = std::sqrt(total * total - 4 * k10 * k21);
    const real fast = 0.5 * (total + root), slow = k10 * k21 / fast;
    const real scale = dose * absorption * over;
    const real af = absorption - fast, as = absorption - slow, fs = fast - slow;
    const real iaf = 1 / af, ias = 1 / as, ifs = 1 / fs;
    const real a = -scale * (k21 - fast) * iaf * ifs, b = scale * (k21 - slow) * ias * ifs;
    const real c = scale * (k21 - absorption) * iaf * ias;
    const real ef = std::exp(-fast * time), es = std::exp(-slow * time);
    const real ea = std::exp(-absorption * time);
    const real level = a * ef + b * es + c * ea;
    const real fixed = std::exp(2 * theta[5]), part = std::exp(theta[6]), grows = part * level;
    const real variance = fixed + grows * grows, inverse = 1 / variance;
    const real miss = seen - level, square = miss * miss * inverse;
    outputs[0][n] = 0.5 * (square + std::log(variance)) +
                    0.5 * (eta[0] * eta[0] / 0.09 + eta[1] * eta[1] / 0.04 + eta[2] * eta[2] / 0.25);
    const real by_variance = 0.5 * inverse * (1 - square);
    const real by_level = -miss * inverse + by_variance * 2 * grows * part;
    dt[5] = by_variance * 2 * fixed;
    dt[6] = by_variance * 2 * grows * grows;
    // the level by the rates
    const real by_scale = level / scale;
    const real k21_part = scale * (-ef * iaf * ifs + es * ias * ifs + ea * iaf * ias);
    const real by_fast = scale * ef * iaf * ifs + a * ef * (iaf - ifs) - time * a * ef - b * es * ifs + c * ea * iaf;
    const real by_slow = a * ef * ifs - scale * es * ias * ifs + b * es * (ias + ifs) - time * b * es + c * ea * ias;
    const real by_absorption = -a * ef * iaf - b * es * ias - scale * ea * iaf * ias - c * ea * (iaf + ias) -
                               time * c * ea + by_scale * scale / absorption;
    const real fast_part = by_fast - by_slow * slow / fast;
    const real by_root = 0.5 * fast_part / root;
    const real by_total = 0.5 * fast_part + by_root * total;
    const real by_k10 = by_total - 2 * by_root * k21 + by_slow * k21 / fast;
    const real by_k21 = by_total - 2 * by_root * k10 + by_slow * k10 / fast + k21_part;
    dt[0] = by_level * by_k10 * k10;
    dt[1] = -by_level * (by_k10 * k10 + by_total * k12 + by_scale * scale);
    dt[2] = -by_level * by_k21 * k21;
    dt[3] = by_level * (by_total * k12 + by_k21 * k21);
    dt[4] = by_level * by_absorption * absorption;
    de[0] = dt[0] + eta[0] / 0.09, de[1] = dt[1] + eta[1] / 0.04, de[2] = dt[4] + eta[2] / 0.25;
  }
}

// Fits a logistic regression by gradient descent with kernels of gradc, and prints every bit of the
// weights. models.o and models.h come from examples/models.py:
//
//     c++ -std=c++11 main.cpp models.o -o main
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "models.h"

namespace {

// Scratch that grows to what a kernel asks for.
class Scratch {
public:
    void *of(std::size_t bytes) {
        if (bytes > bytes_.size())
            bytes_.resize(bytes);
        return bytes_.data();
    }

private:
    std::vector<unsigned char> bytes_;
};

void check(int status) {
    if (status != MODELS_OK)
        throw std::runtime_error("a kernel refused its arguments");
}

double number(int i, int argument) { return static_cast<double>((37 * i + 11 * argument + 5) % 101) / 64 + 0.25; }

template <class Numbers> void print(const char *name, const Numbers &numbers) {
    int i = 0;
    for (double each : numbers) {
        std::uint64_t bits;
        std::memcpy(&bits, &each, sizeof bits);
        std::printf("%s %d %016" PRIx64 "\n", name, i++, bits);
    }
}

} // namespace

int main() {
    const int points = 7;
    std::vector<double> x(points * 4), y(points);
    for (int i = 0; i < points * 4; i++)
        x[i] = number(i, 2) - 1;
    for (int i = 0; i < points; i++)
        y[i] = i % 2 ? 1 : -1;
    std::array<double, 4> w = {{0, 0, 0, 0}}, slope, product;
    double value = 0;
    Scratch scratch;
    for (int step = 0; step < 100; step++) {
        void *work = scratch.of(logistic_vg_worksize(points));
        check(logistic_vg(points, w.data(), x.data(), y.data(), &value, slope.data(), work));
        for (int i = 0; i < 4; i++)
            w[i] -= 0.125 * slope[i];
    }
    check(logistic_hvp(points, w.data(), x.data(), y.data(), slope.data(), product.data(),
                       scratch.of(logistic_hvp_worksize(points))));
    print("weights", w);
    print("slope", slope);
    print("product", product);
    print("loss", std::array<double, 1>{{value}});
    return 0;
}

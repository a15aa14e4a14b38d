/* A C program that knows nothing of Python: it reads a table, calls the exported kernels logistic and
 * logistic_vg, and prints the value and the gradient as hexadecimal floats, which hold every bit.
 *
 *     cc -std=c99 breast_cancer_main.c logistic.o -lm -o breast_cancer
 *     ./breast_cancer inputs.bin
 *
 * inputs.bin: int64 n, then doubles: w[31], x[n][30], y[n]. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "logistic.h"

enum { FEATURES = 30, WEIGHTS = FEATURES + 1 };

static int fail(const char *why) {
    fprintf(stderr, "breast_cancer: %s\n", why);
    return EXIT_FAILURE;
}

/* Reads count doubles into memory of their own; NULL when the file is too short. */
static double *read_doubles(FILE *file, size_t count) {
    double *numbers = malloc(count * sizeof *numbers);
    if (numbers != NULL && fread(numbers, sizeof *numbers, count, file) != count) {
        free(numbers);
        return NULL;
    }
    return numbers;
}

int main(int argc, char **argv) {
    int64_t n;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL || fread(&n, sizeof n, 1, file) != 1 || n < 0)
        return fail("usage: breast_cancer inputs.bin");
    double *w = read_doubles(file, WEIGHTS);
    double *x = read_doubles(file, (size_t)n * FEATURES);
    double *y = read_doubles(file, (size_t)n);
    fclose(file);
    if (w == NULL || x == NULL || y == NULL)
        return fail("the file is shorter than its n says");

    /* The kernels allocate nothing: one piece of scratch serves both. */
    size_t bytes = logistic_worksize(n);
    if (logistic_vg_worksize(n) > bytes)
        bytes = logistic_vg_worksize(n);
    void *work = bytes > 0 ? malloc(bytes) : NULL;

    double value, value_again, gradient[WEIGHTS];
    if (logistic(n, w, x, y, &value, work) != 0 ||
        logistic_vg(n, w, x, y, &value_again, gradient, work) != 0)
        return fail("a kernel refused its arguments");
    printf("%a\n%a\n", value, value_again);
    for (int i = 0; i < WEIGHTS; i++)
        printf("%a\n", gradient[i]);

    free(work);
    free(y);
    free(x);
    free(w);
    return EXIT_SUCCESS;
}

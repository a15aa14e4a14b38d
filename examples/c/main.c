/* Calls kernels from eight threads at once, each with scratch of its own, and prints every bit of what
 * they return. models.o and models.h come from examples/models.py:
 *
 *     cc -std=c99 -pthread main.c models.o -o main */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"

enum { THREADS = 8, N = 5, POINTS = 7, M = 6 };

/* All results of one thread. */
typedef struct {
    double value, slope[N], direction[N], curved[N];
    double loss, loss_slope[4], mixture, by_weights[3], by_means[3][2], by_deviations[3][2];
    double end[2], by_q[2][3], by_u[2][3];
    double values[M], slopes[M][N];
    int status;
} results;

/* Numbers that any language can make: exact, and near 1. */
static double number(int i, int argument) {
    return (double)((37 * i + 11 * argument + 5) % 101) / 64 + 0.25;
}

static void fill(double *x, int count, int argument) {
    for (int i = 0; i < count; i++)
        x[i] = number(i, argument);
}

static void *compute(void *place) {
    results *r = place;
    double x[M][N], w[4], rows[POINTS][4], labels[POINTS];
    double weights[3], means[3][2], deviations[3][2], points[POINTS][2], q[3], u[3];
    fill(&x[0][0], M * N, 0);
    fill(w, 4, 1);
    fill(&rows[0][0], POINTS * 4, 2);
    for (int i = 0; i < POINTS; i++)
        labels[i] = i % 2 ? 1 : -1;
    fill(weights, 3, 3);
    fill(&means[0][0], 6, 4);
    fill(&deviations[0][0], 6, 5);
    fill(&points[0][0], POINTS * 2, 6);
    fill(q, 3, 7);
    fill(u, 3, 8);

    /* One piece of scratch that is enough for all of them. */
    size_t bytes = 1, asked[] = {rosen_vg_worksize(N), rosen_hvp_worksize(N), logistic_vg_worksize(POINTS),
                                 gmm_vg_worksize(POINTS), arm_worksize(), arm_jac_worksize(),
                                 rosen_vg_batch_worksize(M, N)};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        bytes = asked[i] > bytes ? asked[i] : bytes;
    void *work = malloc(bytes);
    if (work == NULL)
        return NULL;
    for (int again = 0; again < 50; again++) {
        r->status = rosen_vg(N, x[0], &r->value, r->slope, work);
        r->status |= rosen_hvp(N, x[0], x[1], r->curved, work);
        r->status |= logistic_vg(POINTS, w, &rows[0][0], labels, &r->loss, r->loss_slope, work);
        r->status |= gmm_vg(POINTS, weights, &means[0][0], &deviations[0][0], &points[0][0], &r->mixture,
                            r->by_weights, &r->by_means[0][0], &r->by_deviations[0][0], work);
        r->status |= arm(q, u, r->end, work);
        r->status |= arm_jac(q, u, &r->by_q[0][0], &r->by_u[0][0], work);
        r->status |= rosen_vg_batch(M, N, &x[0][0], r->values, &r->slopes[0][0], work);
    }
    memcpy(r->direction, x[1], sizeof r->direction);
    free(work);
    return NULL;
}

static void print(const char *name, const double *x, int count) {
    for (int i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        printf("%s %d %016" PRIx64 "\n", name, i, bits);
    }
}

int main(void) {
    pthread_t threads[THREADS];
    results *found = calloc(THREADS, sizeof *found);
    if (found == NULL)
        return EXIT_FAILURE;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, compute, &found[i]) != 0)
            return EXIT_FAILURE;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (found[i].status != MODELS_OK || memcmp(&found[i], &found[0], sizeof *found) != 0) {
            fprintf(stderr, "thread %d got other numbers\n", i);
            return EXIT_FAILURE;
        }
    results *r = &found[0];
    print("rosen", &r->value, 1);
    print("rosen_slope", r->slope, N);
    print("rosen_curved", r->curved, N);
    print("logistic", &r->loss, 1);
    print("logistic_slope", r->loss_slope, 4);
    print("gmm", &r->mixture, 1);
    print("gmm_weights", r->by_weights, 3);
    print("gmm_means", &r->by_means[0][0], 6);
    print("gmm_deviations", &r->by_deviations[0][0], 6);
    print("arm", r->end, 2);
    print("arm_q", &r->by_q[0][0], 6);
    print("arm_u", &r->by_u[0][0], 6);
    print("batch", r->values, M);
    print("batch_slopes", &r->slopes[0][0], M * N);
    free(found);
    return EXIT_SUCCESS;
}

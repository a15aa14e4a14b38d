"""A caller in C with threads of its own, or none, for exported kernels that hand out tasks."""

# It takes tasks in an order that is not that of a loop; ``most`` is how many there were at most.
RUN = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int64_t first, step, count; void (*task)(void *, int64_t); void *job; } Share;
static int64_t most;

static void *some(void *given) {
    const Share *share = given;
    for (int64_t i = share->count - 1 - share->first; i >= 0; i -= share->step)
        share->task(share->job, i);
    return NULL;
}

static void run(void *context, int64_t count, void (*task)(void *, int64_t), void *job) {
    int threads = *(int *)context;
    pthread_t made[16];
    Share shares[16];
    most = count > most ? count : most;
    for (int k = 0; k < threads; k++) {
        shares[k] = (Share){k, threads, count, task, job};
        if (k < threads - 1)
            pthread_create(&made[k], NULL, some, &shares[k]);
        else
            some(&shares[k]);
    }
    for (int k = 0; k < threads - 1; k++)
        pthread_join(made[k], NULL);
}
"""

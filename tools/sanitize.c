/* What tools/sanitize.py builds with a table of kernels behind it: calls each between forbidden pages. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { F64, F32, I64, I32, BOOL };
typedef struct { int dtype; size_t bytes; } array;
typedef struct {
    const char *name;
    int (*call)(void **in, void **out, void *work);
    size_t (*worksize)(void);
    int inputs, outputs;
    const array *in, *out;
} kernel;

static size_t page;

typedef struct { char *start; size_t length; char *bytes; size_t size; } buffer;

/* between two forbidden pages, flush with one of them */
static buffer guarded(size_t size, int at_end) {
    buffer made;
    size_t inner = (size + page - 1) / page * page;
    if (!inner) inner = page;
    made.length = inner + 2 * page;
    made.start =
        mmap(NULL, made.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made.start == MAP_FAILED) abort();
    made.bytes = made.start + page + (at_end ? inner - size : 0);
    made.size = size;
    memset(made.start + page, 0xA5, inner); /* what is between the buffer and the far page */
    mprotect(made.start, page, PROT_NONE);
    mprotect(made.start + page + inner, page, PROT_NONE);
    return made;
}

static void forbid_writes(buffer b) {
    mprotect(b.start + page, b.length - 2 * page, PROT_READ);
}

/* whether the bytes around a buffer are as they were made */
static int untouched(buffer b) {
    char *from = b.start + page, *to = b.start + b.length - page;
    for (char *p = from; p < to; p++)
        if ((p < b.bytes || p >= b.bytes + b.size) && (unsigned char)*p != 0xA5) return 0;
    return 1;
}

static void drop(buffer b) { munmap(b.start, b.length); }

/* the same bits, but for NaNs */
static int same(int dtype, const char *a, const char *b, size_t bytes) {
    if (dtype == F64)
        for (size_t i = 0; i < bytes; i += 8) {
            double x, y;
            memcpy(&x, a + i, 8), memcpy(&y, b + i, 8);
            if (memcmp(a + i, b + i, 8) && (x == x || y == y)) return 0;
        }
    else if (dtype == F32)
        for (size_t i = 0; i < bytes; i += 4) {
            float x, y;
            memcpy(&x, a + i, 4), memcpy(&y, b + i, 4);
            if (memcmp(a + i, b + i, 4) && (x == x || y == y)) return 0;
        }
    else
        return !memcmp(a, b, bytes);
    return 1;
}

static int run(const kernel *k, char **data, char **first, int *status, int at_end, int fill,
               int missing) {
    buffer in[64], out[64];
    void *given[64], *wanted[64];
    int bad = 0;
    for (int i = 0; i < k->inputs; i++) {
        in[i] = guarded(k->in[i].bytes, at_end);
        if (k->in[i].bytes) memcpy(in[i].bytes, data[i], k->in[i].bytes);
        forbid_writes(in[i]);
        given[i] = in[i].bytes;
    }
    for (int i = 0; i < k->outputs; i++) {
        out[i] = guarded(k->out[i].bytes, at_end);
        memset(out[i].bytes, 0x5A, out[i].size);
        wanted[i] = i == missing || missing == k->outputs ? NULL : out[i].bytes;
    }
    /* from an aligned start no kernel needs the room for aligning */
    size_t bytes = k->worksize();
    buffer work = guarded(bytes >= 64 ? bytes - 64 : bytes, at_end);
    if ((uintptr_t)work.bytes % 64) {
        drop(work);
        work = guarded(bytes, at_end);
    }
    memset(work.bytes, fill, work.size);
    int returned = k->call(given, wanted, bytes ? work.bytes : NULL);
    if (*status < 0) *status = returned;
    if (returned != *status) bad = printf("%s: status %d, then %d\n", k->name, *status, returned);
    for (int i = 0; i < k->outputs && !returned; i++) {
        if (!wanted[i]) {
            for (size_t j = 0; j < out[i].size; j++)
                if (out[i].bytes[j] != 0x5A) bad = printf("%s: result %d\n", k->name, i);
            continue;
        }
        if (!first[i]) {
            first[i] = malloc(out[i].size + 1);
            memcpy(first[i], out[i].bytes, out[i].size);
        } else if (!same(k->out[i].dtype, first[i], out[i].bytes, out[i].size))
            bad = printf("%s: result %d differs (end %d, fill %d, without %d)\n", k->name, i,
                         at_end, fill, missing);
    }
    for (int i = 0; i < k->inputs; i++) {
        if (!untouched(in[i])) bad = printf("%s: around input %d\n", k->name, i);
        drop(in[i]);
    }
    for (int i = 0; i < k->outputs; i++) {
        if (!untouched(out[i])) bad = printf("%s: around result %d\n", k->name, i);
        drop(out[i]);
    }
    if (!untouched(work)) bad = printf("%s: around work\n", k->name);
    drop(work);
    return bad != 0;
}

extern const kernel kernels[];
extern const int kernel_count;

int main(int count, char **words) {
    int from = count > 2 ? atoi(words[2]) : 0, failed = 0, refused = 0, calls = 0;
    page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen(words[1], "rb");
    if (!file) return 2;
    for (int n = 0; n < kernel_count; n++) {
        const kernel *k = &kernels[n];
        char *data[64] = {0}, *first[64] = {0};
        int status = -1, bad = 0;
        for (int i = 0; i < k->inputs; i++) {
            data[i] = malloc(k->in[i].bytes + 1);
            if (fread(data[i], 1, k->in[i].bytes, file) != k->in[i].bytes) return 2;
        }
        if (n >= from) {
            fprintf(stderr, "%d %s\n", n, k->name); /* the last line names what ended the program */
            for (int end = 0; end < 2; end++)
                for (int fill = 0; fill < 2; fill++, calls++)
                    bad |= run(k, data, first, &status, end, fill ? 0xFF : 0, -1);
            for (int missing = 0; missing <= k->outputs; missing++, calls++)
                bad |= run(k, data, first, &status, 1, 0xFF, missing);
        }
        failed += bad;
        refused += status > 0;
        for (int i = 0; i < k->inputs; i++) free(data[i]);
        for (int i = 0; i < k->outputs; i++) free(first[i]);
    }
    fclose(file);
    printf("%d kernels, %d calls, %d of them with a status, %d failed\n", kernel_count - from,
           calls, refused, failed);
    return failed != 0;
}

/* Starts a program on a Cortex-M with floats in hardware: vectors, memory, the float unit, main. */
#include <stdint.h>

extern uint32_t data_start, data_end, data_load, __bss_start__, __bss_end__, stack_top;
extern int main(void);
extern void initialise_monitor_handles(void);
extern void _exit(int);

void reset(void) {
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* the float unit is for all */
    __asm__ volatile("dsb\n isb");
    uint32_t *from = &data_load;
    for (uint32_t *to = &data_start; to < &data_end;)
        *to++ = *from++;
    for (uint32_t *to = &__bss_start__; to < &__bss_end__;)
        *to++ = 0;
    initialise_monitor_handles();
    _exit(main());
}

static void fault(void) {
    _exit(99);
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    &stack_top, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
};

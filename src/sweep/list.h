/* The lists of a sweep: whole numbers, each once, in the order in which they were given. */
#ifndef SWEEP_LIST_H
#define SWEEP_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "append/error.h"

enum {
    SWEEP_LIST_MAX = 100
};

struct sweep_list {
    uint64_t values[SWEEP_LIST_MAX];
    size_t count; /* 0 = not given */
};

/* Reads "1000,2k,4000": each from 1 to max. `option` is for the error. */
enum status sweep_list_parse(struct sweep_list *list, const char *option, const char *text,
                             uint64_t max, struct error *error);

#endif

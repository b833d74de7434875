/*
 * CPU and memory of one hold: the samples that fall into it as a whole.
 *
 * The sampler's thread adds samples, the main thread begins and ends holds.
 */
#ifndef MEASURE_HOLD_SAMPLES_H
#define MEASURE_HOLD_SAMPLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "measure/levels.h"
#include "measure/sampler.h"

/* A share of the CPUs, added up over time. */
struct hold_share {
    double percent_ns;
    int64_t known_ns;
};

struct hold_samples {
    pthread_mutex_t lock;
    bool is_holding;
    bool has_one;
    int64_t start_ns; /* since the start of the search, as in struct sample */
    struct hold_share host;
    struct hold_share server;
    struct hold_share client;
    int64_t server_memory_bytes; /* highest; -1 = unknown */
    int64_t client_memory_bytes;
};

void hold_samples_init(struct hold_samples *samples);
void hold_samples_fini(struct hold_samples *samples);

void hold_samples_begin(struct hold_samples *samples, int64_t start_ns);
void hold_samples_add(struct hold_samples *samples, const struct sample *sample);

/* True when a sample has told something of this hold. */
bool hold_samples_has_one(struct hold_samples *samples);

/* Puts the figures into *level; what no sample told is unknown there: -1. */
void hold_samples_end(struct hold_samples *samples, struct level *level);

#endif

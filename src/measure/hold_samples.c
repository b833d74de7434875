#include "measure/hold_samples.h"

#include <string.h>

void hold_samples_init(struct hold_samples *samples)
{
    memset(samples, 0, sizeof *samples);
    pthread_mutex_init(&samples->lock, NULL);
}

void hold_samples_fini(struct hold_samples *samples)
{
    pthread_mutex_destroy(&samples->lock);
}

void hold_samples_begin(struct hold_samples *samples, int64_t start_ns)
{
    pthread_mutex_lock(&samples->lock);
    samples->is_holding = true;
    samples->has_one = false;
    samples->start_ns = start_ns;
    samples->host = (struct hold_share){0};
    samples->server = (struct hold_share){0};
    samples->client = (struct hold_share){0};
    samples->server_memory_bytes = -1;
    samples->client_memory_bytes = -1;
    pthread_mutex_unlock(&samples->lock);
}

static void add_share(struct hold_share *share, double percent, int64_t ns)
{
    if (percent >= 0) {
        share->percent_ns += percent * (double)ns;
        share->known_ns += ns;
    }
}

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void hold_samples_add(struct hold_samples *samples, const struct sample *sample)
{
    pthread_mutex_lock(&samples->lock);
    if (samples->is_holding && sample->start_ns >= samples->start_ns) {
        samples->has_one = true;
        const int64_t ns = sample->end_ns - sample->start_ns;
        add_share(&samples->host, sample->host_cpu_percent, ns);
        add_share(&samples->server, sample->server_cpu_percent, ns);
        add_share(&samples->client, sample->client_cpu_percent, ns);
        samples->server_memory_bytes =
            higher(samples->server_memory_bytes, sample->server_memory_bytes);
        if (sample->client_memory_bytes > 0) {
            samples->client_memory_bytes =
                higher(samples->client_memory_bytes, (int64_t)sample->client_memory_bytes);
        }
    }
    pthread_mutex_unlock(&samples->lock);
}

bool hold_samples_has_one(struct hold_samples *samples)
{
    pthread_mutex_lock(&samples->lock);
    const bool has_one = samples->has_one;
    pthread_mutex_unlock(&samples->lock);
    return has_one;
}

static double mean(const struct hold_share *share)
{
    return share->known_ns > 0 ? share->percent_ns / (double)share->known_ns : -1;
}

void hold_samples_end(struct hold_samples *samples, struct level *level)
{
    pthread_mutex_lock(&samples->lock);
    samples->is_holding = false;
    level->host_cpu_percent = mean(&samples->host);
    level->server_cpu_percent = mean(&samples->server);
    level->client_cpu_percent = mean(&samples->client);
    level->server_memory_bytes = samples->server_memory_bytes;
    level->client_memory_bytes = samples->client_memory_bytes;
    pthread_mutex_unlock(&samples->lock);
}

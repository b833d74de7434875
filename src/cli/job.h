/*
 * What the commands that load a database have in common: the plan, and what is made ready for it
 * before the first session.
 */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdbool.h>

#include "base/exit_code.h"
#include "cli/client_library.h"
#include "limits/container.h"
#include "load/generator.h"
#include "load/setup.h"
#include "measure/recorder.h"
#include "measure/sampler.h"
#include "plan/plan.h"

/* All zero but the plan at first; ended by job_release, however far it came. */
struct job {
    struct plan plan;           /* owned */
    struct container container; /* of the server, when the plan names one */
    struct client_library library;
    struct setup setup;
    struct generator *generator;
    struct recorder *recorder;
};

/* Before anything is connected to: the limits of this machine, the server's container, the client
 * library. */
enum exit_code job_begin(struct job *job, struct error *error);

/* The table, the limits of the server, and the memory that the sessions share. */
enum exit_code job_set_up(struct job *job, struct error *error);

/* NULL: *error says why. */
struct sampler *job_start_sampler(const struct job *job, const struct sampler_sink *sink,
                                  struct error *error);

void job_release(struct job *job);

#endif

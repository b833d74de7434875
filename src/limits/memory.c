/* Memory: all but the address space are estimates, as nobody knows what a session will use. */

#include <stdio.h>
#include <unistd.h>

#include "limits/reading.h"

/* Resident, beside what the program has anyway. Measured: 37 KiB of this program, the rest is the
 * kernel's for a thread and a socket; SQLite has a page cache in each connection; a backend of
 * PostgreSQL, a thread of MariaDB. */
enum {
    CLIENT_BYTES = 72 * 1024,
    EMBEDDED_BYTES = 192 * 1024,
    SERVER_PROCESS_BYTES = 3 * 1024 * 1024,
    SERVER_THREAD_BYTES = 512 * 1024,
    GUARD_BYTES = 4096, /* below each stack */
};

/* What an arena of the C library's allocator reserves; a thread's stack when nobody says how large;
 * what a run has in memory beside its sessions. */
#define ARENA_BYTES (UINT64_C(64) << 20)
#define USUAL_STACK_BYTES (UINT64_C(8) << 20)
#define RUN_BYTES (UINT64_C(2) << 20)

uint64_t memory_arenas(void)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    /* eight a CPU, the first of which is there already */
    return 8 * (uint64_t)(cpus > 0 ? cpus : 1) - 1;
}

struct demand memory_demand(const struct reading *reading)
{
    const struct limits_question *question = reading->question;
    struct demand demand = {.client = question->is_embedded ? EMBEDDED_BYTES : CLIENT_BYTES};
    const struct server_limits *server = question->server;
    if (reading_has_server_here(reading) && server != NULL && server->tasks_per_session > 0) {
        demand.server = server->files_per_session > 0 ? SERVER_THREAD_BYTES : SERVER_PROCESS_BYTES;
    }
    return demand;
}

/* Each of the first threads takes an arena too, as long as there is room for it. */
static uint64_t arena_bytes(uint64_t free_bytes, uint64_t stack_bytes)
{
    uint64_t arenas = 0;
    while (arenas < memory_arenas() &&
           free_bytes >= (arenas + 1) * ARENA_BYTES + arenas * stack_bytes) {
        arenas++;
    }
    return arenas * ARENA_BYTES;
}

void memory_read_address_space(struct reading *reading)
{
    const struct limits_question *question = reading->question;
    const struct subject *client = &reading->client;
    const struct limits_pair space = client->rlimits.address_space;
    struct limit limit = {
        .id = LIMIT_ADDRESS_SPACE,
        .side = LIMIT_CLIENT,
        .name = "RLIMIT_AS",
        .where = "ulimit -v",
        .unit = "bytes",
        .allowed = space.soft,
        .used = client->status.size_bytes,
        .is_estimate = true,
    };
    const uint64_t each = question->stack_bytes + GUARD_BYTES;
    const uint64_t wanted = memory_arenas() * ARENA_BYTES;
    const uint64_t others = question->other_threads * USUAL_STACK_BYTES + RUN_BYTES;
    const uint64_t taken = limit.used + others;
    const uint64_t free_bytes = limit.allowed > taken ? limit.allowed - taken : 0;
    const uint64_t arenas = limit.allowed == LIMIT_NONE ? wanted : arena_bytes(free_bytes, each);
    const struct need need = {.each = each, .fixed = others + arenas};
    struct limit *entry = reading_add(reading, &limit, need);
    if (entry != NULL) {
        const struct remedy_rlimit rlimit = {.item = "as",
                                             .user = client->user,
                                             .value = taken + each * question->sessions + wanted,
                                             .hard = space.hard};
        remedy_rlimit(entry->fix, sizeof entry->fix, &client->place, &rlimit);
    }
}

static void read_commit(struct reading *reading, const struct limits_memory *memory)
{
    enum {
        STRICT = 2 /* the kernel promises no more than it has */
    };
    uint64_t mode;
    if (!reading_number(reading, "sys/vm/overcommit_memory", &mode) || mode != STRICT) {
        return;
    }
    const struct limit limit = {
        .id = LIMIT_COMMIT,
        .side = LIMIT_CLIENT,
        .name = "overcommit_memory=2",
        .where = "sysctl",
        .unit = "bytes",
        .allowed = memory->commit_limit,
        .used = memory->committed,
        .is_estimate = true,
        .note = "stacks count whether they are used or not",
    };
    const struct demand demand = memory_demand(reading);
    const struct need need = {.each =
                                  reading->question->stack_bytes + demand.client + demand.server};
    struct limit *entry = reading_add(reading, &limit, need);
    if (entry != NULL) {
        snprintf(entry->fix, sizeof entry->fix, "sysctl -w vm.overcommit_memory=0");
    }
}

void memory_read_machine(struct reading *reading)
{
    struct limits_memory memory;
    if (!reading_load(reading, 0, "meminfo") ||
        !limits_parse_memory(reading->text.bytes, reading->text.length, &memory)) {
        return;
    }
    read_commit(reading, &memory);
    const struct limit limit = {
        .id = LIMIT_MEMORY,
        .side = LIMIT_CLIENT,
        .name = "free memory",
        .where = "this machine",
        .unit = "bytes",
        .allowed = memory.total,
        .used = memory.total - (memory.available < memory.total ? memory.available : memory.total),
        .is_estimate = true,
    };
    const struct demand demand = memory_demand(reading);
    struct limit *entry =
        reading_add(reading, &limit, (struct need){.each = demand.client + demand.server});
    if (entry != NULL) {
        snprintf(entry->fix, sizeof entry->fix, "more memory, or fewer sessions");
    }
}

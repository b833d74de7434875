#include "limits/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "limits/evidence_cause.h"
#include "limits/evidence_counters.h"
#include "limits/evidence_name.h"
#include "measure/proc_file.h"
#include "measure/server_find.h"

/* A process that is being ended closes its connections a little before it is gone. */
#define END_LIMIT_NS (500 * MONO_NS_PER_MS)
#define END_PAUSE_NS (20 * MONO_NS_PER_MS)

struct evidence {
    const struct limits_question *question;
    struct procfs_process server; /* pid 0: not seen */
    bool was_listening;           /* somebody, on the server's port */
    struct limit_list before;
    struct limit_list shortage;
    const struct server_limits *server_after; /* NULL: not asked once more */
    bool is_captured;
    struct evidence_counters counters; /* before the sessions */
};

static bool is_server_here(const struct limits_question *question)
{
    return question->has_server && !question->is_embedded && !question->is_remote;
}

/* Whose process may not be seen may still be seen to listen. */
static bool is_port_open(uint16_t port)
{
    static const char *const files[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    struct procfs_inodes listeners = {.count = 0};
    struct buffer text;
    buffer_init(&text);
    for (size_t i = 0; i < 2; i++) {
        if (proc_file_load(AT_FDCWD, files[i], &text)) {
            procfs_parse_listeners(buffer_text(&text), text.length, port, &listeners);
        }
    }
    buffer_fini(&text);
    return listeners.count > 0;
}

/* /proc is not kept open: a descriptor is what a session may be short of. */
static void find_server(struct evidence *evidence)
{
    const struct limits_question *question = evidence->question;
    if (!is_server_here(question)) {
        return;
    }
    const int proc = proc_file_open_root();
    if (proc < 0) {
        return;
    }
    char note[200];
    const bool is_path = question->host != NULL && question->host[0] == '/';
    const bool is_seen = question->server_pid > 0
                             ? proc_file_process(proc, question->server_pid, &evidence->server)
                             : server_find(proc, question->port, is_path ? question->host : NULL,
                                           &evidence->server, note, sizeof note);
    if (!is_seen) {
        evidence->server.pid = 0;
    }
    evidence->was_listening = question->port > 0 && is_port_open(question->port);
    close(proc);
}

static void read_counters(const struct evidence *evidence, struct evidence_counters *counters)
{
    const struct evidence_places places = {
        .server_pid = evidence->server.pid,
        .is_remote = evidence->question->is_remote,
        .limits = &evidence->before,
    };
    evidence_counters_read(&places, counters);
}

struct evidence *evidence_begin(const struct limits_question *question)
{
    struct evidence *evidence = calloc(1, sizeof *evidence);
    if (evidence == NULL) {
        return NULL;
    }
    evidence->question = question;
    find_server(evidence);
    limits_read(question, &evidence->before);
    read_counters(evidence, &evidence->counters);
    return evidence;
}

void evidence_end(struct evidence *evidence)
{
    free(evidence);
}

void evidence_capture(struct evidence *evidence)
{
    limits_read(evidence->question, &evidence->shortage);
    evidence->is_captured = true;
}

/* The same number may be another process's by now. What cannot be read is not held to be gone. */
static bool is_server_there(const struct evidence *evidence)
{
    if (evidence->server.pid == 0) {
        return is_port_open(evidence->question->port);
    }
    const int proc = proc_file_open_root();
    if (proc < 0) {
        return true;
    }
    struct procfs_process now;
    const bool is_read = proc_file_process(proc, evidence->server.pid, &now);
    const int reason = errno;
    close(proc);
    if (!is_read) {
        return reason != ENOENT && reason != ESRCH;
    }
    return now.start_ticks == evidence->server.start_ticks && now.state != 'Z' && now.state != 'X';
}

bool evidence_lacks_settings(const struct result *result)
{
    for (size_t i = 0; i < result->causes.count; i++) {
        const struct cause *cause = &result->causes.entries[i];
        if (cause->phase == CAUSE_RECONNECT && evidence_classify(cause) == SHORTAGE_SETTING) {
            return true;
        }
    }
    return false;
}

void evidence_take_settings(struct evidence *evidence, const struct server_limits *server)
{
    evidence->server_after = server;
}

static bool has_lost_sessions(const struct result *result)
{
    for (size_t i = 0; i < result->causes.count; i++) {
        if (evidence_classify(&result->causes.entries[i]) == SHORTAGE_LOST) {
            return true;
        }
    }
    return false;
}

static bool is_server_gone(const struct evidence *evidence, const struct result *result)
{
    const bool was_seen = evidence->server.pid != 0 || evidence->was_listening;
    if (!was_seen || !has_lost_sessions(result)) {
        return false;
    }
    const int64_t limit_ns = mono_now_ns() + END_LIMIT_NS;
    bool is_there = is_server_there(evidence);
    while (is_there && mono_now_ns() < limit_ns) {
        mono_sleep(END_PAUSE_NS);
        is_there = is_server_there(evidence);
    }
    return !is_there;
}

void evidence_conclude(struct evidence *evidence, const struct result *result,
                       struct findings *findings)
{
    struct evidence_facts facts = {
        .before = &evidence->before,
        .shortage = evidence->is_captured ? &evidence->shortage : NULL,
        .server = evidence->question->server,
        .server_after = evidence->server_after,
        .is_server_here = is_server_here(evidence->question),
        .is_server_gone = is_server_gone(evidence, result),
        .server_pid = evidence->server.pid,
        .port = evidence->question->port,
    };
    memcpy(facts.server_name, evidence->server.name, sizeof facts.server_name);
    struct evidence_counters after;
    read_counters(evidence, &after);
    for (int i = 0; i < EVIDENCE_COUNTERS; i++) {
        facts.growth[i] = evidence_growth(&evidence->counters, &after, (enum evidence_counter)i);
    }
    evidence_name(&facts, result, findings);
}

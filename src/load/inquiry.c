#include "load/inquiry.h"

#include <stdatomic.h>
#include <string.h>

#include "base/address.h"
#include "base/interrupt.h"
#include "load/side_job.h"
#include "plan/target.h"

struct asking {
    struct inquiry *inquiry;
    const struct plan *plan;
    enum status status;
    struct error error;
};

enum exit_code inquiry_exit_code(const struct error *error)
{
    switch (error->kind) {
    case ERROR_MEMORY:
    case ERROR_SYSTEM:
        return EXIT_CODE_CLIENT_LIMIT;
    case ERROR_USAGE:
    case ERROR_UNSUPPORTED:
        return EXIT_CODE_USAGE;
    default:
        return EXIT_CODE_SERVER;
    }
}

struct look {
    const struct plan *plan;
    const struct adapter *other; /* that the server speaks the protocol of; NULL: not known */
};

/* Once in a program: a server may hold it against the client that it is asked in vain. */
static bool look_for_another(void *context)
{
    static atomic_flag was_asked = ATOMIC_FLAG_INIT;
    struct look *look = context;
    if (!atomic_flag_test_and_set(&was_asked)) {
        look->other = target_find_other(look->plan);
    }
    return look->other != NULL;
}

enum status inquiry_open(const struct plan *plan, const struct target *target,
                         struct adapter_conn **conn, struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    if (target->host == NULL || adapter->recognise == NULL) {
        return adapter->open(target, conn, error);
    }
    struct look look = {.plan = plan};
    struct target watched = *target;
    watched.is_another = look_for_another;
    watched.silence_context = &look;
    const enum status status = adapter->open(&watched, conn, error);
    const bool is_odd =
        status != STATUS_OK && (error->kind == ERROR_TIMEOUT || error->kind == ERROR_UNSUPPORTED);
    if (look.other == NULL && !(is_odd && look_for_another(&look))) {
        return status;
    }
    error_clear(error);
    error_set(error, ERROR_UNSUPPORTED, 0, NULL,
              "%.100s speaks the protocol of %s, not of %s: write %s%s%s", target->host,
              look.other->name, adapter->name, target->url == NULL ? "--adapter " : "",
              look.other->name, target->url == NULL ? "" : "://...");
    return STATUS_FATAL;
}

static void run_inquiry(struct side_job *job, void *context)
{
    struct asking *a = context;
    const struct adapter *adapter = a->plan->adapter;
    struct inquiry *inquiry = a->inquiry;
    struct adapter_conn *conn = NULL;
    struct target target = a->plan->target;
    target.makes_nothing = true;
    a->status = inquiry_open(a->plan, &target, &conn, &a->error);
    side_job_share(job, conn);
    if (a->status == STATUS_OK && adapter->inspect != NULL) {
        adapter->inspect(conn, &inquiry->connection);
    }
    if (a->status == STATUS_OK && adapter->server_limits != NULL) {
        a->status = adapter->server_limits(conn, &inquiry->server, &a->error);
    }
    side_job_share(job, NULL);
    adapter->close(conn);
    /* a container has an address of its own, which is none of this machine's */
    inquiry->is_remote = !inquiry->connection.is_embedded && a->plan->server_pid == 0 &&
                         a->plan->server_cgroup == NULL &&
                         !address_is_local(inquiry->connection.host);
}

enum exit_code inquiry_make(struct inquiry *inquiry, const struct plan *plan, struct error *error)
{
    memset(inquiry, 0, sizeof *inquiry);
    target_fill_connection(plan, &inquiry->connection);
    struct asking asking = {.inquiry = inquiry, .plan = plan};
    struct side_job job = {
        .adapter = plan->adapter,
        .run = run_inquiry,
        .context = &asking,
        .notice = plan->is_quiet ? NULL : "waiting for the server to tell its limits",
    };
    if (side_job_run(&job, error) != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    if (interrupt_requested()) {
        error_set(error, ERROR_SYSTEM, 0, NULL, "interrupted before the server had answered");
        return EXIT_CODE_INTERRUPTED;
    }
    if (asking.status != STATUS_OK) {
        memset(&inquiry->server, 0, sizeof inquiry->server);
        *error = asking.error;
        return inquiry_exit_code(error);
    }
    return EXIT_CODE_OK;
}

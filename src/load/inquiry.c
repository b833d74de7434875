#include "load/inquiry.h"

#include <string.h>

#include "base/address.h"
#include "base/interrupt.h"
#include "load/side_job.h"
#include "plan/target.h"

/* A server that is silent for so long is asked whether it is another one. */
enum {
    HASTY_S = 1
};

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

enum status inquiry_open(const struct plan *plan, const struct target *target,
                         struct adapter_conn **conn, struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    struct target hasty = *target;
    struct error failure;
    if (target->host == NULL || adapter->recognise == NULL) {
        return adapter->open(target, conn, error);
    }
    /* two servers can wait for each other's client to speak first */
    hasty.connect_timeout_s =
        target->connect_timeout_s < HASTY_S ? target->connect_timeout_s : HASTY_S;
    error_clear(&failure);
    const enum status status = adapter->open(&hasty, conn, &failure);
    if (status == STATUS_OK) {
        return status;
    }
    if (failure.kind == ERROR_TIMEOUT || failure.kind == ERROR_UNSUPPORTED) {
        const struct adapter *other = target_find_other(plan);
        if (other != NULL) {
            error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                      "%.100s speaks the protocol of %s, not of %s: write %s%s%s", target->host,
                      other->name, adapter->name, target->url == NULL ? "--adapter " : "",
                      other->name, target->url == NULL ? "" : "://...");
            return STATUS_FATAL;
        }
        if (failure.kind == ERROR_TIMEOUT && target->connect_timeout_s > HASTY_S) {
            return adapter->open(target, conn, error);
        }
    }
    *error = failure;
    return status;
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

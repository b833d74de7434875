#include "load/table_probe.h"

#include <errno.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "load/inquiry.h"
#include "load/side_job.h"

struct probing {
    const struct plan *plan;
    bool is_there;
    enum status status;
    struct error error;
};

static void run_probe(struct side_job *job, void *context)
{
    struct probing *p = context;
    const struct adapter *adapter = p->plan->adapter;
    struct adapter_conn *conn = NULL;
    p->status = inquiry_open(p->plan, &p->plan->target, &conn, &p->error);
    side_job_share(job, conn);
    if (p->status == STATUS_OK) {
        struct table table = {0};
        p->status = adapter->describe(conn, p->plan->table_name, &table, &p->error);
        p->is_there = p->status == STATUS_OK;
        if (p->status == STATUS_REJECTED && p->error.kind == ERROR_NOT_FOUND) {
            p->status = STATUS_OK;
        }
        table_fini(&table);
    }
    side_job_share(job, NULL);
    adapter->close(conn);
}

enum exit_code table_probe(const struct plan *plan, bool *is_there, struct error *error)
{
    *is_there = false;
    if ((plan->adapter->flags & ADAPTER_FILE) != 0 && access(plan->target.path, F_OK) != 0 &&
        errno == ENOENT) {
        return EXIT_CODE_OK;
    }
    struct probing probing = {.plan = plan};
    struct side_job job = {
        .adapter = plan->adapter,
        .run = run_probe,
        .context = &probing,
        .notice = plan->is_quiet ? NULL : "waiting for the server to tell about the table",
    };
    if (side_job_run(&job, error) != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    if (interrupt_requested()) {
        error_set(error, ERROR_SYSTEM, 0, NULL, "interrupted before the first run");
        return EXIT_CODE_INTERRUPTED;
    }
    if (probing.status != STATUS_OK) {
        *error = probing.error;
        return inquiry_exit_code(error);
    }
    *is_there = probing.is_there;
    return EXIT_CODE_OK;
}

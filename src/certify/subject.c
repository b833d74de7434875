#include "certify/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"

#define STEP_NS (2 * MONO_NS_PER_MS)

enum exit_code subject_choose(struct subject *subject, const struct fault_counts *faults,
                              const struct plan *plan, struct target *target, struct error *error)
{
    *subject = (struct subject){
        .kind = &subject_theirs, .plan = plan, .faults = *faults, .log = -1, .disk.image = -1};
    return plan->certify.server == NULL ? EXIT_CODE_OK : subject_choose_own(subject, target, error);
}

enum status subject_begin(struct subject *subject, struct writers *writers,
                          const struct plan_texts *options, struct error *error)
{
    char path[PLAN_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/server.log", subject->plan->out_folder);
    subject->writers = writers;
    subject->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (subject->log < 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "cannot write %.300s: %s", path,
                  strerror(errno));
    } else if (subject->kind->begin(subject, options, error) == STATUS_OK) {
        return STATUS_OK;
    }
    subject_end(subject);
    return STATUS_FATAL;
}

enum status subject_adopt_disk(struct subject *subject, const char *data_folder,
                               struct error *error)
{
    const char *named = subject->plan->data_directory;
    if (subject->kind->is_own || subject->faults.counts[FAULT_POWER] == 0) {
        return STATUS_OK;
    }
    return disk_adopt(&subject->disk, named == NULL ? data_folder : named, subject->pid, error);
}

enum status subject_order(struct subject *subject, enum server_order order, struct error *error)
{
    return subject->kind->order(subject, order, error);
}

static enum status cut_power(struct subject *subject, struct error *error)
{
    enum status status = disk_cut_power(&subject->disk, error);
    status = status == STATUS_OK ? subject_order(subject, SERVER_KILL, error) : status;
    return status == STATUS_OK ? disk_remount(&subject->disk, error) : status;
}

/* Stops the server for `stop_ns`, or until Ctrl-C, and then continues it. */
static enum status stop(struct subject *subject, int64_t stop_ns, struct error *error)
{
    if (subject_order(subject, SERVER_STOP, error) != STATUS_OK) {
        return STATUS_FATAL;
    }
    const int64_t until_ns = mono_now_ns() + stop_ns;
    while (mono_now_ns() < until_ns && !interrupt_requested()) {
        mono_sleep(STEP_NS);
    }
    return subject_order(subject, SERVER_CONTINUE, error);
}

enum status subject_break(struct subject *subject, const struct fault *fault, int64_t *at_ns,
                          struct error *error)
{
    struct account *account = subject->writers->account;
    if (subject_order(subject, SERVER_EXPECT, error) != STATUS_OK) {
        return STATUS_FATAL;
    }
    *at_ns = mono_now_ns();
    subject->is_down = fault->kind != FAULT_STOP && fault->kind != FAULT_NETWORK;
    if (subject->is_down && !subject->kind->is_own) {
        interrupt_hold("append: the server is started again first; then append ends\n");
    }
    switch (fault->kind) {
    case FAULT_KILL: /* answers that arrive after the kill were sent before it, so their rows must
                        be stored */
        return subject_order(subject, SERVER_KILL, error);
    case FAULT_POWER:
        atomic_store(&account->fault_ns, *at_ns);
        return cut_power(subject, error);
    case FAULT_STOP:
        return stop(subject, fault->stop_ns, error);
    case FAULT_RESTART:
        return subject_order(subject, SERVER_SHUT, error);
    case FAULT_NETWORK:
        atomic_fetch_add(&account->cuts_asked, 1);
        return STATUS_OK;
    case FAULT_KINDS:
        break;
    }
    return STATUS_FATAL;
}

void subject_end(struct subject *subject)
{
    subject->kind->end(subject);
    if (subject->log >= 0) {
        close(subject->log);
    }
    subject->log = -1;
    buffer_fini(&subject->session_sql);
}

void subject_fini(struct subject *subject)
{
    subject_end(subject);
    if (subject->kind->is_own) {
        rmdir(subject->folder);
    }
    free(subject->target);
}

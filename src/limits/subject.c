/* Processes: what is known of one, and how many tasks a user has. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "limits/reading.h"
#include "measure/proc_file.h"

enum {
    STATUS_BYTES = 4096,
    NAME_BYTES = 1024
};

/* Not getpwuid: a directory service may take long to answer. */
static void name_user(struct subject *subject)
{
    snprintf(subject->user, sizeof subject->user, "%lu", (unsigned long)subject->status.uid);
    FILE *file = fopen("/etc/passwd", "re");
    if (file == NULL) {
        return;
    }
    char bytes[NAME_BYTES];
    struct passwd entry;
    struct passwd *found = NULL;
    while (fgetpwent_r(file, &entry, bytes, sizeof bytes, &found) == 0) {
        if (found->pw_uid == subject->status.uid) {
            snprintf(subject->user, sizeof subject->user, "%s", found->pw_name);
            break;
        }
    }
    fclose(file);
}

static bool is_exempt(struct reading *reading, const struct subject *subject)
{
    const uint64_t mighty = UINT64_C(1) << CAPABILITY_ADMIN | UINT64_C(1) << CAPABILITY_RESOURCE;
    bool is_initial = false;
    if (!reading_load(reading, subject->pid, "uid_map") ||
        !limits_parse_uid_map(reading->text.bytes, reading->text.length, &is_initial)) {
        return false;
    }
    /* root of a user namespace is an ordinary user outside of it */
    return is_initial && (subject->status.uid == 0 || (subject->status.capabilities & mighty) != 0);
}

bool subject_read(struct reading *reading, struct subject *subject, pid_t pid)
{
    *subject = (struct subject){.side = subject->side, .pid = pid};
    if (!reading_load(reading, pid, "status") ||
        !limits_parse_status(reading->text.bytes, reading->text.length, &subject->status) ||
        !reading_load(reading, pid, "limits") ||
        !limits_parse_rlimits(reading->text.bytes, reading->text.length, &subject->rlimits)) {
        return false;
    }
    name_user(subject);
    subject->is_task_exempt = is_exempt(reading, subject);
    if (reading_load(reading, pid, "cgroup")) {
        const bool is_contained =
            access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
        remedy_find_place(&subject->place, buffer_text(&reading->text), is_contained);
    }
    return true;
}

static DIR *open_folder(const struct reading *reading, const char *path)
{
    const int file = openat(reading->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = file < 0 ? NULL : fdopendir(file);
    if (folder == NULL && file >= 0) {
        close(file);
    }
    return folder;
}

bool subject_count_files(const struct reading *reading, const struct subject *subject,
                         uint64_t limit, uint64_t *count)
{
    char path[64];
    snprintf(path, sizeof path, "%d/fd", (int)subject->pid);
    DIR *folder = open_folder(reading, path);
    if (folder == NULL) {
        return false;
    }
    const bool is_own = subject->pid == getpid();
    const struct dirent *entry;
    *count = 0;
    while ((entry = readdir(folder)) != NULL) {
        const long number = strtol(entry->d_name, NULL, 10);
        const bool looks = is_own && (number == dirfd(folder) || number == reading->proc);
        *count += entry->d_name[0] != '.' && !looks && (uint64_t)number < limit ? 1 : 0;
    }
    closedir(folder);
    return true;
}

static void count_process(struct reading *reading, pid_t pid)
{
    char path[64];
    char text[STATUS_BYTES];
    struct limits_status status;
    snprintf(path, sizeof path, "%d/status", (int)pid);
    const ssize_t length = proc_file_read(reading->proc, path, text, sizeof text);
    /* one that has ended meanwhile, or is hidden, as those of other users may be */
    if (length <= 0 || !limits_parse_status(text, (size_t)length, &status)) {
        return;
    }
    struct subject *const subjects[] = {&reading->client, &reading->server};
    for (size_t i = 0; i < 2; i++) {
        if (subjects[i]->pid != 0 && subjects[i]->status.uid == status.uid) {
            subjects[i]->user_tasks += status.threads;
        }
    }
    if (pid < RESERVED_PIDS) {
        reading->low_tasks++;
    }
}

void reading_count_tasks(struct reading *reading)
{
    DIR *folder = open_folder(reading, ".");
    if (folder == NULL) {
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0) {
            count_process(reading, pid);
        }
    }
    closedir(folder);
}

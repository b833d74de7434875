#include "limits/remedy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The last part of the path that ends in ".service" or ".scope", which limits belong to. */
static void find_unit(struct place *place, const char *cgroups)
{
    static const char service[] = ".service";
    const char *end = NULL;
    for (const char *at = cgroups; (at = strstr(at, service)) != NULL; at += sizeof service - 1) {
        const char next = at[sizeof service - 1];
        if (next == '\n' || next == '/' || next == '\0') {
            end = at + sizeof service - 1;
        }
    }
    if (end == NULL) {
        return;
    }
    const char *start = end;
    while (start > cgroups && start[-1] != '/' && start[-1] != '\n') {
        start--;
    }
    /* user@1000.service is the manager of a login */
    if ((size_t)(end - start) < sizeof place->unit && strncmp(start, "user@", 5) != 0) {
        snprintf(place->unit, sizeof place->unit, "%.*s", (int)(end - start), start);
        place->kind = PLACE_SERVICE;
    }
}

void remedy_find_place(struct place *place, const char *cgroups, bool is_contained)
{
    static const char *const marks[] = {"/docker", "/libpod", "/kubepods", "/containerd"};
    *place = (struct place){.kind = PLACE_LOGIN};
    find_unit(place, cgroups);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        /* docker.service is not in a container, /docker/ID and docker-ID.scope are */
        const char *at = strstr(cgroups, marks[i]);
        if (at != NULL && strncmp(at + strlen(marks[i]), ".service", 8) != 0) {
            is_contained = true;
        }
    }
    if (is_contained) {
        place->kind = PLACE_CONTAINER;
    }
}

/* `scaled`: as limits.conf counts. */
static void raise_login(char *fix, size_t size, const struct remedy_rlimit *rlimit, uint64_t scaled)
{
    const int used = snprintf(fix, size, "in /etc/security/limits.conf: %s - %s %" PRIu64,
                              rlimit->user, rlimit->item, scaled);
    if (used < 0 || (size_t)used >= size) {
        return;
    }
    if (rlimit->pid == 0) {
        snprintf(fix + used, size - (size_t)used,
                 ", then log in again; or: sudo prlimit --%s=%" PRIu64 " --pid $$", rlimit->item,
                 rlimit->value);
    } else {
        snprintf(fix + used, size - (size_t)used,
                 ", then start it from a new login; or as root: prlimit --%s=%" PRIu64 " --pid %d",
                 rlimit->item, rlimit->value, (int)rlimit->pid);
    }
}

void remedy_rlimit(char *fix, size_t size, const struct place *place,
                   const struct remedy_rlimit *rlimit)
{
    const struct {
        const char *item;
        const char *unit;   /* of systemd */
        const char *option; /* of ulimit */
        unsigned scale;     /* bytes in what limits.conf and ulimit count */
    } known[] = {{"nofile", "LimitNOFILE", "n", 1},
                 {"nproc", "LimitNPROC", "u", 1},
                 {"as", "LimitAS", "v", 1024}};
    size_t k = 0;
    while (k < 2 && strcmp(known[k].item, rlimit->item) != 0) {
        k++;
    }
    const uint64_t scaled = rlimit->value / known[k].scale;
    if (rlimit->value <= rlimit->hard) {
        snprintf(fix, size, "ulimit -S%s %" PRIu64, known[k].option, scaled);
        return;
    }
    if (place->kind == PLACE_CONTAINER && k == 2) {
        /* docker knows no such limit: somebody set it in the container */
        snprintf(fix, size, "as root of the machine: prlimit --as=%" PRIu64 " --pid PID",
                 rlimit->value);
        return;
    }
    switch (place->kind) {
    case PLACE_CONTAINER:
        snprintf(fix, size, "docker run --ulimit %s=%" PRIu64 ":%" PRIu64 " ...", rlimit->item,
                 rlimit->value, rlimit->value);
        break;
    case PLACE_SERVICE:
        snprintf(fix, size,
                 "systemctl edit %s: [Service] %s=%" PRIu64 ", then systemctl restart %s",
                 place->unit, known[k].unit, rlimit->value, place->unit);
        break;
    case PLACE_LOGIN:
        raise_login(fix, size, rlimit, scaled);
        break;
    }
}

void remedy_sysctl(char *fix, size_t size, const char *name, uint64_t value)
{
    snprintf(fix, size, "sysctl -w %s=%" PRIu64, name, value);
}

/* The last folder of the path, when it is a unit's: its name, and its length or 0. */
static int find_unit_of(const char *file, const char **unit)
{
    static const char *const kinds[] = {".service", ".scope", ".slice"};
    const char *end = strrchr(file, '/');
    *unit = end;
    while (end != NULL && *unit > file && (*unit)[-1] != '/') {
        --*unit;
    }
    const size_t length = end == NULL ? 0 : (size_t)(end - *unit);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t kind = strlen(kinds[i]);
        if (length > kind && memcmp(end - kind, kinds[i], kind) == 0) {
            return (int)length;
        }
    }
    return 0;
}

void remedy_cgroup(char *fix, size_t size, const struct place *place,
                   const struct remedy_cgroup *cgroup)
{
    const char *unit;
    const int length = find_unit_of(cgroup->file, &unit);
    if (place->kind == PLACE_CONTAINER && cgroup->is_memory) {
        /* alone it is refused when it is above the old limit of memory and swap */
        snprintf(fix, size,
                 "docker update --memory %" PRIu64 " --memory-swap %" PRIu64 " CONTAINER",
                 cgroup->value, cgroup->value);
    } else if (place->kind == PLACE_CONTAINER) {
        snprintf(fix, size, "docker update --pids-limit %" PRIu64 " CONTAINER", cgroup->value);
    } else if (length > 0) {
        /* below user@1000.service the manager is the user's own */
        const char *manager = strstr(cgroup->file, "/user@");
        snprintf(fix, size, "systemctl %sset-property %.*s %s=%" PRIu64,
                 manager != NULL && manager + 1 < unit ? "--user " : "", length, unit,
                 cgroup->is_memory ? "MemoryMax" : "TasksMax", cgroup->value);
    } else {
        snprintf(fix, size, "echo %" PRIu64 " > %s", cgroup->value, cgroup->file);
    }
}

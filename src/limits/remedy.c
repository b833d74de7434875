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
        snprintf(fix, size,
                 "in /etc/security/limits.conf: %s - %s %" PRIu64
                 ", then log in again; or as root: prlimit --%s=%" PRIu64 " --pid PID",
                 rlimit->user, rlimit->item, scaled, rlimit->item, rlimit->value);
        break;
    }
}

void remedy_sysctl(char *fix, size_t size, const char *name, uint64_t value)
{
    snprintf(fix, size, "sysctl -w %s=%" PRIu64, name, value);
}

void remedy_cgroup(char *fix, size_t size, const struct place *place,
                   const struct remedy_cgroup *cgroup)
{
    switch (place->kind) {
    case PLACE_CONTAINER:
        snprintf(fix, size, "docker update %s %" PRIu64 " CONTAINER",
                 cgroup->is_memory ? "--memory" : "--pids-limit", cgroup->value);
        break;
    case PLACE_SERVICE:
        snprintf(fix, size, "systemctl set-property %s %s=%" PRIu64, place->unit,
                 cgroup->is_memory ? "MemoryMax" : "TasksMax", cgroup->value);
        break;
    case PLACE_LOGIN:
        snprintf(fix, size, "echo %" PRIu64 " > %s", cgroup->value, cgroup->file);
        break;
    }
}

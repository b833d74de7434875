#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits/limits.h"

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
    place->kind = PLACE_LOGIN;
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

void remedy_rlimit(char fix[LIMIT_FIX_BYTES], const struct place *place, enum remedy remedy,
                   uint64_t value, uint64_t hard)
{
    static const struct {
        const char *item;   /* of limits.conf, docker and prlimit */
        const char *unit;   /* of systemd */
        const char *option; /* of ulimit */
        unsigned scale;     /* bytes in what limits.conf and ulimit count */
    } names[] = {[REMEDY_FILES] = {"nofile", "LimitNOFILE", "n", 1},
                 [REMEDY_TASKS] = {"nproc", "LimitNPROC", "u", 1},
                 [REMEDY_ADDRESS_SPACE] = {"as", "LimitAS", "v", 1024}};
    const char *item = names[remedy].item;
    const uint64_t scaled = value / names[remedy].scale;
    if (value <= hard) {
        snprintf(fix, LIMIT_FIX_BYTES, "ulimit -S%s %" PRIu64, names[remedy].option, scaled);
    } else if (place->kind == PLACE_SERVICE) {
        snprintf(fix, LIMIT_FIX_BYTES,
                 "systemctl edit %s: [Service] %s=%" PRIu64 ", then systemctl restart %s",
                 place->unit, names[remedy].unit, value, place->unit);
    } else if (place->kind == PLACE_CONTAINER && remedy == REMEDY_ADDRESS_SPACE) {
        /* docker knows no such limit: somebody set it in the container */
        snprintf(fix, LIMIT_FIX_BYTES, "as root of the machine: prlimit --as=%" PRIu64 " --pid PID",
                 value);
    } else if (place->kind == PLACE_CONTAINER) {
        snprintf(fix, LIMIT_FIX_BYTES, "docker run --ulimit %s=%" PRIu64 ":%" PRIu64 " ...", item,
                 value, value);
    } else if (place->pid == 0) {
        snprintf(fix, LIMIT_FIX_BYTES,
                 "in /etc/security/limits.conf: %s - %s %" PRIu64
                 ", then log in again; or: sudo prlimit --%s=%" PRIu64 " --pid $$",
                 place->user, item, scaled, item, value);
    } else {
        snprintf(fix, LIMIT_FIX_BYTES,
                 "in /etc/security/limits.conf: %s - %s %" PRIu64
                 ", then start it from a new login; or as root: prlimit --%s=%" PRIu64 " --pid %d",
                 place->user, item, scaled, item, value, (int)place->pid);
    }
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

void remedy_cgroup(char fix[LIMIT_FIX_BYTES], const struct place *place, const char *file,
                   bool is_memory, uint64_t value)
{
    const char *unit;
    const int length = find_unit_of(file, &unit);
    if (place->kind == PLACE_CONTAINER && is_memory) {
        /* alone it is refused when it is above the old limit of memory and swap */
        snprintf(fix, LIMIT_FIX_BYTES,
                 "docker update --memory %" PRIu64 " --memory-swap %" PRIu64 " CONTAINER", value,
                 value);
    } else if (place->kind == PLACE_CONTAINER) {
        snprintf(fix, LIMIT_FIX_BYTES, "docker update --pids-limit %" PRIu64 " CONTAINER", value);
    } else if (length > 0) {
        /* below user@1000.service the manager is the user's own */
        const char *manager = strstr(file, "/user@");
        snprintf(fix, LIMIT_FIX_BYTES, "systemctl %sset-property %.*s %s=%" PRIu64,
                 manager != NULL && manager + 1 < unit ? "--user " : "", length, unit,
                 is_memory ? "MemoryMax" : "TasksMax", value);
    } else {
        snprintf(fix, LIMIT_FIX_BYTES, "echo %" PRIu64 " > %s", value, file);
    }
}

/* What `N` or `N+3` at the beginning of the text stands for; 0 bytes: it is another word. */
static size_t take_number(const char *text, uint64_t sessions, uint64_t *number)
{
    char *end = NULL;
    *number = sessions;
    if (text[0] != 'N') {
        return 0;
    }
    const char *rest = text + 1;
    if (rest[0] == '+') {
        *number += strtoull(rest + 1, &end, 10);
        rest = end;
    }
    return *rest == '\0' || strchr(" ;,", *rest) != NULL ? (size_t)(rest - text) : 0;
}

void remedy_setting(char fix[LIMIT_FIX_BYTES], const char *text, uint64_t sessions)
{
    char quote = '\0'; /* names may have a word N of their own */
    size_t used = 0;
    fix[0] = '\0';
    for (bool is_word = false; *text != '\0' && used + 1 < LIMIT_FIX_BYTES;
         is_word = *text++ == ' ') {
        uint64_t number;
        const size_t length = is_word && quote == '\0' ? take_number(text, sessions, &number) : 0;
        if (length > 0) {
            used += (size_t)snprintf(fix + used, LIMIT_FIX_BYTES - used, "%" PRIu64, number);
            text += length - 1;
            continue;
        }
        if (quote == '\0' && strchr("'\"`", *text) != NULL) {
            quote = *text;
        } else if (*text == quote) {
            quote = '\0';
        }
        fix[used++] = *text;
        fix[used] = '\0';
    }
}

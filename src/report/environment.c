#include "report/environment.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

static uint64_t configured(int name)
{
    const long value = sysconf(name);
    return value > 0 ? (uint64_t)value : 0;
}

static uint64_t count_usable_cpus(uint64_t online)
{
    cpu_set_t set;
    /* Machines with more CPUs than cpu_set_t holds: the call fails, and all are taken as usable. */
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return online;
    }
    return (uint64_t)CPU_COUNT(&set);
}

static void read_cpu_model(char *model, size_t size)
{
    FILE *stream = fopen("/proc/cpuinfo", "re");
    if (stream == NULL) {
        return;
    }
    char line[512];
    while (fgets(line, sizeof line, stream) != NULL) {
        if (strncmp(line, "model name", strlen("model name")) != 0) {
            continue;
        }
        const char *colon = strchr(line, ':');
        if (colon != NULL) {
            colon += strspn(colon, ": \t");
            snprintf(model, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        }
        break;
    }
    fclose(stream);
}

static struct environment_limit read_limit(__rlimit_resource_t resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) {
        return (struct environment_limit){0, 0};
    }
    return (struct environment_limit){
        .soft = limit.rlim_cur == RLIM_INFINITY ? ENVIRONMENT_UNLIMITED : limit.rlim_cur,
        .hard = limit.rlim_max == RLIM_INFINITY ? ENVIRONMENT_UNLIMITED : limit.rlim_max,
    };
}

void environment_read(struct environment *environment, const struct adapter *adapter)
{
    *environment = (struct environment){0};
    struct utsname names;
    if (uname(&names) == 0) {
        snprintf(environment->host, sizeof environment->host, "%s", names.nodename);
        snprintf(environment->kernel, sizeof environment->kernel, "%s %s %s", names.sysname,
                 names.release, names.machine);
    }
    read_cpu_model(environment->cpu_model, sizeof environment->cpu_model);
    environment->cpus = configured(_SC_NPROCESSORS_ONLN);
    environment->cpus_usable = count_usable_cpus(environment->cpus);
    environment->memory_bytes = configured(_SC_PHYS_PAGES) * configured(_SC_PAGESIZE);
    environment->open_files = read_limit(RLIMIT_NOFILE);
    environment->processes = read_limit(RLIMIT_NPROC);
    if (adapter != NULL && adapter->client_version != NULL) {
        adapter->client_version(environment->client_version, sizeof environment->client_version);
    }
}

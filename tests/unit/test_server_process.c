/* Tests the measuring of a server's processes: the "server", which is forked here, listens, shares
 * memory, and has children with private memory. */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/text.h"
#include "measure/server_find.h"
#include "measure/server_process.h"

enum {
    CHILDREN = 3,
    MIB = 1024 * 1024,
    SHARED_BYTES = 16 * MIB,
    PRIVATE_BYTES = 8 * MIB
};
#define INTERVAL_NS (60 * MONO_NS_PER_S)
#define BURN_NS (200 * MONO_NS_PER_MS)

struct server {
    pid_t pid;
    uint16_t port;
    pid_t children[CHILDREN];
    int commands; /* pipe of commands; each byte is a command */
    int answers;
};

/* What the server sends when it is ready. */
struct greeting {
    uint16_t port;
    pid_t children[CHILDREN];
};

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * MONO_NS_PER_S + now.tv_nsec;
}

static void burn_cpu(void)
{
    const int64_t start_ns = cpu_ns();
    while (cpu_ns() - start_ns < BURN_NS) {
    }
}

static void *touch(size_t bytes, int flags)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
    if (memory == MAP_FAILED) {
        _exit(1);
    }
    memset(memory, 7, bytes);
    return memory;
}

/* Starts a child that also uses the server's shared memory, if that is not NULL. */
static pid_t fork_child(void *shared)
{
    int ready[2];
    if (pipe(ready) != 0) {
        _exit(1);
    }
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        touch(PRIVATE_BYTES, MAP_PRIVATE);
        if (shared != NULL) {
            memset(shared, 8, SHARED_BYTES);
        }
        (void)!write(ready[1], "r", 1);
        for (;;) {
            pause();
        }
    }
    char byte;
    (void)!read(ready[0], &byte, 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

/* Binds the socket. Waits for the port while children of a server that was just killed still hold
 * it. */
static bool bind_patiently(int file, const struct sockaddr_in *address)
{
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        if (bind(file, (const struct sockaddr *)address, sizeof(*address)) == 0) {
            return true;
        }
        usleep(10000);
    }
    return false;
}

static void listen_on(uint16_t *port)
{
    const int on = 1;
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(*port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t length = sizeof(address);
    if (setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        !bind_patiently(file, &address) || listen(file, 5) != 0 ||
        getsockname(file, (struct sockaddr *)&address, &length) != 0) {
        _exit(1);
    }
    *port = ntohs(address.sin_port);
}

/* Serves the commands 'b' (burns CPU time), 'c' (lets a short-lived child burn CPU time) and 'k'
 * (ends a child). */
static void serve(const char *name, uint16_t port, int commands, int answers)
{
    struct greeting greeting = {.port = port};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (name != NULL) {
        prctl(PR_SET_NAME, name);
    }
    listen_on(&greeting.port);
    void *const shared = touch(SHARED_BYTES, MAP_SHARED);
    touch(PRIVATE_BYTES, MAP_PRIVATE);
    for (size_t i = 0; i < CHILDREN; i++) {
        greeting.children[i] = fork_child(shared);
    }
    (void)!write(answers, &greeting, sizeof(greeting));
    char command;
    while (read(commands, &command, 1) == 1) {
        if (command == 'b') {
            burn_cpu();
        } else if (command == 'c') {
            const pid_t pid = fork();
            if (pid == 0) {
                burn_cpu();
                _exit(0);
            }
            waitpid(pid, NULL, 0);
        } else {
            kill(greeting.children[0], SIGKILL);
            waitpid(greeting.children[0], NULL, 0);
        }
        (void)!write(answers, &command, 1);
    }
    _exit(0);
}

static void start_server(struct server *server, const char *name, uint16_t port)
{
    int commands[2];
    int answers[2];
    assert_int_equal(pipe(commands), 0);
    assert_int_equal(pipe(answers), 0);
    fflush(NULL);
    server->pid = fork();
    assert_true(server->pid >= 0);
    if (server->pid == 0) {
        close(commands[1]);
        close(answers[0]);
        serve(name, port, commands[0], answers[1]);
    }
    close(commands[0]);
    close(answers[1]);
    server->commands = commands[1];
    server->answers = answers[0];
    struct greeting greeting;
    assert_int_equal(read(server->answers, &greeting, sizeof(greeting)), sizeof(greeting));
    server->port = greeting.port;
    memcpy(server->children, greeting.children, sizeof(server->children));
}

static void command(const struct server *server, char letter)
{
    assert_int_equal(write(server->commands, &letter, 1), 1);
    char answer;
    assert_int_equal(read(server->answers, &answer, 1), 1);
}

static void kill_server(const struct server *server)
{
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    close(server->commands);
    close(server->answers);
}

static int64_t pss_bytes_of(pid_t pid)
{
    char path[64];
    char line[256];
    long long kib = 0;
    snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        long long pss;
        if (sscanf(line, "Pss: %lld kB", &pss) == 1) {
            kib += pss;
        }
    }
    fclose(file);
    return kib * 1024;
}

static struct server_process *look(const struct server_selector *selector)
{
    struct server_process *process = server_process_create(selector);
    assert_non_null(process);
    return process;
}

static void check_note(const struct server_process *process, const char *expected)
{
    struct resource_summary description;
    server_process_describe(process, &description);
    if (strstr(description.server_note, expected) == NULL) {
        fail_msg("\"%s\" is not in the note \"%s\"", expected, description.server_note);
    }
}

/* Checks that the reading has the memory of the server and of its children from `first` on. */
static void check_memory(const struct server *server, size_t first,
                         const struct server_reading *reading)
{
    int64_t expected = pss_bytes_of(server->pid);
    for (size_t i = first; i < CHILDREN; i++) {
        expected += pss_bytes_of(server->children[i]);
    }
    assert_true(reading->memory_bytes > expected - expected / 20);
    assert_true(reading->memory_bytes < expected + expected / 20);
}

static void check_tree(const struct server *server, const struct server_selector *selector)
{
    struct server_process *process = look(selector);
    struct server_reading reading;
    server_process_read(process, INTERVAL_NS, &reading);
    assert_int_equal(reading.processes, CHILDREN + 1);
    assert_true(reading.threads >= CHILDREN + 1); /* sanitizers add threads */
    assert_true(reading.cpu_ns >= 0);
    check_memory(server, 0, &reading);
    assert_true(reading.memory_bytes >= SHARED_BYTES + CHILDREN * PRIVATE_BYTES);
    struct resource_summary description;
    server_process_describe(process, &description);
    assert_int_equal(description.memory_source, MEMORY_PSS);
    assert_int_equal(description.server_pid, server->pid);
    assert_string_equal(description.server_name, "a (server)");
    assert_string_equal(description.server_note, "");
    server_process_destroy(process);
}

static int set_up(void **state);
static int tear_down(void **state);

/* Two servers are measured together. A server that listens at two places counts once, and a missing
 * server is named. */
TEST_BETWEEN(several_servers_are_added_up, set_up, tear_down)
{
    const struct server *server = *state;
    const struct server_place twice[] = {{.port = server->port}, {.port = server->port}};
    check_tree(server, &(struct server_selector){.places = twice, .place_count = 1});
    struct server_process *process =
        look(&(struct server_selector){.places = twice, .place_count = 2});
    struct server_reading one;
    struct resource_summary description;
    server_process_read(process, INTERVAL_NS, &one);
    server_process_describe(process, &description);
    assert_int_equal(one.processes, CHILDREN + 1);
    assert_int_equal(description.servers, 1);
    assert_int_equal(description.hosts_measured, 2);
    server_process_destroy(process);

    struct server_place places[] = {{.port = 1}, {.port = server->port}};
    process = look(&(struct server_selector){.places = places, .place_count = 2});
    server_process_read(process, INTERVAL_NS, &one);
    server_process_describe(process, &description);
    assert_int_equal(one.processes, CHILDREN + 1);
    assert_int_equal(description.servers, 1);
    assert_int_equal(description.hosts_measured, 1);
    assert_int_equal(description.server_pid, server->pid);
    check_note(process, "1 of 2 servers not found: nothing on this machine listens on");
    server_process_destroy(process);
}

TEST_BETWEEN(a_port_leads_to_the_tree, set_up, tear_down)
{
    const struct server *server = *state;
    check_tree(server, &(struct server_selector){.port = server->port});
}

TEST_BETWEEN(a_pid_leads_to_the_tree, set_up, tear_down)
{
    const struct server *server = *state;
    check_tree(server, &(struct server_selector){.pid = server->pid, .is_remote = true});
}

/* Adds the private part of a process's resident memory to *private, and raises *shared to the
 * shared part. */
static void add_resident(pid_t pid, int64_t *private, int64_t *shared)
{
    const int64_t page = sysconf(_SC_PAGESIZE);
    char path[64];
    long long size, resident, common;
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lld %lld %lld", &size, &resident, &common), 3);
    fclose(file);
    *private += (resident - common) * page;
    *shared = common * page > *shared ? common * page : *shared;
}

/* Without privileges the PSS of another user's processes is unreadable. */
TEST_BETWEEN(resident_memory_replaces_pss, set_up, tear_down)
{
    const struct server *server = *state;
    if (geteuid() != 0) {
        skip();
    }
    int64_t private = 0, shared = 0;
    struct server_reading reading;
    struct resource_summary description;
    assert_int_equal(seteuid(65534), 0);
    struct server_process *process = look(&(struct server_selector){.pid = server->pid});
    server_process_read(process, INTERVAL_NS, &reading);
    assert_int_equal(seteuid(0), 0);
    prctl(PR_SET_DUMPABLE, 1); /* the change of user has cleared this flag, which sanitizers need */
    add_resident(server->pid, &private, &shared);
    for (size_t i = 0; i < CHILDREN; i++) {
        add_resident(server->children[i], &private, &shared);
    }
    const int64_t expected = private + shared;
    assert_true(shared >= SHARED_BYTES && private >= (CHILDREN + 1) * PRIVATE_BYTES);
    assert_true(reading.memory_bytes > expected - expected / 20);
    assert_true(reading.memory_bytes < expected + expected / 20);
    server_process_describe(process, &description);
    assert_int_equal(description.memory_source, MEMORY_RSS);
    assert_true(description.server_note[0] != '\0');
    server_process_destroy(process);
}

TEST_BETWEEN(cpu_time_of_server_and_children_is_counted, set_up, tear_down)
{
    const struct server *server = *state;
    struct server_process *process = look(&(struct server_selector){.pid = server->pid});
    struct server_reading before;
    struct server_reading after;
    server_process_read(process, INTERVAL_NS, &before);
    /* the time of reaped children is shown in ticks of 10 ms */
    const int64_t least_ns = BURN_NS - 20 * MONO_NS_PER_MS;
    command(server, 'b');
    server_process_read(process, INTERVAL_NS, &after);
    assert_true(after.cpu_ns - before.cpu_ns >= least_ns);
    before = after;
    command(server, 'c');
    server_process_read(process, INTERVAL_NS, &after);
    assert_true(after.cpu_ns - before.cpu_ns >= least_ns);
    before = after;
    command(server, 'k');
    for (unsigned i = 0; i < 4; i++) {
        server_process_read(process, INTERVAL_NS, &after);
        assert_true(after.cpu_ns >= before.cpu_ns);
        assert_true(after.cpu_ns - before.cpu_ns < BURN_NS / 2);
        assert_int_equal(after.processes, CHILDREN);
    }
    server_process_destroy(process);
}

static bool is_zombie(pid_t pid)
{
    char path[64];
    char line[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    const char *name_end = strrchr(line, ')');
    return name_end != NULL && name_end[2] == 'Z';
}

/* A child that has ended has no memory, before and after its parent has waited for it. */
TEST_BETWEEN(a_child_that_has_ended_has_no_memory, set_up, tear_down)
{
    const struct server *server = *state;
    struct server_process *process = look(&(struct server_selector){.pid = server->pid});
    struct server_reading reading;
    server_process_read(process, INTERVAL_NS, &reading);
    check_memory(server, 0, &reading);
    kill(server->children[0], SIGKILL);
    while (!is_zombie(server->children[0])) {
        usleep(1000);
    }
    server_process_read(process, INTERVAL_NS, &reading);
    check_memory(server, 1, &reading);
    command(server, 'k');
    for (unsigned i = 0; i < 4; i++) {
        server_process_read(process, INTERVAL_NS, &reading);
        check_memory(server, 1, &reading);
    }
    server_process_destroy(process);
}

TEST_BETWEEN(a_server_that_ends_becomes_unknown, set_up, tear_down)
{
    const struct server *server = *state;
    struct server_process *process = look(&(struct server_selector){.pid = server->pid});
    struct server_reading reading;
    server_process_read(process, INTERVAL_NS, &reading);
    assert_true(reading.has_io);
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    for (unsigned i = 0; i < 2; i++) {
        server_process_read(process, INTERVAL_NS, &reading);
        assert_true(reading.cpu_ns < 0);
        assert_true(reading.memory_bytes < 0);
        assert_false(reading.has_io);
        assert_int_equal(reading.processes, 0);
    }
    check_note(process, "ended");
    server_process_destroy(process);
}

TEST_BETWEEN(a_server_that_restarts_is_found_again, set_up, tear_down)
{
    struct server *server = *state;
    const uint16_t port = server->port;
    struct server_process *process = look(&(struct server_selector){.port = port});
    struct server_reading before;
    struct server_reading after;
    command(server, 'b');
    server_process_read(process, INTERVAL_NS, &before);
    assert_true(before.cpu_ns >= 0);
    kill_server(server);
    server_process_read(process, INTERVAL_NS, &after);
    assert_true(after.cpu_ns < 0);
    start_server(server, "again", port);
    server_process_read(process, INTERVAL_NS, &after);
    assert_true(after.cpu_ns >= before.cpu_ns);
    assert_int_equal(after.processes, CHILDREN + 1);
    assert_true(after.memory_bytes > 0);
    check_note(process, "restarted");
    server_process_destroy(process);
}

TEST_BETWEEN(a_forwarder_is_not_the_database, set_up, tear_down)
{
    struct server server;
    static const char *const names[] = {"docker-proxy", "rootlesskit", "pasta.avx2", "conmon"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        start_server(&server, names[i], 0);
        struct server_process *process = look(&(struct server_selector){.port = server.port});
        check_note(process, names[i]);
        check_note(process, "--container NAME");
        kill_server(&server);
        server_process_destroy(process);
    }
}

static void check_unknown(const struct server_selector *selector, const char *note)
{
    struct server_process *process = look(selector);
    struct server_reading reading;
    struct resource_summary description;
    server_process_read(process, INTERVAL_NS, &reading);
    server_process_describe(process, &description);
    assert_true(reading.cpu_ns < 0);
    assert_true(reading.memory_bytes < 0);
    assert_int_equal(reading.processes, 0);
    assert_int_equal(description.memory_source, MEMORY_UNKNOWN);
    assert_int_equal(description.server_pid, 0);
    check_note(process, note);
    server_process_destroy(process);
}

TEST_BETWEEN(what_cannot_be_found_is_explained, set_up, tear_down)
{
    const struct server *server = *state;
    check_unknown(&(struct server_selector){0}, "give --server-pid or --server-cgroup");
    check_unknown(&(struct server_selector){.is_remote = true, .port = server->port},
                  "the server is not on this machine");
    check_unknown(&(struct server_selector){.pid = 0x3ffffffe},
                  "process 1073741822 does not exist");
    check_unknown(&(struct server_selector){.cgroup = "/nowhere/at/all"}, "--server-cgroup");
    check_unknown(&(struct server_selector){.cgroup = "no/such/group"}, "--server-cgroup");
    check_unknown(&(struct server_selector){.cgroup = "/"}, "no readable memory.stat");
    /* this program takes the port, so that no other program can listen on it */
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(file, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(file, (struct sockaddr *)&address, &length), 0);
    check_unknown(&(struct server_selector){.port = ntohs(address.sin_port)}, "nothing on this");
    /* only this program listens on the port, and append does not measure itself as the server */
    assert_int_equal(listen(file, 1), 0);
    check_unknown(&(struct server_selector){.port = ntohs(address.sin_port)}, "--server-pid");
    close(file);
}

TEST_BETWEEN(an_embedded_database_is_this_program, set_up, tear_down)
{
    struct server_process *process = look(&(struct server_selector){.is_embedded = true});
    struct server_reading before;
    struct server_reading after;
    server_process_read(process, INTERVAL_NS, &before);
    void *memory =
        mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, SHARED_BYTES);
    server_process_read(process, INTERVAL_NS, &after);
    munmap(memory, SHARED_BYTES);
    assert_true(after.memory_bytes - before.memory_bytes >= SHARED_BYTES - MIB);
    assert_true(after.cpu_ns < 0);
    struct resource_summary description;
    server_process_describe(process, &description);
    assert_int_equal(description.memory_source, MEMORY_SELF);
    server_process_destroy(process);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void remove_file(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(remove(path), 0);
}

/* A folder imitates a cgroup with another cgroup below it. Both are read. */
TEST_BETWEEN(a_cgroup_is_read_with_those_below, set_up, tear_down)
{
    const struct server *server = *state;
    char folder[] = "/tmp/append-cgroup-XXXXXX";
    char below[sizeof(folder) + 8];
    char pids[64];
    assert_non_null(mkdtemp(folder));
    snprintf(below, sizeof(below), "%s/below", folder);
    assert_int_equal(mkdir(below, 0700), 0);
    write_file(folder, "memory.stat", "anon 1000\nfile 5\nshmem 200\n");
    write_file(folder, "cpu.stat", "usage_usec 1500000\n");
    snprintf(pids, sizeof(pids), "%d\n%d\n", (int)server->pid, (int)server->children[0]);
    write_file(folder, "cgroup.procs", pids);
    snprintf(pids, sizeof(pids), "%d\n", (int)server->children[1]);
    write_file(below, "cgroup.procs", pids);
    struct server_process *process = look(&(struct server_selector){.cgroup = folder});
    struct server_reading reading;
    server_process_read(process, INTERVAL_NS, &reading);
    assert_int_equal(reading.memory_bytes, 1200);
    assert_int_equal(reading.cpu_ns, 1500 * MONO_NS_PER_MS);
    assert_int_equal(reading.processes, 3);
    struct resource_summary description;
    server_process_describe(process, &description);
    assert_int_equal(description.memory_source, MEMORY_CGROUP);
    assert_int_equal(description.server_pid, server->pid);
    /* cgroups of version 1 have other names; their CPU time is read from the processes */
    write_file(folder, "memory.stat", "rss 1\nshmem 2\ntotal_rss 3000\ntotal_shmem 40\n");
    remove_file(folder, "cpu.stat");
    server_process_read(process, INTERVAL_NS, &reading);
    assert_int_equal(reading.memory_bytes, 3040);
    assert_true(reading.cpu_ns >= 1500 * MONO_NS_PER_MS);
    remove_file(folder, "memory.stat");
    server_process_read(process, INTERVAL_NS, &reading);
    assert_true(reading.memory_bytes < 0);
    server_process_destroy(process);
    remove_file(below, "cgroup.procs");
    remove_file(folder, "cgroup.procs");
    rmdir(below);
    rmdir(folder);
}

/* The oldest process gives the cgroup its number and name. */
TEST_BETWEEN(a_cgroup_is_named_after_its_oldest_process, set_up, tear_down)
{
    const struct server *server = *state;
    char folder[] = "/tmp/append-cgroup-XXXXXX";
    char pids[64];
    usleep(50000); /* processes of the same tick are equally old */
    const pid_t young = fork_child(NULL);
    assert_true(young > 0);
    assert_non_null(mkdtemp(folder));
    snprintf(pids, sizeof(pids), "%d\n%d\n", (int)young, (int)server->pid);
    write_file(folder, "cgroup.procs", pids);
    write_file(folder, "memory.stat", "anon 1000\nfile 5\nshmem 200\n");
    struct server_process *process = look(&(struct server_selector){.cgroup = folder});
    struct server_reading reading;
    struct resource_summary description;
    server_process_read(process, INTERVAL_NS, &reading);
    server_process_describe(process, &description);
    assert_int_equal(reading.processes, 2);
    assert_int_equal(description.server_pid, server->pid);
    assert_string_equal(description.server_name, "a (server)");
    server_process_destroy(process);
    assert_int_equal(kill(young, SIGKILL), 0);
    assert_int_equal(waitpid(young, NULL, 0), young);
    remove_file(folder, "memory.stat");
    remove_file(folder, "cgroup.procs");
    rmdir(folder);
}

/* A restarted container has a new cgroup of the same name, whose counts begin at 0. */
TEST_BETWEEN(a_cgroup_that_is_made_again, set_up, tear_down)
{
    struct server *server = *state;
    char folder[] = "/tmp/append-cgroup-XXXXXX";
    char away[sizeof(folder) + 8];
    char pids[64];
    assert_non_null(mkdtemp(folder));
    snprintf(away, sizeof(away), "%s-before", folder);
    write_file(folder, "memory.stat", "anon 1000\nfile 5\nshmem 200\n");
    write_file(folder, "cpu.stat", "usage_usec 1500000\n");
    snprintf(pids, sizeof(pids), "%d\n", (int)server->pid);
    write_file(folder, "cgroup.procs", pids);
    struct server_process *process = look(&(struct server_selector){
        .cgroup = folder, .pid = server->pid}); /* the container's first process */
    struct server_reading reading;
    server_process_read(process, INTERVAL_NS, &reading);
    assert_int_equal(reading.cpu_ns, 1500 * MONO_NS_PER_MS);
    assert_int_equal(rename(folder, away), 0);
    server_process_read(process, INTERVAL_NS, &reading);
    assert_true(reading.memory_bytes < 0);
    assert_true(reading.cpu_ns < 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    write_file(folder, "memory.stat", "anon 3000\nfile 5\nshmem 0\n");
    write_file(folder, "cpu.stat", "usage_usec 20000\n");
    snprintf(pids, sizeof(pids), "%d\n", (int)server->children[1]);
    write_file(folder, "cgroup.procs", pids);
    server_process_read(process, INTERVAL_NS, &reading);
    assert_int_equal(reading.memory_bytes, 3000);
    assert_int_equal(reading.cpu_ns, 1520 * MONO_NS_PER_MS);
    assert_int_equal(reading.processes, 1);
    assert_int_equal(server_process_restarts(process), 1);
    assert_int_equal(server_process_pid(process), server->children[1]);
    struct resource_summary description;
    server_process_describe(process, &description);
    assert_non_null(strstr(description.server_note, "restarted"));
    server_process_destroy(process);
    for (size_t i = 0; i < 2; i++) {
        const char *const made = i == 0 ? folder : away;
        remove_file(made, "memory.stat");
        remove_file(made, "cpu.stat");
        remove_file(made, "cgroup.procs");
        rmdir(made);
    }
}

/* If /proc has no list of sockets, it is unknown whether any program listens. */
TEST(without_proc_listeners_are_unknown)
{
    char folder[] = "/tmp/append-proc-XXXXXX";
    char net[sizeof(folder) + 8];
    char note[200];
    struct procfs_process found;
    assert_non_null(mkdtemp(folder));
    const int proc = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(proc >= 0);
    assert_false(server_find(proc, 5432, NULL, &found, note, sizeof(note)));
    assert_non_null(strstr(note, "/proc cannot be read here"));
    snprintf(net, sizeof(net), "%s/net", folder);
    assert_int_equal(mkdir(net, 0700), 0);
    write_file(net, "tcp", "  sl  local_address rem_address   st\n");
    assert_false(server_find(proc, 5432, NULL, &found, note, sizeof(note)));
    assert_non_null(strstr(note, "nothing on this machine listens on TCP port 5432"));
    close(proc);
    remove_file(net, "tcp");
    rmdir(net);
    rmdir(folder);
}

/* A process of a made-up /proc. */
struct made_process {
    int pid, parent;
    const char *name;
    unsigned start;
    bool listens;
    bool is_ending;
};

enum {
    MADE_MAX = 6,
    PORT = 5432,
    IS_ENDING = 0x4 /* PF_EXITING */
};

/* Makes a /proc in `folder`, in which the processes of the list (up to pid 0) listen on PORT and on
 * the path /run/s.PORT. */
static int make_proc(char *folder, const struct made_process *processes)
{
    char path[64];
    assert_non_null(mkdtemp(folder));
    const int proc = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(proc >= 0);
    assert_int_equal(mkdirat(proc, "net", 0700), 0);
    snprintf(path, sizeof(path), "%s/net", folder);
    write_file(path, "tcp",
               "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
               "timeout inode\n"
               "   0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000   105"
               "        0 77 1 0 100 0 0 10 0\n");
    write_file(path, "unix",
               "Num       RefCount Protocol Flags    Type St Inode Path\n"
               "0000000000000000: 00000002 00000000 00010000 0001 01 78 /run/s.5432\n");
    for (const struct made_process *one = processes; one->pid != 0; one++) {
        char text[120];
        snprintf(path, sizeof(path), "%d", one->pid);
        assert_int_equal(mkdirat(proc, path, 0700), 0);
        snprintf(path, sizeof(path), "%d/fd", one->pid);
        assert_int_equal(mkdirat(proc, path, 0700), 0);
        snprintf(path, sizeof(path), "%d/fd/3", one->pid);
        assert_int_equal(symlinkat(one->listens ? "socket:[77]" : "socket:[79]", proc, path), 0);
        snprintf(path, sizeof(path), "%d/fd/4", one->pid);
        assert_int_equal(symlinkat(one->listens ? "socket:[78]" : "/dev/null", proc, path), 0);
        snprintf(path, sizeof(path), "%s/%d", folder, one->pid);
        snprintf(text, sizeof(text), "%d (%s) R %d 7 7 0 -1 %d 1 2 3 4 1 2 3 4 20 0 1 0 %u\n",
                 one->pid, one->name, one->parent, 0x400000 | (one->is_ending ? IS_ENDING : 0),
                 one->start);
        write_file(path, "stat", text);
    }
    return proc;
}

static int remove_entry(const char *path, const struct stat *about, int flag, struct FTW *ftw)
{
    (void)about, (void)flag, (void)ftw;
    return remove(path);
}

static void remove_proc(int proc, const char *folder)
{
    close(proc);
    assert_int_equal(nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

#define POSTGRES(pid, parent, start)                                                               \
    {                                                                                              \
        pid, parent, "postgres", start, true, false                                                \
    }
#define AT_PORT " on TCP port 5432 "

/* The server is the listening process that is above most of the other listening processes, or the
 * oldest of several such processes. */
TEST(the_process_that_listens)
{
    static const struct {
        struct made_process processes[MADE_MAX];
        int pid; /* 0: no process is found */
        const char *note;
    } cases[] = {
        {{POSTGRES(41, 1, 100)}, 41, ""},
        {{{41, 1, "postgres", 100, false, false}}, 0, "no process that append can see listens on"},
        {{POSTGRES(41, 1, 100), POSTGRES(42, 41, 100)}, 41, ""},
        {{POSTGRES(41, 42, 50), POSTGRES(42, 1, 100)}, 42, ""},
        {{POSTGRES(41, 1, 50), POSTGRES(42, 1, 100), POSTGRES(43, 42, 100)},
         42,
         "1 other process listens" AT_PORT "and is not measured, because it is not a child of "
         "process 42: to measure all, give --server-cgroup"},
        {{POSTGRES(41, 1, 50), {43, 41, "sh", 60, false, false}, POSTGRES(44, 43, 70)}, 41, ""},
        {{POSTGRES(41, 1, 101), POSTGRES(42, 1, 100), POSTGRES(43, 1, 102)},
         42,
         "2 other processes listen" AT_PORT "and are not measured, because they are not children "
         "of process 42: to measure all, give --server-cgroup"},
        /* a killed process keeps its sockets until the kernel has freed its memory */
        {{{41, 1, "postgres", 100, true, true}, POSTGRES(42, 1, 101)}, 42, ""},
        {{{41, 1, "postgres", 100, true, true}}, 0, "no process that append can see listens on"},
        {{{1, 0, "systemd", 1, true, false}, POSTGRES(41, 1, 100)}, 41, ""},
        {{{1, 0, "systemd", 1, true, false}}, 0, "the port belongs to systemd, which starts"},
        {{{1, 0, "postgres", 1, true, false}}, 1, ""},
        {{{41, 1, "docker-proxy", 9, true, false}}, 0, "the port belongs to docker-proxy: the"},
        {{{41, 1, "pasta.avx2", 9, true, false}}, 0, "the port belongs to pasta.avx2: the"},
        {{{41, 1, "conmo", 9, true, false}}, 41, ""},
        {{{41, 1, "conmon2", 9, true, false}}, 41, ""},
    };
    EACH_CASE (i, cases, "case %zu: process %d, note '%s'", i, cases[i].pid, cases[i].note) {
        char folder[] = "/tmp/append-proc-XXXXXX", note[200];
        struct procfs_process found = {.pid = 0};
        const int proc = make_proc(folder, cases[i].processes);
        const bool is_found = server_find(proc, PORT, NULL, &found, note, sizeof(note));
        remove_proc(proc, folder);
        assert_int_equal(is_found, cases[i].pid != 0);
        assert_int_equal(found.pid, cases[i].pid);
        assert_int_equal(strncmp(note, cases[i].note, strlen(cases[i].note)), 0);
        assert_int_equal(note[0] == '\0', cases[i].note[0] == '\0');
    }
}

/* The server is the process that listens on the socket's path, or else on the port. */
TEST(the_process_that_listens_on_a_path)
{
    static const struct {
        const char *path;
        uint16_t port;
        const char *note; /* NULL: the process is found */
    } cases[] = {{"/run/s.5432", PORT, NULL},
                 {"/run/s.5432", 1, NULL},
                 {"/run/t.5432", PORT, NULL},
                 {"/run/t.5432", 1, "nothing on this machine listens on socket /run/t.5432; "}};
    EACH_CASE (i, cases, "%s, port %u", cases[i].path, (unsigned)cases[i].port) {
        static const struct made_process processes[] = {POSTGRES(41, 1, 100), {.pid = 0}};
        char folder[] = "/tmp/append-proc-XXXXXX", note[200];
        struct procfs_process found = {.pid = 0};
        const int proc = make_proc(folder, processes);
        const bool is_found =
            server_find(proc, cases[i].port, cases[i].path, &found, note, sizeof(note));
        remove_proc(proc, folder);
        assert_int_equal(is_found, cases[i].note == NULL);
        assert_int_equal(found.pid, is_found ? 41 : 0);
        assert_part(note, is_found ? "" : cases[i].note);
    }
}

/* Two processes are related if one of them is above the other; init does not count. */
TEST(related_processes)
{
    static const struct made_process processes[] = {POSTGRES(1, 0, 1),   POSTGRES(41, 1, 1),
                                                    POSTGRES(42, 41, 1), POSTGRES(43, 42, 1),
                                                    POSTGRES(44, 41, 1), {.pid = 0}};
    static const struct {
        pid_t one, other;
        bool are_related;
    } cases[] = {{42, 42, true},  {41, 42, true},  {41, 43, true}, {42, 44, false},
                 {43, 44, false}, {41, 99, false}, {1, 43, false}, {1, 1, true}};
    char folder[] = "/tmp/append-proc-XXXXXX";
    const int proc = make_proc(folder, processes);
    EACH_CASE (i, cases, "%d and %d", (int)cases[i].one, (int)cases[i].other) {
        assert_int_equal(server_is_related(proc, cases[i].one, cases[i].other),
                         cases[i].are_related);
        assert_int_equal(server_is_related(proc, cases[i].other, cases[i].one),
                         cases[i].are_related);
    }
    remove_proc(proc, folder);
}

struct walked {
    size_t count;
    pid_t pids[CHILDREN + 2];
    pid_t root;
};

static void note_process(void *context, pid_t pid, bool is_root)
{
    struct walked *walked = context;
    if (walked->count < COUNT_OF(walked->pids)) {
        walked->pids[walked->count++] = pid;
    }
    walked->root = is_root ? pid : walked->root;
}

TEST_BETWEEN(the_processes_of_a_server, set_up, tear_down)
{
    const struct server *server = *state;
    struct server_process *process = look(&(struct server_selector){.port = server->port});
    struct walked walked = {.count = 0};
    server_process_walk(process, note_process, &walked);
    assert_int_equal(walked.count, CHILDREN + 1);
    assert_int_equal(walked.root, server->pid);
    for (size_t i = 0; i < CHILDREN; i++) {
        size_t at = 0;
        while (at < walked.count && walked.pids[at] != server->children[i]) {
            at++;
        }
        assert_true(at < walked.count);
    }
    assert_true(server_process_runs(process, server->children[0]));
    assert_false(server_process_runs(process, 0x3ffffffe));
    const pid_t ended = fork();
    if (ended == 0) {
        _exit(0);
    }
    siginfo_t about;
    assert_int_equal(waitid(P_PID, (id_t)ended, &about, WEXITED | WNOWAIT), 0);
    assert_false(server_process_runs(process, ended));
    assert_int_equal(waitpid(ended, NULL, 0), ended);
    server_process_destroy(process);
    process = look(&(struct server_selector){.cgroup = "/nowhere/at/all"});
    walked.count = 0;
    server_process_walk(process, note_process, &walked);
    assert_int_equal(walked.count, 0);
    server_process_destroy(process);
}

static int set_up(void **state)
{
    static struct server server;
    start_server(&server, "a (server)", 0);
    *state = &server;
    return 0;
}

static int tear_down(void **state)
{
    kill_server(*state);
    return 0;
}

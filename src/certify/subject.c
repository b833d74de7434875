#include "certify/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/mono.h"
#include "certify/processes.h"
#include "measure/procfs.h"
#include "measure/server_process.h"

#define DISK_BYTES (UINT64_C(3) << 30)
#define END_NS (30 * MONO_NS_PER_S)
#define STEP_NS (2 * MONO_NS_PER_MS)

enum {
    RECIPE_WORDS_MAX = 16,
    SPARE_SESSIONS = 10,
    /* longest folder for temporary files; a longer folder leaves no room for the path of a socket,
     * which has at most 107 bytes */
    TEMP_BYTES_MAX = 64
};

/* How append makes a server of its own. In the words, $D stands for the data directory, $R for a
 * folder for sockets and temporary files, and $N for the most sessions. */
struct recipe {
    const char *name;                   /* the adapter's name */
    const char *make[RECIPE_WORDS_MAX]; /* command that makes the data directory: the program and
                                           its arguments; empty: the database is embedded */
    const char *start[RECIPE_WORDS_MAX];
    const char *option[2]; /* the words before a setting and directly in front of its name: {"-c",
                              ""} or {"", "--"} */
    const char *programs;  /* folders in which to look for programs after PATH */
    const char *package;   /* name of Debian's package */
    const char *account;   /* system user that runs the server, if the system has this user */
    int shut_signal;
    const char *host, *path; /* parts of the target */
    uint16_t port;
    const char *user, *database;
    const char *first_sql;
    /* settings with which the server must lose acknowledged rows after a kill or a power loss;
     * NULL: no such settings are known */
    const char *unsafe_kill, *unsafe_power;
};

static const struct recipe recipes[] = {
    {.name = "postgresql",
     .make = {"initdb", "-D", "$D", "-U", "append", "-A", "trust", "-E", "UTF8", "--locale=C"},
     .start = {"postgres", "-D", "$D", "-c", "listen_addresses=", "-c",
               "unix_socket_directories=$R", "-c", "max_connections=$N"},
     .option = {"-c", ""},
     .programs = "/usr/lib/postgresql/*/bin",
     .package = "postgresql",
     .account = "postgres",
     .shut_signal = SIGINT,
     .host = "$R",
     .port = 5432,
     .user = "append",
     .database = "postgres",
     .first_sql = "create extension if not exists amcheck",
     /* without the settings wal_writer_..., the server writes its log whenever 1 MB of it is new */
     .unsafe_kill = "synchronous_commit=off wal_writer_delay=10s wal_writer_flush_after=1GB "
                    "wal_buffers=64MB",
     .unsafe_power = "fsync=off"},
    {.name = "mariadb",
     .make = {"mariadb-install-db", "--no-defaults", "--datadir=$D",
              "--auth-root-authentication-method=normal", "--skip-test-db"},
     .start = {"mariadbd", "--no-defaults", "--datadir=$D", "--socket=$R/socket",
               "--pid-file=$R/pid", "--tmpdir=$R", "--skip-networking", "--max-connections=$N"},
     .option = {NULL, "--"},
     .programs = "/usr/sbin",
     .package = "mariadb-server",
     .account = "mysql",
     .shut_signal = SIGTERM,
     .host = "$R/socket",
     .user = "root",
     .unsafe_kill = "innodb-flush-log-at-trx-commit=0",
     .unsafe_power = "innodb-flush-log-at-trx-commit=2"},
    {.name = "sqlite", .path = "$D/append.db", .unsafe_power = "synchronous=off"},
};

static bool is_embedded(const struct subject *subject)
{
    return subject->recipe != NULL && subject->recipe->start[0] == NULL;
}

/* Writes a word of a recipe, with its placeholders replaced. */
static void write_word(const struct subject *subject, const char *word, struct buffer *text)
{
    for (; *word != '\0'; word++) {
        if (*word != '$') {
            buffer_add(text, word, 1);
        } else if (*++word == 'N') {
            buffer_add_format(text, "%u", subject->plan->sessions + SPARE_SESSIONS);
        } else {
            buffer_add_format(text, "%s/%s", subject->folder, *word == 'D' ? "data" : "run");
        }
    }
}

static char *expand(const struct subject *subject, const char *word)
{
    struct buffer text = {0};
    write_word(subject, word, &text);
    buffer_add_text(&text, "");
    return text.bytes;
}

static void add_word(struct subject_words *words, char *word)
{
    if (words->count < SUBJECT_WORDS_MAX) {
        words->words[words->count++] = word;
    } else {
        free(word);
    }
}

static void free_words(struct subject_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        free(words->words[i]);
    }
    *words = (struct subject_words){.count = 0};
}

/* Returns whether FOLDER/PROGRAM can be run; its path is then in *path, which is owned. */
static bool is_program(const char *folder, size_t length, const char *program, char **path)
{
    if (asprintf(path, "%.*s/%s", (int)length, folder, program) < 0) {
        *path = NULL;
        return false;
    }
    if (access(*path, X_OK) == 0) {
        return true;
    }
    free(*path);
    *path = NULL;
    return false;
}

/* Finds a program in PATH, then in the folders of the recipe, the highest version first. */
static char *find_program(const struct recipe *recipe, const char *program)
{
    char *path = NULL;
    const char *folder = getenv("PATH");
    while (folder != NULL && *folder != '\0') {
        const size_t length = strcspn(folder, ":");
        if (is_program(folder, length, program, &path)) {
            return path;
        }
        folder += length + (folder[length] == ':' ? 1 : 0);
    }
    glob_t found;
    if (glob(recipe->programs, 0, NULL, &found) == 0) {
        for (size_t i = found.gl_pathc; i-- > 0 && path == NULL;) {
            is_program(found.gl_pathv[i], strlen(found.gl_pathv[i]), program, &path);
        }
        globfree(&found);
    }
    return path;
}

static enum status write_command(const struct subject *subject, const char *const *words,
                                 struct subject_words *command, struct error *error)
{
    const struct recipe *recipe = subject->recipe;
    char *program = find_program(recipe, words[0]);
    if (program == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--server %s: %s is not in PATH or %s: install it (Debian: package %s), or name "
                  "a TARGET",
                  recipe->name, words[0], recipe->programs, recipe->package);
        return STATUS_FATAL;
    }
    add_word(command, program);
    for (size_t i = 1; i < RECIPE_WORDS_MAX && words[i] != NULL; i++) {
        add_word(command, expand(subject, words[i]));
    }
    return STATUS_OK;
}

/* Adds a setting "name=value" to the server's command, or for an embedded database to the SQL of
 * each session. */
static enum status add_option(struct subject *subject, const char *option, size_t length,
                              struct error *error)
{
    if (subject->start.count + 2 > SUBJECT_WORDS_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--server-option: too many settings: '%.80s' has no room", option);
        return STATUS_FATAL;
    }
    if (is_embedded(subject)) {
        buffer_add_text(&subject->session_sql, "pragma ");
        buffer_add(&subject->session_sql, option, length);
        buffer_add_text(&subject->session_sql, ";");
        return STATUS_OK;
    }
    char *word = NULL;
    if (subject->recipe->option[0] != NULL) {
        add_word(&subject->start, strdup(subject->recipe->option[0]));
    }
    if (asprintf(&word, "%s%.*s", subject->recipe->option[1], (int)length, option) >= 0) {
        add_word(&subject->start, word);
    }
    return STATUS_OK;
}

/* Returns whether every user may enter this folder and its parent folders, and only root may
 * replace them. */
static bool is_open_to_all(const char *folder)
{
    char path[TEMP_BYTES_MAX + 1];
    struct stat about;
    for (size_t i = 1; i <= strlen(folder); i++) {
        if (folder[i] == '/' || folder[i] == '\0') {
            snprintf(path, sizeof path, "%.*s", (int)i, folder);
            if (lstat(path, &about) != 0 || (about.st_mode & S_IXOTH) == 0 || about.st_uid != 0 ||
                !S_ISDIR(about.st_mode) ||
                ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (about.st_mode & S_ISVTX) == 0)) {
                return false;
            }
        }
    }
    return true;
}

/* Returns the folder for the folders of own servers: TMPDIR if it suits, else /tmp. With root, the
 * server runs as another user, who must be able to enter the folder. */
static const char *choose_temp(void)
{
    const char *temp = getenv("TMPDIR");
    const bool is_fit = temp != NULL && temp[0] == '/' && strlen(temp) <= TEMP_BYTES_MAX &&
                        (geteuid() != 0 || is_open_to_all(temp));
    return is_fit ? temp : "/tmp";
}

const char *subject_unsafe(const struct subject *subject)
{
    const unsigned *counts = subject->faults.counts;
    if (counts[FAULT_POWER] > 0) {
        return subject->recipe->unsafe_power;
    }
    return counts[FAULT_KILL] > 0 ? subject->recipe->unsafe_kill : NULL;
}

/* Refuses faults that the server cannot have, and a proof without a setting that must lose rows. */
static enum exit_code check_faults(const struct subject *subject, struct error *error)
{
    const unsigned *counts = subject->faults.counts;
    if (is_embedded(subject) &&
        counts[FAULT_KILL] + counts[FAULT_POWER] != fault_total(&subject->faults)) {
        return usage_refuse(error,
                            "SQLite is part of append's process: --faults may have only kill and "
                            "power");
    }
    if (subject->plan->certify.is_proven && subject_unsafe(subject) == NULL) {
        return usage_refuse(error,
                            "--prove needs faults that can lose rows: add power%s to --faults",
                            subject->recipe->unsafe_kill == NULL ? "" : " or kill");
    }
    return EXIT_CODE_OK;
}

enum exit_code subject_choose(struct subject *subject, const struct fault_counts *faults,
                              const struct plan *plan, struct target *target, struct error *error)
{
    const char *name = plan->certify.server;
    *subject = (struct subject){.plan = plan, .faults = *faults};
    subject->keeper.channel = subject->kept.log = subject->disk.image = -1;
    if (name == NULL) {
        return EXIT_CODE_OK;
    }
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        subject->recipe = strcmp(recipes[i].name, name) == 0 ? &recipes[i] : subject->recipe;
    }
    if (subject->recipe == NULL) {
        return usage_refuse(error,
                            "--server '%.40s': append makes postgresql, mariadb and sqlite; for "
                            "another server name its TARGET",
                            name);
    }
    if (check_faults(subject, error) != EXIT_CODE_OK) {
        return EXIT_CODE_USAGE;
    }
    snprintf(subject->folder, sizeof subject->folder, "%s/append-certify-XXXXXX", choose_temp());
    if (mkdtemp(subject->folder) == NULL || chmod(subject->folder, 0755) != 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "cannot make %s: %s", subject->folder,
                  strerror(errno));
        subject->folder[0] = '\0';
        return EXIT_CODE_CLIENT_LIMIT;
    }
    const struct recipe *recipe = subject->recipe;
    target->port = recipe->port;
    target->user = recipe->user;
    target->database = recipe->database;
    subject->target = expand(subject, recipe->host != NULL ? recipe->host : recipe->path);
    target->host = recipe->host != NULL ? subject->target : NULL;
    target->path = recipe->path != NULL ? subject->target : NULL;
    return EXIT_CODE_OK;
}

/* Creates the folders of append's own server. They belong to the server's user. */
static enum status make_folders(struct subject *subject, struct error *error)
{
    char path[SUBJECT_PATH_BYTES + 8];
    const char *const names[] = {"data", "run"};
    const struct passwd *account = NULL;
    if (geteuid() == 0 && !is_embedded(subject)) {
        account = getpwnam(subject->recipe->account);
        account = account == NULL ? getpwnam("nobody") : account;
    }
    subject->kept.user = account == NULL ? 0 : account->pw_uid;
    subject->kept.group = account == NULL ? 0 : account->pw_gid;
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", subject->folder, names[i]);
        if (mkdir(path, 0700) != 0 ||
            (account != NULL && chown(path, account->pw_uid, account->pw_gid) != 0)) {
            error_set(error, ERROR_SYSTEM, errno, NULL, "cannot make %s: %s", path,
                      strerror(errno));
            return STATUS_FATAL;
        }
    }
    return STATUS_OK;
}

/* Opens the file of the run for the output of the server. */
static enum status open_log(struct subject *subject, struct error *error)
{
    char path[PLAN_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/server.log", subject->plan->out_folder);
    subject->kept.log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (subject->kept.log < 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "cannot write %.300s: %s", path,
                  strerror(errno));
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

static enum status make_own(struct subject *subject, const struct plan_texts *options,
                            struct error *error)
{
    const struct recipe *recipe = subject->recipe;
    enum status status = STATUS_OK;
    if (!is_embedded(subject)) {
        status = write_command(subject, recipe->make, &subject->make, error);
        status = status == STATUS_OK ? write_command(subject, recipe->start, &subject->start, error)
                                     : status;
    }
    for (size_t i = 0; i < options->count && status == STATUS_OK; i++) {
        /* an option may have several settings, with blanks between them */
        const char *option = options->texts[i] + strspn(options->texts[i], " ");
        while (*option != '\0' && status == STATUS_OK) {
            const size_t length = strcspn(option, " ");
            status = add_option(subject, option, length, error);
            option += length + strspn(option + length, " ");
        }
    }
    if (status == STATUS_OK && subject->faults.counts[FAULT_POWER] > 0) {
        char path[DISK_PATH_BYTES];
        snprintf(path, sizeof path, "%.400s/disk.img", subject->plan->out_folder);
        subject->disk.type = subject->plan->certify.disk == CERTIFY_XFS ? "xfs" : "ext4";
        subject->disk.folder = subject->folder;
        status = disk_create(&subject->disk, path, DISK_BYTES, error);
        subject->has_disk = status == STATUS_OK;
    }
    status = status == STATUS_OK ? make_folders(subject, error) : status;
    if (status != STATUS_OK || is_embedded(subject)) {
        return status;
    }
    subject->kept.make = (const char *const *)subject->make.words;
    subject->kept.start = (const char *const *)subject->start.words;
    subject->kept.folder = subject->folder;
    subject->kept.shut_signal = recipe->shut_signal;
    status = keeper_begin(&subject->keeper, &subject->kept, error);
    if (status == STATUS_OK && (keeper_order(&subject->keeper, KEEPER_MAKE, error) != STATUS_OK ||
                                keeper_order(&subject->keeper, KEEPER_START, error) != STATUS_OK)) {
        error_prefix(error, "the server could not be created (its output is in %.200s/server.log)",
                     subject->plan->out_folder);
        status = STATUS_FATAL;
    }
    return status;
}

/* Finds the process of the user's server by its port or socket. */
static enum status find_listening(struct subject *subject, struct error *error)
{
    struct procfs_process found = {.pid = 0};
    struct connection_info named = {.host = ""};
    char note[240] = "";
    target_fill_connection(subject->plan, &named);
    const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_found =
        proc >= 0 && server_find(proc, named.port, named.host[0] == '/' ? named.host : NULL, &found,
                                 note, sizeof note);
    if (proc >= 0) {
        close(proc);
    }
    if (!is_found) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the server's process was not found%s%s: name it with --server-pid",
                  note[0] == '\0' ? "" : ": ", note);
        return STATUS_FATAL;
    }
    subject->pid = found.pid;
    return STATUS_OK;
}

/* Finds the process of the user's server, before the first fault. */
static enum status find_theirs(struct subject *subject, struct error *error)
{
    subject->pid = subject->plan->server_pid;
    if (subject->pid == 0 && find_listening(subject, error) != STATUS_OK) {
        return STATUS_FATAL;
    }
    if (processes_is_of(getpid(), subject->pid)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--server-pid %d: append itself descends from this process", (int)subject->pid);
        return STATUS_FATAL;
    }
    if (kill(subject->pid, 0) != 0) {
        error_set(error, ERROR_USAGE, errno, NULL,
                  "append has no permission to send signals to the server's process %d: %s: run "
                  "append as root or as the server's user",
                  (int)subject->pid, strerror(errno));
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

enum status subject_begin(struct subject *subject, const struct plan *plan,
                          const struct plan_texts *options, struct error *error)
{
    subject->plan = plan;
    enum status status = open_log(subject, error);
    if (status == STATUS_OK && subject->recipe == NULL) {
        /* a server that append has started becomes append's child when its parent ends, so that
         * append can reap it */
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        status = find_theirs(subject, error);
    } else if (status == STATUS_OK) {
        status = make_own(subject, options, error);
    }
    if (status != STATUS_OK) {
        subject_end(subject);
    }
    return status;
}

enum status subject_adopt_disk(struct subject *subject, const char *data_folder,
                               struct error *error)
{
    const char *named = subject->plan->data_directory;
    return disk_adopt(&subject->disk, named == NULL ? data_folder : named, subject->pid, error);
}

const char *subject_first_sql(const struct subject *subject)
{
    return subject->recipe == NULL ? NULL : subject->recipe->first_sql;
}

/* Reaps children of this process that have ended. */
static void reap(struct subject *subject)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == subject->starter) {
            subject->starter = 0;
            subject->starter_status = status;
        }
        if (subject->writers != NULL && pid == subject->writers->pid) {
            subject->writers->pid = 0;
        }
    }
}

/* Fails if the process of the user's server is not known or has ended. */
static enum status check_theirs(const struct subject *subject, struct error *error)
{
    if (subject->pid > 1 && processes_runs(subject->pid)) {
        return STATUS_OK;
    }
    error_set(error, ERROR_SERVER, 0, NULL,
              subject->pid > 1 ? "the server's process %d had already ended"
                               : "the process of the restarted server was not found",
              (int)subject->pid);
    return STATUS_FATAL;
}

static enum status kill_theirs(struct subject *subject, struct error *error)
{
    const bool has_ended = processes_kill(subject->pid, END_NS);
    reap(subject);
    if (!has_ended) {
        error_set(error, ERROR_SERVER, 0, NULL, "processes of the server do not end after SIGKILL");
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

/* Shuts the user's server down cleanly. Waits even after Ctrl-C: only a server that has ended can
 * be started again. */
static enum status shut_theirs(struct subject *subject, struct error *error)
{
    const int64_t until_ns = mono_now_ns() + END_NS;
    const bool is_postgresql = strcmp(subject->plan->adapter->name, "postgresql") == 0;
    kill(subject->pid, is_postgresql ? SIGINT : SIGTERM);
    while (processes_runs(subject->pid)) {
        if (mono_now_ns() > until_ns) {
            error_set(error, ERROR_SERVER, 0, NULL, "the server's process %d did not end in 30 s",
                      (int)subject->pid);
            return STATUS_FATAL;
        }
        reap(subject);
        mono_sleep(STEP_NS);
    }
    reap(subject);
    return STATUS_OK;
}

static enum status kill_server(struct subject *subject, struct writers *writers,
                               struct error *error)
{
    if (is_embedded(subject)) {
        writers_kill(writers);
        return STATUS_OK;
    }
    return subject->recipe != NULL ? keeper_order(&subject->keeper, KEEPER_KILL, error)
                                   : kill_theirs(subject, error);
}

static enum status cut_power(struct subject *subject, struct writers *writers, struct error *error)
{
    enum status status = disk_cut_power(&subject->disk, error);
    status = status == STATUS_OK ? kill_server(subject, writers, error) : status;
    return status == STATUS_OK ? disk_remount(&subject->disk, error) : status;
}

/* Sleeps, but not longer than until Ctrl-C. */
static void sleep_for(int64_t time_ns)
{
    const int64_t until_ns = mono_now_ns() + time_ns;
    while (mono_now_ns() < until_ns && !interrupt_requested()) {
        mono_sleep(STEP_NS);
    }
}

/* Stops the user's server for a while. A child process continues the server, even if this process
 * is killed meanwhile. */
static enum status stop_theirs(const struct subject *subject, int64_t stop_ns, struct error *error)
{
    int ends[2];
    char byte;
    const pid_t guard = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (guard == 0) {
        setsid();
        close(ends[1]);
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
        }
        processes_signal(subject->pid, true, SIGCONT);
        _exit(EXIT_SUCCESS);
    }
    if (guard < 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL,
                  "client limit: cannot start the process that is to continue a stopped server: "
                  "%s",
                  strerror(errno));
        return STATUS_FATAL;
    }
    close(ends[0]);
    processes_signal(subject->pid, true, SIGSTOP);
    sleep_for(stop_ns);
    close(ends[1]);
    processes_reap(guard);
    return STATUS_OK;
}

static enum status stop_server(struct subject *subject, int64_t stop_ns, struct error *error)
{
    if (subject->recipe == NULL) {
        return stop_theirs(subject, stop_ns, error);
    }
    enum status status = keeper_order(&subject->keeper, KEEPER_STOP, error);
    sleep_for(stop_ns);
    return status == STATUS_OK ? keeper_order(&subject->keeper, KEEPER_CONTINUE, error) : status;
}

static enum status shut_server(struct subject *subject, struct error *error)
{
    return subject->recipe != NULL ? keeper_order(&subject->keeper, KEEPER_SHUT, error)
                                   : shut_theirs(subject, error);
}

enum status subject_break(struct subject *subject, const struct fault *fault,
                          struct writers *writers, int64_t *at_ns, struct error *error)
{
    if (subject->recipe == NULL && check_theirs(subject, error) != STATUS_OK) {
        return STATUS_FATAL;
    }
    *at_ns = mono_now_ns();
    subject->is_down = fault->kind != FAULT_STOP && fault->kind != FAULT_NETWORK;
    switch (fault->kind) {
    case FAULT_KILL: /* answers that still arrive were sent before the kill: their rows are owed */
        return kill_server(subject, writers, error);
    case FAULT_POWER:
        atomic_store(&writers->account->fault_ns, *at_ns);
        return cut_power(subject, writers, error);
    case FAULT_STOP:
        return stop_server(subject, fault->stop_ns, error);
    case FAULT_RESTART:
        return shut_server(subject, error);
    case FAULT_NETWORK:
        atomic_fetch_add(&writers->account->cut, 1);
        return STATUS_OK;
    case FAULT_KINDS:
        break;
    }
    return STATUS_FATAL;
}

enum status subject_start(struct subject *subject, struct error *error)
{
    if (is_embedded(subject)) {
        return STATUS_OK;
    }
    if (subject->recipe != NULL) {
        return keeper_order(&subject->keeper, KEEPER_START, error);
    }
    subject->is_down = false;
    const char *const argv[] = {"/bin/sh", "-c", subject->plan->certify.start, NULL};
    const struct child_start start = {
        .argv = argv, .in = -1, .out = subject->kept.log, .err = subject->kept.log, .kept = -1};
    const int number = child_start(&subject->starter, &start);
    if (number != 0) {
        error_set(error, ERROR_SYSTEM, number, NULL,
                  "--server-start: /bin/sh cannot be started: %s", strerror(number));
        return STATUS_FATAL;
    }
    subject->pid = 0;
    subject->starter_status = 0;
    return STATUS_OK;
}

enum status subject_check(struct subject *subject, struct error *error)
{
    if (is_embedded(subject)) {
        return STATUS_OK;
    }
    if (subject->recipe != NULL) {
        return keeper_order(&subject->keeper, KEEPER_CHECK, error);
    }
    reap(subject);
    if (subject->pid > 0) {
        return STATUS_OK;
    }
    struct error ignored = {.kind = ERROR_NONE};
    if (find_listening(subject, &ignored) == STATUS_OK || subject->starter_status == 0) {
        return STATUS_OK; /* the server may not listen yet */
    }
    error_set(error, ERROR_SERVER, 0, NULL, "--server-start failed with %s %d",
              WIFSIGNALED(subject->starter_status) ? "signal" : "exit code",
              WIFSIGNALED(subject->starter_status) ? WTERMSIG(subject->starter_status)
                                                   : WEXITSTATUS(subject->starter_status));
    return STATUS_FATAL;
}

/* Removes the folders of append's own server, with the rights of the server's user, because that
 * user could have put links into them. */
static void remove_folders(const struct subject *subject)
{
    static const char *const names[] = {"data", "run"};
    for (size_t i = 0; i < COUNT_OF(names) && subject->folder[0] != '\0'; i++) {
        char path[SUBJECT_PATH_BYTES + 8];
        snprintf(path, sizeof path, "%s/%s", subject->folder, names[i]);
        const pid_t pid = subject->kept.user != 0 ? fork() : -1;
        if (pid == 0) {
            if (setgroups(1, &subject->kept.group) == 0 && setgid(subject->kept.group) == 0 &&
                setuid(subject->kept.user) == 0) {
                file_remove_folder(path);
            }
            _exit(EXIT_SUCCESS);
        }
        if (pid > 0) {
            processes_reap(pid);
            rmdir(path); /* the folder itself is in a folder of this program's user */
        } else {
            file_remove_folder(path);
        }
    }
}

void subject_end(struct subject *subject)
{
    keeper_end(&subject->keeper);
    disk_destroy(&subject->disk);
    if (subject->recipe == NULL && subject->is_down && !processes_runs(subject->pid)) {
        /* the server was ended by a fault and must not stay down */
        subject_start(subject, &(struct error){.kind = ERROR_NONE});
    }
    remove_folders(subject);
    if (subject->kept.log >= 0) {
        close(subject->kept.log);
    }
    subject->kept.log = -1;
    free_words(&subject->make);
    free_words(&subject->start);
    buffer_fini(&subject->session_sql);
    subject->has_disk = false;
}

void subject_fini(struct subject *subject)
{
    subject_end(subject);
    if (subject->folder[0] != '\0') {
        rmdir(subject->folder);
    }
    free(subject->target);
    subject->target = NULL;
    subject->folder[0] = '\0';
}

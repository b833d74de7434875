/* The servers that this program makes for the certify command, breaks and removes. */
#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "certify/processes.h"
#include "certify/subject.h"

#define DISK_BYTES (UINT64_C(3) << 30)

enum {
    RECIPE_WORDS_MAX = 16,
    SPARE_SESSIONS = 10,
    /* greatest length of TMPDIR: the path of a socket in this folder has at most 107 bytes */
    TEMP_BYTES_MAX = 64
};

/* The names of the server's two folders, $D and $R in a recipe. */
static const char *const folder_names[] = {"data", "run"};

/* Describes how this program makes a server. In the words of a recipe, $D stands for the data
 * directory, $R for a folder for sockets and temporary files, and $N for the number of sessions
 * that the server must allow. */
struct recipe {
    const char *name; /* the adapter's name */
    const struct subject_kind *kind;
    const char *make[RECIPE_WORDS_MAX]; /* command that makes the data directory: the program and
                                           its arguments */
    const char *start[RECIPE_WORDS_MAX];
    const char *option[2]; /* the argument before a setting, or NULL, and the prefix of the setting:
                              {"-c", ""} or {NULL, "--"} */
    const char *programs;  /* folders that are searched for programs after PATH; a glob pattern */
    const char *package;   /* name of Debian's package */
    /* system user that runs the server if this program runs as root; if the system lacks this user,
     * the user without rights runs it */
    const char *account;
    const char *host, *path; /* parts of the target */
    uint16_t port;
    const char *user, *database;
    const char *first_sql;
    /* settings with which the server loses acknowledged rows after a kill and after a power loss;
     * NULL: such settings are not known */
    const char *unsafe_kill, *unsafe_power;
};

/* Returns a copy of a recipe's word in which the placeholders are replaced. The caller frees the
 * copy. */
static char *expand(const struct subject *subject, const char *word)
{
    struct buffer text = {0};
    for (; *word != '\0'; word++) {
        if (*word != '$') {
            buffer_add(&text, word, 1);
        } else if (*++word == 'N') {
            buffer_add_format(&text, "%u", subject->plan->sessions + SPARE_SESSIONS);
        } else {
            buffer_add_format(&text, "%s/%s", subject->folder, folder_names[*word == 'D' ? 0 : 1]);
        }
    }
    buffer_add_text(&text, "");
    return text.bytes;
}

static void free_words(struct subject_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        free(words->words[i]);
    }
    *words = (struct subject_words){.count = 0};
}

/* Returns the path FOLDER/PROGRAM if it is executable, else NULL. The caller frees the path. */
static char *find_in(const char *folder, size_t length, const char *program)
{
    char *path;
    if (asprintf(&path, "%.*s/%s", (int)length, folder, program) < 0) {
        return NULL;
    }
    if (access(path, X_OK) != 0) {
        free(path);
        path = NULL;
    }
    return path;
}

/* Finds a program in PATH, then in the recipe's folders, of which the folder with the highest
 * version is taken. Returns the program's path, which the caller frees, or NULL. */
static char *find_program(const struct recipe *recipe, const char *program)
{
    char *path = NULL;
    const char *folder = getenv("PATH");
    while (path == NULL && folder != NULL && *folder != '\0') {
        const size_t length = strcspn(folder, ":");
        path = find_in(folder, length, program);
        folder += length + (folder[length] == ':' ? 1 : 0);
    }
    glob_t found;
    if (path == NULL && glob(recipe->programs, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            char *const other = find_in(found.gl_pathv[i], strlen(found.gl_pathv[i]), program);
            const bool is_newer = other != NULL && (path == NULL || strverscmp(other, path) > 0);
            free(is_newer ? path : other);
            path = is_newer ? other : path;
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
    command->words[command->count++] = program;
    for (size_t i = 1; i < RECIPE_WORDS_MAX && words[i] != NULL; i++) {
        command->words[command->count++] = expand(subject, words[i]);
    }
    return STATUS_OK;
}

/* Adds a setting "name=value" to the command that starts the server. */
static void add_argument(struct subject *subject, const char *setting, size_t length)
{
    const char *const *option = subject->recipe->option;
    struct subject_words *start = &subject->start;
    char *word;
    if (option[0] != NULL) {
        start->words[start->count++] = strdup(option[0]);
    }
    if (asprintf(&word, "%s%.*s", option[1], (int)length, setting) >= 0) {
        start->words[start->count++] = word;
    }
}

/* Adds a setting "name=value" to the SQL with which each session of an embedded database begins. */
static void add_pragma(struct subject *subject, const char *setting, size_t length)
{
    buffer_add_text(&subject->session_sql, "pragma ");
    buffer_add(&subject->session_sql, setting, length);
    buffer_add_text(&subject->session_sql, ";");
}

/* Calls `add` for each setting in `options`. A text may have several settings between blanks. */
static enum status add_settings(struct subject *subject, const struct plan_texts *options,
                                void (*add)(struct subject *, const char *, size_t),
                                struct error *error)
{
    for (size_t i = 0; i < options->count; i++) {
        const char *setting = options->texts[i] + strspn(options->texts[i], " ");
        while (*setting != '\0') {
            if (subject->start.count + 2 > SUBJECT_WORDS_MAX) {
                error_set(error, ERROR_USAGE, 0, NULL,
                          "--server-option: too many settings: leave out '%.80s' or others",
                          setting);
                return STATUS_FATAL;
            }
            const size_t length = strcspn(setting, " ");
            add(subject, setting, length);
            setting += length + strspn(setting + length, " ");
        }
    }
    return STATUS_OK;
}

/* Makes the server's folders, which the server's user owns. If a power loss is planned, first makes
 * a separate disk for these folders. */
static enum status make_folders(struct subject *subject, struct error *error)
{
    const struct keeper_server *kept = &subject->kept;
    char path[DISK_PATH_BYTES];
    if (subject->faults.counts[FAULT_POWER] > 0) {
        snprintf(path, sizeof path, "%.400s/disk.img", subject->plan->out_folder);
        subject->disk.type = subject->plan->certify.disk == CERTIFY_XFS ? "xfs" : "ext4";
        subject->disk.folder = subject->folder;
        if (disk_create(&subject->disk, path, DISK_BYTES, error) != STATUS_OK) {
            return STATUS_FATAL;
        }
    }
    for (size_t i = 0; i < COUNT_OF(folder_names); i++) {
        snprintf(path, sizeof path, "%s/%s", subject->folder, folder_names[i]);
        if (mkdir(path, 0700) != 0 ||
            (kept->user != 0 && chown(path, kept->user, kept->group) != 0)) {
            error_set(error, ERROR_SYSTEM, errno, NULL, "cannot make %s: %s", path,
                      strerror(errno));
            return STATUS_FATAL;
        }
    }
    return STATUS_OK;
}

/* Removes the server's folders. Does this with the privileges of the server's user, because that
 * user could have put links to other folders into them. */
static void remove_folders(const struct subject *subject)
{
    const struct keeper_server *kept = &subject->kept;
    for (size_t i = 0; i < COUNT_OF(folder_names); i++) {
        char path[SUBJECT_PATH_BYTES + 8];
        snprintf(path, sizeof path, "%s/%s", subject->folder, folder_names[i]);
        const pid_t pid = kept->user != 0 ? fork() : -1;
        if (pid == 0) {
            if (setgroups(1, &kept->group) == 0 && setgid(kept->group) == 0 &&
                setuid(kept->user) == 0) {
                file_remove_folder(path);
            }
            _exit(EXIT_SUCCESS);
        }
        if (pid > 0) {
            processes_reap(pid);
            rmdir(path); /* the server's user may not remove the empty folder itself */
        } else {
            file_remove_folder(path);
        }
    }
}

static enum status begin_server(struct subject *subject, const struct plan_texts *options,
                                struct error *error)
{
    const struct recipe *recipe = subject->recipe;
    const struct passwd *account = geteuid() == 0 ? getpwnam(recipe->account) : NULL;
    if (geteuid() == 0 && account == NULL) {
        account = getpwnam("nobody");
    }
    subject->kept = (struct keeper_server){.make = (const char *const *)subject->make.words,
                                           .start = (const char *const *)subject->start.words,
                                           .folder = subject->folder,
                                           .user = account == NULL ? 0 : account->pw_uid,
                                           .group = account == NULL ? 0 : account->pw_gid,
                                           .log = subject->log,
                                           .shut_signal = subject_shut_signal(subject)};
    if (write_command(subject, recipe->make, &subject->make, error) != STATUS_OK ||
        write_command(subject, recipe->start, &subject->start, error) != STATUS_OK ||
        add_settings(subject, options, add_argument, error) != STATUS_OK ||
        make_folders(subject, error) != STATUS_OK ||
        keeper_begin(&subject->keeper, &subject->kept, error) != STATUS_OK) {
        return STATUS_FATAL;
    }
    if (keeper_order(&subject->keeper, SERVER_MAKE, error) != STATUS_OK ||
        keeper_order(&subject->keeper, SERVER_START, error) != STATUS_OK) {
        error_prefix(error, "the server could not be created (its output is in %.200s/server.log)",
                     subject->plan->out_folder);
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

static enum status begin_embedded(struct subject *subject, const struct plan_texts *options,
                                  struct error *error)
{
    return add_settings(subject, options, add_pragma, error) == STATUS_OK
               ? make_folders(subject, error)
               : STATUS_FATAL;
}

static enum status order_server(struct subject *subject, enum server_order order,
                                struct error *error)
{
    return order == SERVER_EXPECT ? STATUS_OK : keeper_order(&subject->keeper, order, error);
}

static enum status order_embedded(struct subject *subject, enum server_order order,
                                  struct error *error)
{
    (void)error;
    if (order == SERVER_KILL) {
        writers_kill(subject->writers);
    }
    return STATUS_OK;
}

/* Ends the server and removes its files. An embedded database has no keeper, so keeper_end does
 * nothing for it. */
static void end_own(struct subject *subject)
{
    keeper_end(&subject->keeper);
    disk_destroy(&subject->disk);
    remove_folders(subject);
    free_words(&subject->make);
    free_words(&subject->start);
}

/* A server that runs in separate processes. A keeper starts, breaks and ends these processes. */
static const struct subject_kind own_server = {
    .is_own = true, .begin = begin_server, .order = order_server, .end = end_own};

/* An embedded database, which runs in the process of the writers. The database ends when the
 * writers end, and new writers open it again. */
static const struct subject_kind embedded = {.is_own = true,
                                             .refused = 1U << FAULT_STOP | 1U << FAULT_RESTART |
                                                        1U << FAULT_NETWORK,
                                             .begin = begin_embedded,
                                             .order = order_embedded,
                                             .end = end_own};

static const struct recipe recipes[] = {
    {.name = "postgresql",
     .kind = &own_server,
     .make = {"initdb", "-D", "$D", "-U", "append", "-A", "trust", "-E", "UTF8", "--locale=C"},
     .start = {"postgres", "-D", "$D", "-c", "listen_addresses=", "-c",
               "unix_socket_directories=$R", "-c", "max_connections=$N"},
     .option = {"-c", ""},
     .programs = "/usr/lib/postgresql/*/bin",
     .package = "postgresql",
     .account = "postgres",
     .host = "$R",
     .port = 5432,
     .user = "append",
     .database = "postgres",
     .first_sql = "create extension if not exists amcheck",
     /* the settings wal_writer_... are needed, because otherwise the server flushes its log after
        every 1 MB */
     .unsafe_kill = "synchronous_commit=off wal_writer_delay=10s wal_writer_flush_after=1GB "
                    "wal_buffers=64MB",
     .unsafe_power = "fsync=off"},
    {.name = "mariadb",
     .kind = &own_server,
     .make = {"mariadb-install-db", "--no-defaults", "--datadir=$D", "--tmpdir=$R",
              "--auth-root-authentication-method=normal", "--skip-test-db"},
     .start = {"mariadbd", "--no-defaults", "--datadir=$D", "--socket=$R/socket",
               "--pid-file=$R/pid", "--tmpdir=$R", "--skip-networking", "--max-connections=$N"},
     .option = {NULL, "--"},
     .programs = "/usr/sbin",
     .package = "mariadb-server",
     .account = "mysql",
     .host = "$R/socket",
     .user = "root",
     .unsafe_kill = "innodb-flush-log-at-trx-commit=0",
     .unsafe_power = "innodb-flush-log-at-trx-commit=2"},
    {.name = "sqlite",
     .kind = &embedded,
     .path = "$D/append.db",
     .unsafe_power = "synchronous=off"},
};

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

/* Returns TMPDIR if it is suitable for the server's folder, else "/tmp". If this program runs as
 * root, the server runs as another user, so every user must be able to enter TMPDIR. */
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

/* Refuses faults that are impossible for the server. Refuses --prove if no setting is known with
 * which the planned faults lose rows. */
static enum exit_code check_faults(const struct subject *subject, struct error *error)
{
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        if (subject->faults.counts[kind] > 0 && (subject->kind->refused & 1U << kind) != 0) {
            return usage_refuse(error,
                                "SQLite is part of append's process: use only kill and power in "
                                "--faults");
        }
    }
    if (subject->plan->certify.wants_proof && subject_unsafe(subject) == NULL) {
        return usage_refuse(error,
                            "--prove needs faults that can lose rows: add power%s to --faults",
                            subject->recipe->unsafe_kill == NULL ? "" : " or kill");
    }
    return EXIT_CODE_OK;
}

enum exit_code subject_choose_own(struct subject *subject, struct target *target,
                                  struct error *error)
{
    const char *name = subject->plan->certify.server;
    const struct recipe *recipe = recipes;
    while (recipe < recipes + COUNT_OF(recipes) && strcmp(recipe->name, name) != 0) {
        recipe++;
    }
    if (recipe == recipes + COUNT_OF(recipes)) {
        return usage_refuse(error,
                            "--server '%.40s': append can make only postgresql, mariadb or sqlite; "
                            "to test another server, give its TARGET instead",
                            name);
    }
    subject->recipe = recipe;
    subject->kind = recipe->kind;
    if (check_faults(subject, error) != EXIT_CODE_OK) {
        return EXIT_CODE_USAGE;
    }
    snprintf(subject->folder, sizeof subject->folder, "%s/append-certify-XXXXXX", choose_temp());
    if (mkdtemp(subject->folder) == NULL || chmod(subject->folder, 0755) != 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "cannot make %s: %s", subject->folder,
                  strerror(errno));
        return EXIT_CODE_CLIENT_LIMIT;
    }
    subject->first_sql = recipe->first_sql;
    target->port = recipe->port;
    target->user = recipe->user;
    target->database = recipe->database;
    subject->target = expand(subject, recipe->host != NULL ? recipe->host : recipe->path);
    target->host = recipe->host != NULL ? subject->target : NULL;
    target->path = recipe->path != NULL ? subject->target : NULL;
    return EXIT_CODE_OK;
}

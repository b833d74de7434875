/* Checks whether the power of the user's file system may be cut: see disk_adopt. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"
#include "certify/own_server.h"
#include "certify/processes.h"

#define COPY_NS (5 * MONO_NS_PER_S)
#define COPY_PAUSE_NS (50 * MONO_NS_PER_MS)

enum {
    LINE_BYTES = 4096,
    LINK_LEVELS = 2 /* number of levels of the data directory that are searched for links to other
                       file systems */
};

/* Returns the peer group in a field of a line of mountinfo, such as 7 in "shared:7"; 0 if the line
 * has no such field. */
static unsigned long read_group(const char *line, const char *field)
{
    const char *end = strstr(line, " - ");
    const char *found = strstr(line, field);
    return found != NULL && found < end ? strtoul(found + strlen(field), NULL, 10) : 0;
}

/* Reads a line of /proc/PID/mountinfo. Returns false if the line is malformed. */
static bool read_mount(const char *line, dev_t *device, struct disk_mount *mount)
{
    char number[40], root[DISK_PATH_BYTES], here[200], super[300];
    const char *rest = strstr(line, " - ");
    if (rest == NULL ||
        sscanf(line, "%*s %*s %39s %511s %511s %199s", number, root, mount->folder, here) != 4 ||
        sscanf(rest, " - %39s %199s %299s", mount->type, mount->source, super) != 3) {
        return false;
    }
    char *rest_of_number;
    const unsigned long of_major = strtoul(number, &rest_of_number, 10);
    const unsigned long of_minor =
        *rest_of_number == ':' ? strtoul(rest_of_number + 1, NULL, 10) : 0;
    *device = makedev((unsigned)of_major, (unsigned)of_minor);
    snprintf(mount->options, sizeof mount->options, "%s,%s", here, super);
    mount->is_whole = strcmp(root, "/") == 0;
    char *rest_of_ids;
    mount->id = (int)strtol(line, &rest_of_ids, 10);
    mount->parent = (int)strtol(rest_of_ids, NULL, 10);
    mount->peers = read_group(line, " shared:");
    mount->master = read_group(line, " master:");
    return true;
}

/* Reads the next mount from the file `mounts`. At the end of the file, closes the file and returns
 * false. Returns false if `mounts` is NULL. */
static bool next_mount(FILE *mounts, dev_t *device, struct disk_mount *mount)
{
    char line[LINE_BYTES];
    while (mounts != NULL && fgets(line, sizeof line, mounts) != NULL) {
        if (read_mount(line, device, mount)) {
            return true;
        }
    }
    if (mounts != NULL) {
        fclose(mounts);
    }
    return false;
}

unsigned disk_find_mount(dev_t device, struct disk_mount *found)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    struct disk_mount mount;
    dev_t number;
    unsigned count = 0;
    while (next_mount(mounts, &number, &mount)) {
        if (number == device) {
            *found = mount;
            count++;
        }
    }
    return count;
}

/* Returns the parent of a mount, from the mountinfo file of a process. If the parent is not found,
 * returns a mount whose peer groups are 0. */
static struct disk_mount find_parent(const char *mountinfo, const struct disk_mount *mount)
{
    FILE *mounts = fopen(mountinfo, "re");
    struct disk_mount parent = {.peers = 0}, other;
    dev_t device;
    while (next_mount(mounts, &device, &other)) {
        parent = other.id == mount->parent ? other : parent;
    }
    return parent;
}

static enum status refuse(struct error *error, const char *folder, const char *why,
                          const char *advice)
{
    error_set(error, ERROR_USAGE, 0, NULL, "--faults power: %.200s %s: %s, or leave power out",
              folder, why, advice);
    return STATUS_FATAL;
}

/* Returns whether a file system is mounted below a folder. */
static bool has_mounts_below(const char *folder)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    const size_t length = strlen(folder);
    struct disk_mount mount;
    dev_t device;
    bool has = false;
    while (next_mount(mounts, &device, &mount)) {
        has = has || (strncmp(mount.folder, folder, length) == 0 && mount.folder[length] == '/');
    }
    return has;
}

/* Returns whether the file system that is mounted on `root` has a file outside the data directory
 * `data`. Ignores the parent folders of `data`, and lost+found. Writes the path of the file to
 * `other`. A folder that cannot be read counts as such a file. */
static bool has_other_files(const char *root, const char *data, char *other, size_t size)
{
    char path[DISK_PATH_BYTES];
    const char *rest = data + strlen(root);
    bool has = false;
    snprintf(path, sizeof path, "%s", root);
    while (*rest == '/' && !has) {
        const size_t length = strcspn(rest + 1, "/");
        DIR *folder = opendir(path);
        has = folder == NULL;
        snprintf(other, size, "%s", path);
        for (const struct dirent *entry; !has && (entry = readdir(folder)) != NULL;) {
            const char *name = entry->d_name;
            const bool is_way = strlen(name) == length && strncmp(name, rest + 1, length) == 0;
            has = !is_way && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
                  strcmp(name, "lost+found") != 0;
            snprintf(other, size, "%s/%s", path, name);
        }
        if (folder != NULL) {
            closedir(folder);
        }
        const size_t used = strlen(path);
        snprintf(path + used, sizeof path - used, "/%.*s", (int)length, rest + 1);
        rest += 1 + length;
    }
    return has;
}

static bool is_on(const char *path, dev_t device)
{
    struct stat about;
    return stat(path, &about) == 0 && about.st_dev == device;
}

/* Returns whether `folder`, down to `levels` levels, has a link to another file system. A log or a
 * tablespace may be on that file system, whose power would not be cut. Writes the path of the link
 * to `other`. A folder that cannot be read counts as a link. */
static bool has_links_out(const char *folder, dev_t device, unsigned levels, char *other,
                          size_t size)
{
    DIR *entries = opendir(folder);
    bool has = false;
    for (const struct dirent *entry;
         entries != NULL && !has && (entry = readdir(entries)) != NULL;) {
        char path[DISK_PATH_BYTES + 260];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        snprintf(path, sizeof path, "%.*s/%s", DISK_PATH_BYTES, folder, entry->d_name);
        has = !is_on(path, device) && access(path, F_OK) == 0;
        snprintf(other, size, "%s", path);
        has = has || (levels > 1 && has_links_out(path, device, levels - 1, other, size));
    }
    if (entries != NULL) {
        closedir(entries);
    } else if (errno != ENOTDIR && errno != ENOENT && errno != ELOOP) {
        has = true; /* the folder may contain such a link */
        snprintf(other, size, "%s", folder);
    }
    return has;
}

/* Returns whether a process uses a device: its working directory, root directory, program or an
 * open file is on the device. */
static bool uses(pid_t pid, dev_t device)
{
    static const char *const links[] = {"cwd", "root", "exe"};
    char path[600];
    bool is = false;
    for (size_t i = 0; i < sizeof links / sizeof *links && !is; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, links[i]);
        is = is_on(path, device);
    }
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder != NULL && !is && (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%d/fd/%.255s", (int)pid, entry->d_name);
        is = entry->d_name[0] != '.' && is_on(path, device);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return is;
}

/* The data for a search through all processes. */
struct look {
    dev_t device;                /* device of the file system whose power is to be cut */
    pid_t server;                /* the server's first process */
    struct disk_mount mount;     /* mount of the file system */
    struct disk_mount parent;    /* parent of `mount` */
    char other[DISK_PATH_BYTES]; /* path of the file that writes_elsewhere found */
};

/* Returns the pid of the first process for which `fits` returns true, or 0. */
static pid_t find_process(bool (*fits)(pid_t pid, struct look *look), struct look *look)
{
    DIR *folder = opendir("/proc");
    pid_t found = 0;
    for (const struct dirent *entry;
         folder != NULL && found == 0 && (entry = readdir(folder)) != NULL;) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        found = pid > 0 && fits(pid, look) ? pid : 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

/* Returns whether a process that does not belong to the server uses the device. */
static bool is_other_user(pid_t pid, struct look *look)
{
    return uses(pid, look->device) && !processes_is_of(pid, look->server);
}

/* Returns whether a process may overwrite an open file: it opened the file for writing, and without
 * O_APPEND. */
static bool is_writable(pid_t pid, const char *descriptor)
{
    char path[80], line[80] = "";
    unsigned long flags = 0;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%.20s", (int)pid, descriptor);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        flags = strncmp(line, "flags:", 6) == 0 ? strtoul(line + 6, NULL, 8) : flags;
    }
    if (file != NULL) {
        fclose(file);
    }
    return (flags & O_ACCMODE) != O_RDONLY && (flags & O_APPEND) == 0;
}

/* Returns whether `pid` is a process of the server that may write to a block device, or to a file
 * on another file system. This device or file may contain a log or a table, and its power would not
 * be cut. Ignores the standard streams and files opened with O_APPEND, because servers write
 * messages to them. Also ignores deleted files. Writes the path to look->other. */
static bool writes_elsewhere(pid_t pid, struct look *look)
{
    char path[300];
    bool writes = false;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = processes_is_of(pid, look->server) ? opendir(path) : NULL;
    for (const struct dirent *entry;
         folder != NULL && !writes && (entry = readdir(folder)) != NULL;) {
        struct stat about;
        snprintf(path, sizeof path, "/proc/%d/fd/%.255s", (int)pid, entry->d_name);
        writes =
            strtol(entry->d_name, NULL, 10) > STDERR_FILENO && stat(path, &about) == 0 &&
            (S_ISBLK(about.st_mode) || (S_ISREG(about.st_mode) && about.st_dev != look->device)) &&
            about.st_nlink > 0 && is_writable(pid, entry->d_name);
        if (writes) {
            const ssize_t length = readlink(path, look->other, sizeof look->other - 1);
            look->other[length > 0 ? length : 0] = '\0';
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return writes;
}

/* Returns whether a process is in the mount namespace of this process. */
static bool shares_mounts(pid_t pid)
{
    char path[40], ours[80] = "", theirs[80] = "";
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
    return readlink("/proc/self/ns/mnt", ours, sizeof ours - 1) > 0 &&
           readlink(path, theirs, sizeof theirs - 1) > 0 && strcmp(ours, theirs) == 0;
}

/* Returns whether process `pid` still sees the device mounted after this process has unmounted
 * look->mount. When this process unmounts, the kernel also unmounts the device below mounts that
 * are peers or slaves of look->parent. All other mounts of the device remain. */
static bool keeps_mounted(pid_t pid, struct look *look)
{
    const struct disk_mount *parent = &look->parent;
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)pid);
    FILE *mounts = fopen(path, "re");
    struct disk_mount other;
    dev_t number;
    bool keeps = false;
    while (next_mount(mounts, &number, &other)) {
        if (number == look->device && other.id != look->mount.id && !keeps) {
            const struct disk_mount above = find_parent(path, &other);
            keeps = parent->peers == 0 ||
                    (above.peers != parent->peers && above.master != parent->peers);
        }
    }
    return keeps;
}

/* Returns the pid of a process in whose mount namespace the file system would stay mounted, or 0.
 * Repeats the search for COPY_NS, because a program that starts in a new namespace soon unmounts
 * its copies of the mounts. */
static pid_t await_keeper(struct look *look)
{
    const int64_t until_ns = mono_now_ns() + COPY_NS;
    pid_t keeper;
    while ((keeper = find_process(keeps_mounted, look)) != 0 && mono_now_ns() < until_ns) {
        mono_sleep(COPY_PAUSE_NS);
    }
    return keeper;
}

enum status disk_adopt(struct disk *disk, const char *data, pid_t server, struct error *error)
{
    static const char alone[] = "give the data directory a file system of its own";
    char *folder = realpath(data, NULL);
    char path[DISK_PATH_BYTES], other[DISK_PATH_BYTES + 260] = "", why[400];
    struct stat about;
    struct disk_mount mount;
    snprintf(path, sizeof path, "%s", folder == NULL ? data : folder);
    free(folder);
    if (data[0] == '\0') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--faults power: the server does not say where its data is: name the folder with "
                  "--data-directory");
        return STATUS_FATAL;
    }
    if (geteuid() != 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--faults power needs root, to shut down the server's file system: run append as "
                  "root, or leave power out");
        return STATUS_FATAL;
    }
    if (process_has_own_pid_namespace()) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "--faults power: append runs in a container with its own pid namespace, and cannot "
            "see whether processes outside use the file system: run append on the machine "
            "itself (docker run --pid host), or leave power out");
        return STATUS_FATAL;
    }
    if (path[0] != '/' || stat(path, &about) != 0 || !shares_mounts(server)) {
        return refuse(error, path,
                      "is not visible to append, which needs the same mounts as the server",
                      "run append where the server runs");
    }
    if (disk_find_mount(about.st_dev, &mount) != 1) {
        return refuse(error, path, "is on a file system that is mounted at several places",
                      "keep only the mount that the server uses");
    }
    if (has_mounts_below(mount.folder)) {
        return refuse(error, path, "is on a file system in which other file systems are mounted",
                      "unmount the other file systems");
    }
    if (!mount.is_whole) {
        return refuse(error, path,
                      "is on a mount of a folder, which hides the rest of the file system",
                      "mount the whole file system");
    }
    if (strcmp(mount.type, "ext4") != 0 && strcmp(mount.type, "xfs") != 0) {
        return refuse(error, path, "is not on ext4 or XFS", alone);
    }
    struct stat source;
    if (stat(mount.source, &source) != 0 || !S_ISBLK(source.st_mode) ||
        source.st_rdev != about.st_dev) {
        return refuse(error, path, "is on a device that is not in /dev", alone);
    }
    const size_t length = strlen(mount.folder);
    if (strcmp(mount.folder, "/") == 0 || strchr(mount.folder, '\\') != NULL ||
        strncmp(path, mount.folder, length) != 0) {
        return refuse(error, path, "is on the root file system", alone);
    }
    if (has_other_files(mount.folder, path, other, sizeof other)) {
        snprintf(why, sizeof why, "is not alone on its file system (%.300s)", other);
        return refuse(error, path, why, alone);
    }
    if (has_links_out(path, about.st_dev, LINK_LEVELS, other, sizeof other)) {
        const char *part = other[strlen(path)] == '/' ? other + strlen(path) + 1 : other;
        snprintf(why, sizeof why,
                 "has a part that is on another file system or cannot be read (%.300s)", part);
        return refuse(error, path, why, alone);
    }
    struct look look = {.device = about.st_dev,
                        .server = server,
                        .mount = mount,
                        .parent = find_parent("/proc/self/mountinfo", &mount)};
    if (find_process(writes_elsewhere, &look) > 0) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "--faults power: the server writes %.90s, which is outside the file system of its "
            "data: move the file there, or leave power out",
            look.other);
        return STATUS_FATAL;
    }
    const pid_t user = find_process(is_other_user, &look);
    if (user > 0) {
        snprintf(why, sizeof why, "is on a file system that process %d uses", (int)user);
        return refuse(error, path, why, "end that process");
    }
    const pid_t keeper = await_keeper(&look);
    if (keeper > 0) {
        snprintf(why, sizeof why, "is also mounted in the mount namespace of process %d",
                 (int)keeper);
        return refuse(error, path, why, "unmount it there or end that process");
    }
    disk->belongs_to_user = true;
    disk->mount = mount;
    disk->folder = disk->mount.folder;
    disk->type = disk->mount.type;
    return STATUS_OK;
}

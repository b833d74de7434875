/* The file system of the user's server, as a disk whose power may be cut. */
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "certify/own_server.h"
#include "certify/processes.h"

enum {
    LINE_BYTES = 4096
};

/* Reads a line of mountinfo. Returns false if it has another form. */
static bool read_mount(const char *line, dev_t *device, struct disk_mount *mount)
{
    char number[40], here[200], super[300];
    const char *rest = strstr(line, " - ");
    if (rest == NULL ||
        sscanf(line, "%*s %*s %39s %*s %511s %199s", number, mount->folder, here) != 3 ||
        sscanf(rest, " - %39s %199s %299s", mount->type, mount->source, super) != 3) {
        return false;
    }
    char *rest_of_number;
    const unsigned long of_major = strtoul(number, &rest_of_number, 10);
    const unsigned long of_minor =
        *rest_of_number == ':' ? strtoul(rest_of_number + 1, NULL, 10) : 0;
    *device = makedev((unsigned)of_major, (unsigned)of_minor);
    snprintf(mount->options, sizeof mount->options, "%s,%s", here, super);
    return true;
}

unsigned disk_find_mount(dev_t device, struct disk_mount *found)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[LINE_BYTES];
    unsigned count = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        struct disk_mount mount;
        dev_t number;
        if (read_mount(line, &number, &mount) && number == device) {
            *found = mount;
            count++;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static enum status refuse(struct error *error, const char *folder, const char *why)
{
    error_set(
        error, ERROR_USAGE, 0, NULL,
        "--faults power: %.200s %s: give the data directory a file system of its own, or leave "
        "power out",
        folder, why);
    return STATUS_FATAL;
}

/* Looks for a file system that is mounted below a folder. */
static bool has_mounts_below(const char *folder)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[LINE_BYTES];
    const size_t length = strlen(folder);
    bool has = false;
    while (file != NULL && !has && fgets(line, sizeof line, file) != NULL) {
        struct disk_mount mount;
        dev_t device;
        has = read_mount(line, &device, &mount) && strncmp(mount.folder, folder, length) == 0 &&
              mount.folder[length] == '/';
    }
    if (file != NULL) {
        fclose(file);
    }
    return has;
}

/* Looks for a file that is not on the way from the root of a file system to the data directory.
 * Writes its path to `other`. */
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

/* Looks in the data directory and its folders for a link to another file system, which would keep
 * its power: a log or a tablespace. Writes its path to `other`. */
static bool has_links_out(const char *data, dev_t device, char *other, size_t size)
{
    static const char *const patterns[] = {"/*", "/*/*"};
    bool has = false;
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns && !has; p++) {
        char pattern[DISK_PATH_BYTES + 8];
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s%s", data, patterns[p]);
        if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) {
            continue;
        }
        for (size_t i = 0; i < found.gl_pathc && !has; i++) {
            has = !is_on(found.gl_pathv[i], device) && access(found.gl_pathv[i], F_OK) == 0;
            snprintf(other, size, "%s", found.gl_pathv[i]);
        }
        globfree(&found);
    }
    return has;
}

/* Returns whether a process has its folder, root, program or an open file on a device. */
static bool uses(const char *pid, dev_t device)
{
    static const char *const links[] = {"cwd", "root", "exe"};
    char path[600];
    bool is = false;
    for (size_t i = 0; i < sizeof links / sizeof *links && !is; i++) {
        snprintf(path, sizeof path, "/proc/%.20s/%s", pid, links[i]);
        is = is_on(path, device);
    }
    snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder != NULL && !is && (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%.20s/fd/%.255s", pid, entry->d_name);
        is = entry->d_name[0] != '.' && is_on(path, device);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return is;
}

/* Returns a process that uses the device and does not belong to the server, or 0. */
static pid_t find_other_user(dev_t device, pid_t server)
{
    DIR *folder = opendir("/proc");
    pid_t found = 0;
    for (const struct dirent *entry;
         folder != NULL && found == 0 && (entry = readdir(folder)) != NULL;) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        found = pid > 0 && uses(entry->d_name, device) && !processes_is_of(pid, server) ? pid : 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

/* Returns whether the server sees the same mounts as this process. */
static bool shares_mounts(pid_t server)
{
    char path[40], ours[80] = "", theirs[80] = "";
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)server);
    return readlink("/proc/self/ns/mnt", ours, sizeof ours - 1) > 0 &&
           readlink(path, theirs, sizeof theirs - 1) > 0 && strcmp(ours, theirs) == 0;
}

enum status disk_adopt(struct disk *disk, const char *data, pid_t server, struct error *error)
{
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
        return refuse(error, path, "cannot lose its power without root");
    }
    if (path[0] != '/' || stat(path, &about) != 0 || !shares_mounts(server)) {
        return refuse(error, path,
                      "is not visible to append, which needs the same mounts as the server");
    }
    if (disk_find_mount(about.st_dev, &mount) != 1 || has_mounts_below(mount.folder)) {
        return refuse(error, path, "is on a file system with several mounts");
    }
    if (strcmp(mount.type, "ext4") != 0 && strcmp(mount.type, "xfs") != 0) {
        return refuse(error, path, "is not on ext4 or XFS");
    }
    const size_t length = strlen(mount.folder);
    if (strcmp(mount.folder, "/") == 0 || strchr(mount.folder, '\\') != NULL ||
        strncmp(path, mount.folder, length) != 0) {
        return refuse(error, path, "is on the file system of the system");
    }
    if (has_other_files(mount.folder, path, other, sizeof other)) {
        snprintf(why, sizeof why, "is not alone on its file system (%.300s)", other);
        return refuse(error, path, why);
    }
    if (has_links_out(path, about.st_dev, other, sizeof other)) {
        snprintf(why, sizeof why, "has a part on another file system (%.300s)", other);
        return refuse(error, path, why);
    }
    const pid_t user = find_other_user(about.st_dev, server);
    if (user > 0) {
        snprintf(why, sizeof why, "is on a file system that process %d uses", (int)user);
        return refuse(error, path, why);
    }
    disk->is_theirs = true;
    disk->mount = mount;
    disk->folder = disk->mount.folder;
    disk->type = disk->mount.type;
    return STATUS_OK;
}

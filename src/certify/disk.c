#include "certify/own_server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"

/* EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN have this value. Defined here, because programs cannot
 * include the kernel's files fs/ext4/ext4.h and fs/xfs/libxfs/xfs_fs.h. */
#define SHUTDOWN_IOCTL _IOR('X', 125, uint32_t)
#define SHUTDOWN_NO_LOG_FLUSH 2
/* OPEN_TREE_CLONE of linux/mount.h. Defined here, because older versions of sys/mount.h do not have
 * it. */
#define TREE_CLONE 1

#define MAKE_NS (60 * MONO_NS_PER_S)
#define UNMOUNT_NS (10 * MONO_NS_PER_S)
#define UNMOUNT_PAUSE_NS (20 * MONO_NS_PER_MS)

enum {
    LOOP_TRIES = 50
};

static enum status fail(struct error *error, const char *what, const char *path)
{
    const int number = errno;
    error_set(error, ERROR_SYSTEM, number, NULL, "%s %s: %s%s", what, path, strerror(number),
              number == EPERM || number == EACCES
                  ? ": append needs root to make its own disk (in a container: --privileged)"
                  : "");
    return STATUS_FATAL;
}

/* Makes the image file with a file system in it. Then unlinks the file, so that the file disappears
 * when this program ends. */
static enum status make_image(struct disk *disk, const char *path, uint64_t bytes,
                              struct error *error)
{
    disk->image = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (disk->image < 0) {
        return fail(error, "cannot make the disk image", path);
    }
    /* allocates the whole image now, because a later write to a sparse file could fail on a full
     * disk */
    const int number = posix_fallocate(disk->image, 0, (off_t)bytes);
    if (number != 0) {
        errno = number;
        error_set(error, ERROR_SYSTEM, number, NULL,
                  "cannot make the disk image %s of %" PRIu64
                  " MiB: %s: use --out to name a folder with more space",
                  path, bytes >> 20, strerror(number));
        unlink(path);
        return STATUS_FATAL;
    }
    char program[20];
    snprintf(program, sizeof program, "mkfs.%s", disk->type);
    const bool is_xfs = strcmp(disk->type, "xfs") == 0;
    const char *const argv[] = {program, is_xfs ? "-f" : "-F", "-q", path, NULL};
    struct child_output output;
    const enum child_result result = child_run(&output, argv, -1, MAKE_NS);
    const bool is_made = result == CHILD_EXITED && output.end.code == 0;
    if (result == CHILD_NOT_FOUND) {
        error_set(error, ERROR_SYSTEM, ENOENT, NULL, "%s is not installed (Debian: package %s)",
                  program, is_xfs ? "xfsprogs" : "e2fsprogs");
    } else if (!is_made) {
        error_set(error, ERROR_SYSTEM, 0, NULL, "%s failed: %.200s", program,
                  output.err.length > 0 ? buffer_text(&output.err) : "no message");
    }
    child_output_fini(&output);
    unlink(path);
    return is_made ? STATUS_OK : STATUS_FATAL;
}

/* Attaches the image to a free loop device. The kernel frees the device when no program and no
 * mount uses it. Returns the descriptor of the open device, or -1 with errno set. */
static int attach(struct disk *disk)
{
    const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    int device = -1;
    for (int i = 0; control >= 0 && device < 0 && i < LOOP_TRIES; i++) {
        const int number = ioctl(control, LOOP_CTL_GET_FREE);
        if (number < 0) {
            break;
        }
        snprintf(disk->device, sizeof disk->device, "/dev/loop%d", number);
        device = open(disk->device, O_RDWR | O_CLOEXEC);
        struct loop_config config = {.fd = (uint32_t)disk->image};
        config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
        if (device >= 0 && ioctl(device, LOOP_CONFIGURE, &config) != 0) {
            const int reason = errno;
            close(device);
            device = -1;
            errno = reason;
        }
        if (device < 0 && errno != EBUSY) { /* another program may have taken the device */
            break;
        }
    }
    const int reason = errno;
    if (control >= 0) {
        close(control);
    }
    errno = reason;
    return device;
}

static enum status mount_disk(struct disk *disk, struct error *error)
{
    const int device = attach(disk);
    if (device < 0) {
        disk->device[0] = '\0';
        return fail(error, "cannot attach a loop device for", disk->folder);
    }
    const int result = mount(disk->device, disk->folder, disk->type, MS_NOATIME, NULL);
    const int reason = errno;
    close(device); /* the mount keeps the loop device attached */
    if (result != 0) {
        errno = reason;
        disk->device[0] = '\0';
        return fail(error, "cannot mount the disk image on", disk->folder);
    }
    return STATUS_OK;
}

/* Unmounts the disk, and waits until processes that were killed have closed their files. Does
 * nothing if no disk is mounted. */
static enum status unmount_disk(struct disk *disk, struct error *error)
{
    const int64_t until_ns = mono_now_ns() + UNMOUNT_NS;
    while (umount(disk->folder) != 0 && errno != EINVAL) {
        if (errno != EBUSY || mono_now_ns() > until_ns) {
            return fail(error, "cannot unmount", disk->folder);
        }
        mono_sleep(UNMOUNT_PAUSE_NS);
    }
    disk->device[0] = '\0';
    return STATUS_OK;
}

enum status disk_enter_namespace(struct error *error)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0) {
        return fail(error, "cannot make a mount namespace for", "power faults");
    }
    return STATUS_OK;
}

enum status disk_create(struct disk *disk, const char *path, uint64_t bytes, struct error *error)
{
    enum status status = make_image(disk, path, bytes, error);
    status = status == STATUS_OK ? mount_disk(disk, error) : status;
    if (status != STATUS_OK) {
        disk_destroy(disk);
    }
    return status;
}

void disk_sync(const struct disk *disk)
{
    const int folder =
        disk->image < 0 ? -1 : open(disk->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        syncfs(folder);
        close(folder);
    }
}

enum status disk_cut_power(struct disk *disk, struct error *error)
{
    const uint32_t how = SHUTDOWN_NO_LOG_FLUSH;
    const int folder = open(disk->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    disk->is_cut = folder >= 0 && ioctl(folder, SHUTDOWN_IOCTL, &how) == 0;
    if (!disk->is_cut) {
        fail(error, "cannot shut the file system down:", disk->folder);
    }
    if (folder >= 0) {
        close(folder);
    }
    return disk->is_cut ? STATUS_OK : STATUS_FATAL;
}

/* Prints the commands with which the user can mount the file system again. Returns FATAL; *error
 * says that the file system could not be mounted again, followed by `why`, which may be "". */
static enum status fail_remount(const struct disk *disk, bool is_mounted, const char *why,
                                struct error *error)
{
    const struct disk_mount *mount = &disk->mount;
    const char *first = disk->is_guarded ? "chattr -i " : "";
    first = is_mounted ? "umount " : first;
    const bool has_first = first[0] != '\0';
    notice_print("to mount the server's file system again: %s%s%smount -t %s -o %s %s %s", first,
                 has_first ? mount->folder : "", has_first ? " && " : "", mount->type,
                 mount->options, mount->source, mount->folder);
    error_clear(error);
    error_set(error, ERROR_SYSTEM, 0, NULL,
              "the file system of the server, %.100s, could not be mounted again%s", mount->folder,
              why);
    return STATUS_FATAL;
}

/* Mounts the user's file system as it was mounted before. */
static enum status mount_theirs(const struct disk *disk, struct error *error)
{
    const struct disk_mount *mount = &disk->mount;
    const char *const argv[] = {"mount",        "-t",          mount->type,   "-o",
                                mount->options, mount->source, mount->folder, NULL};
    const struct child_start start = {.argv = argv, .in = -1, .out = -1, .err = 2, .kept = -1};
    struct child_end end = {.code = -1};
    pid_t pid;
    const int64_t until_ns = mono_now_ns() + MAKE_NS;
    const bool is_started = child_start(&pid, &start) == 0;
    bool has_ended = false;
    /* waits even after Ctrl-C: the server needs its file system */
    while (is_started && !has_ended && mono_now_ns() < until_ns) {
        has_ended = child_wait(pid, UNMOUNT_PAUSE_NS, &end);
    }
    return has_ended && end.signal == 0 && end.code == 0 ? STATUS_OK
                                                         : fail_remount(disk, false, "", error);
}

/* Waits until no file system uses the device. Returns false on failure or after UNMOUNT_NS. A file
 * system that is still mounted in another mount namespace stays shut down, and a new mount of the
 * device would be shut down also. */
static bool await_last_mount(const struct disk *disk)
{
    const int64_t until_ns = mono_now_ns() + UNMOUNT_NS;
    int device; /* opened with O_EXCL, which fails while a file system uses the device */
    while ((device = open(disk->mount.source, O_RDONLY | O_EXCL | O_CLOEXEC)) < 0) {
        if (errno != EBUSY || mono_now_ns() > until_ns) {
            return false;
        }
        mono_sleep(UNMOUNT_PAUSE_NS);
    }
    close(device);
    return true;
}

/* Opens the folder on which the file system is mounted. The mount hides this folder, which is part
 * of the parent folder's file system. Returns -1 if the kernel does not allow this. */
static int open_below(const struct disk_mount *mount)
{
    const char *name = strrchr(mount->folder, '/');
    char parent[DISK_PATH_BYTES];
    if (name == NULL) {
        return -1;
    }
    snprintf(parent, sizeof parent, "%.*s/", (int)(name - mount->folder), mount->folder);
    const int tree = (int)syscall(SYS_open_tree, AT_FDCWD, parent, TREE_CLONE | O_CLOEXEC);
    const int folder =
        tree < 0 ? -1 : openat(tree, name + 1, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (tree >= 0) {
        close(tree);
    }
    return folder;
}

/* Makes the hidden folder below the mount immutable, or mutable again. While the file system is not
 * mounted, a service manager can then not make a new database in this folder. A folder that the
 * user has made immutable is not changed. */
static void guard(struct disk *disk, int folder, bool is_guarded)
{
    int flags = 0;
    if (folder < 0 || disk->is_guarded == is_guarded ||
        ioctl(folder, FS_IOC_GETFLAGS, &flags) != 0 ||
        ((flags & FS_IMMUTABLE_FL) != 0) == is_guarded) {
        return;
    }
    flags ^= FS_IMMUTABLE_FL;
    if (ioctl(folder, FS_IOC_SETFLAGS, &flags) == 0) {
        disk->is_guarded = is_guarded;
    }
}

/* Unmounts the user's file system, makes the kernel drop its cached pages of the device, and mounts
 * the file system again. */
static enum status remount_theirs(struct disk *disk, struct error *error)
{
    /* if this is a loop device, the open descriptor keeps it attached after its last unmount */
    const int device = open(disk->mount.source, O_RDONLY | O_CLOEXEC);
    const int below = open_below(&disk->mount);
    guard(disk, below, true);
    enum status status = unmount_disk(disk, error);
    if (status != STATUS_OK) {
        guard(disk, below, false);
        char why[100];
        snprintf(why, sizeof why, ", because it cannot be unmounted: %s",
                 strerror(error->native_code));
        status = fail_remount(disk, true, why, error);
    } else if (!await_last_mount(disk)) {
        status = fail_remount(disk, false, ", because another mount namespace has not unmounted it",
                              error);
    }
    if (status == STATUS_OK) {
        if (device >= 0) {
            ioctl(device, BLKFLSBUF);
        }
        status = mount_theirs(disk, error);
        if (status == STATUS_OK) {
            guard(disk, below, false);
        }
    }
    if (below >= 0) {
        close(below);
    }
    if (device >= 0) {
        close(device);
    }
    return status;
}

enum status disk_remount(struct disk *disk, struct error *error)
{
    enum status status;
    if (disk->belongs_to_user) {
        status = remount_theirs(disk, error);
    } else {
        status = unmount_disk(disk, error);
        status = status == STATUS_OK ? mount_disk(disk, error) : status;
    }
    disk->is_cut = disk->is_cut && status != STATUS_OK;
    return status;
}

void disk_destroy(struct disk *disk)
{
    struct error ignored = {.kind = ERROR_NONE};
    if (disk->belongs_to_user && disk->is_cut && disk_remount(disk, &ignored) != STATUS_OK) {
        notice_print("%s", ignored.text);
    }
    if (disk->device[0] != '\0' && unmount_disk(disk, &ignored) != STATUS_OK) {
        umount2(disk->folder, MNT_DETACH);
    }
    if (disk->image >= 0) {
        close(disk->image);
    }
    disk->image = -1;
    disk->device[0] = '\0';
}

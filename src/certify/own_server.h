/* The orders to a server, and the parts on which a server of append's own runs: a disk and a
 * keeper.
 */
#ifndef CERTIFY_OWN_SERVER_H
#define CERTIFY_OWN_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "append/error.h"

/*
 * A disk that can lose power: a file system of its own in an image file, on a loop device.
 *
 * Power loss is FS_IOC_SHUTDOWN without flushing the log (ext4, XFS): data that the file system has
 * not yet sent to the device is lost, even from its journal; data that was sent counts as stable,
 * as on a disk that does not lie. Then the file system is unmounted and mounted again.
 *
 * Only this process and its children see the mount (in their own mount namespace), and the kernel
 * removes the loop device with the last mount. So nothing stays after the processes have ended,
 * however they ended. Needs CAP_SYS_ADMIN. To be called in the main thread, while there are no
 * other threads.
 */
enum {
    DISK_PATH_BYTES = 512,
    DISK_OPTIONS_BYTES = 520
};

/* A mounted file system, as /proc/self/mountinfo shows it. */
struct disk_mount {
    char folder[DISK_PATH_BYTES];
    char type[40], source[200];
    char options[DISK_OPTIONS_BYTES];
    bool is_whole; /* shows the whole file system, not only a folder of it */
    int id, parent;
    unsigned long peers, master; /* numbers of the peer groups (see mount_namespaces(7)) of which
                                    the mount is a member and a slave; 0: no group */
};

struct disk {
    const char *type; /* type of the file system: "ext4" or "xfs" */
    int image; /* descriptor of the file with the image; the file has no name; negative: no image */
    const char *folder; /* folder on which the disk is mounted */
    char device[40]; /* name of the loop device, "/dev/loop3"; "" while the disk is not mounted */
    bool is_cut;     /* the power was cut, and the disk is not mounted again yet */
    bool is_users;   /* the file system is the user's, and `mount` describes it */
    bool is_guarded; /* append has made the folder below the user's file system immutable */
    struct disk_mount mount;
};

/* Moves this process to a mount namespace of its own. Called once, before disk_create. */
enum status disk_enter_namespace(struct error *error);

/* Makes an image of `bytes` bytes in a file at `path`, with a file system of the type disk->type,
 * and mounts it on the folder disk->folder. Removes the file's name at once. On failure nothing
 * stays. */
enum status disk_create(struct disk *disk, const char *path, uint64_t bytes, struct error *error);

/* Makes the file system write all changed data to the disk. Does nothing if there is no image. */
void disk_sync(const struct disk *disk);

/* Finds the mount of a device. Returns how many times the device is mounted; the last mount is in
 * *found. */
unsigned disk_find_mount(dev_t device, struct disk_mount *found);

/* Takes the file system of the user's server as the disk whose power is cut. The file system must
 * be ext4 or XFS, and hold only `data`, the server's data directory. Only `server` and its
 * descendants may use the file system, no other mount namespace may have it mounted, and the server
 * may not write files elsewhere. Otherwise refuses, with the reason in *error, and changes nothing.
 * disk_destroy does not remove such a disk. */
enum status disk_adopt(struct disk *disk, const char *data, pid_t server, struct error *error);

/* Cuts the power. The file system then refuses all access. */
enum status disk_cut_power(struct disk *disk, struct error *error);

/* Waits until no process uses the disk, then unmounts the disk and mounts it again. */
enum status disk_remount(struct disk *disk, struct error *error);

/* Unmounts the disk, and removes the image. Does nothing if there is no disk. */
void disk_destroy(struct disk *disk);

/* The orders to a server. */
enum server_order {
    SERVER_MAKE,     /* runs the command that makes the data directory, and waits for its end; only
                        for append's own server */
    SERVER_START,    /* starts the server */
    SERVER_CHECK,    /* fails if append's own server has ended, or if the command that starts the
                        user's server has failed */
    SERVER_EXPECT,   /* comes before each fault: fails if the process of the user's server has
                        ended or is not known */
    SERVER_KILL,     /* sends SIGKILL to all processes, and waits until none is left */
    SERVER_STOP,     /* sends SIGSTOP to all processes */
    SERVER_CONTINUE, /* sends SIGCONT to all processes */
    SERVER_SHUT,     /* shuts the server down cleanly, and waits for its end */
};

/*
 * The keeper: a process that starts, breaks and ends a server of append's own.
 *
 * The keeper is the first process of a PID namespace, in which the server runs as another user. So
 * SIGKILL reaches all of the server's processes at once, none is left over as a zombie, and the
 * kernel ends all of them, with the server's shared memory, when the keeper ends. The keeper ends
 * when this program ends, whatever the reason. Where namespaces are not allowed, the keeper adopts
 * the orphans among its descendants and finds the server's processes by /proc. To be called in the
 * main thread, while there are no other threads.
 */
/* The commands that make and start a server. All members are borrowed and constant. */
struct keeper_server {
    const char *const *make;  /* argv of the command that makes the data directory; the program is a
                                 path */
    const char *const *start; /* argv of the command that starts the server */
    const char *folder;       /* working directory of both commands */
    uid_t user;               /* user that runs both commands; 0: the user of this program */
    gid_t group;
    int log;         /* descriptor for the output of both commands */
    int shut_signal; /* signal that makes the server shut down cleanly */
};

struct keeper {
    pid_t pid; /* the keeper's process; 0: not running */
    int channel;
    bool has_namespace;
};

enum status keeper_begin(struct keeper *keeper, const struct keeper_server *server,
                         struct error *error);

/* Makes the keeper carry out an order, and waits until the order is done. */
enum status keeper_order(struct keeper *keeper, enum server_order order, struct error *error);

/* Ends the server and the keeper. */
void keeper_end(struct keeper *keeper);

#endif

/* The orders to a server, and what a server that this program makes needs: a disk and a keeper. */
#ifndef CERTIFY_OWN_SERVER_H
#define CERTIFY_OWN_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "append/error.h"

/*
 * A disk that can lose power: a separate file system in an image file, on a loop device.
 *
 * To cut the power, disk_cut_power shuts the file system down with an ioctl that does not flush the
 * journal (ext4, XFS). Data and journal entries that the file system has not yet sent to the device
 * are lost. Data that it has sent is kept, as on a disk that never loses confirmed writes.
 * Afterwards disk_remount unmounts the file system and mounts it again.
 *
 * The mount is in the mount namespace of this process and its children, and the kernel removes the
 * loop device after the last unmount. So the disk disappears when these processes have ended, even
 * if they were killed. Needs CAP_SYS_ADMIN. To be called in the main thread, while there are no
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
    bool is_whole; /* the mount shows the whole file system, not only one of its folders */
    int id, parent;
    /* peer groups, see mount_namespaces(7): `peers` is the group that has the mount as a member,
     * `master` is the group that has it as a slave; 0: no group */
    unsigned long peers, master;
};

struct disk {
    const char *type;   /* type of the file system: "ext4" or "xfs" */
    int image;          /* descriptor of the image file, which is unlinked; negative: no image */
    const char *folder; /* folder on which the disk is mounted */
    char device[40]; /* name of the loop device, "/dev/loop3"; "" while the disk is not mounted */
    bool is_cut;     /* the power was cut, and the disk has not been mounted again */
    bool belongs_to_user; /* the file system is the user's, and `mount` describes it */
    bool is_guarded;      /* this program has made the folder below the user's mount immutable */
    struct disk_mount mount;
};

/* Moves this process to a new mount namespace. Called once, before disk_create. */
enum status disk_enter_namespace(struct error *error);

/* Makes an image file of `bytes` bytes at `path` with a file system of the type disk->type, and
 * mounts it on disk->folder. Unlinks the image file. On failure removes everything again. */
enum status disk_create(struct disk *disk, const char *path, uint64_t bytes, struct error *error);

/* Makes the file system write all changed data to the disk. Does nothing if there is no image. */
void disk_sync(const struct disk *disk);

/* Counts the mounts of a device, and copies the last of them to *found. Returns 0 if the device is
 * not mounted. */
unsigned disk_find_mount(dev_t device, struct disk_mount *found);

/* Prepares *disk for power cuts of the user's file system. This file system must be ext4 or XFS and
 * contain only the server's data directory `data`. Only the process `server` and its descendants
 * may use it, it may not be mounted in other mount namespaces, and the server may not write files
 * on other file systems. If a condition is not met, changes nothing and fails, with the reason in
 * *error. disk_destroy does not remove the user's file system. */
enum status disk_adopt(struct disk *disk, const char *data, pid_t server, struct error *error);

/* Cuts the power of the disk. The file system refuses all access until disk_remount. */
enum status disk_cut_power(struct disk *disk, struct error *error);

/* Waits until no process uses the disk, then unmounts the disk and mounts it again. */
enum status disk_remount(struct disk *disk, struct error *error);

/* Unmounts the disk and frees its image. Mounts a user's file system again if its power was cut.
 * Does nothing if there is no disk. */
void disk_destroy(struct disk *disk);

/* The orders to a server. */
enum server_order {
    SERVER_MAKE,   /* runs the command that makes the data directory, and waits until it has ended;
                      only for a server that this program makes */
    SERVER_START,  /* starts the server */
    SERVER_CHECK,  /* fails if a server that this program made has ended, or if the command that
                      starts the user's server has failed */
    SERVER_EXPECT, /* given before each fault: fails if the process of the user's server has ended
                      or is unknown */
    SERVER_KILL,   /* kills all processes of the server, and waits until they have ended */
    SERVER_STOP,   /* sends SIGSTOP to all processes of the server */
    SERVER_CONTINUE, /* sends SIGCONT to all processes of the server */
    SERVER_SHUT,     /* shuts the server down cleanly, and waits until it has ended */
};

/*
 * The keeper: a process that starts, breaks and ends a server that this program made.
 *
 * The keeper is the first process of a PID namespace in which the server runs. So one SIGKILL
 * reaches all processes of the server, and the keeper reaps them. When the keeper ends, the kernel
 * ends these processes and frees the server's shared memory. The keeper ends when this program
 * ends, even if this program was killed. If the system does not allow namespaces, the keeper finds
 * the server's processes in /proc, and orphans among its descendants become its children. To be
 * called in the main thread, while there are no other threads.
 */
/* The commands that make and start a server. All members are borrowed and constant. */
struct keeper_server {
    /* argv of the command that makes the data directory; argv[0] is a path */
    const char *const *make;
    const char *const *start; /* argv of the command that starts the server; argv[0] is a path */
    const char *folder;       /* working directory of both commands */
    uid_t user;               /* user that runs both commands; 0: the user of this program */
    gid_t group;
    int log;         /* descriptor of the file that receives the output of both commands */
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

/* What a server of append's own stands on: a disk and a keeper. */
#ifndef CERTIFY_OWN_SERVER_H
#define CERTIFY_OWN_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "append/error.h"

/*
 * A disk that can lose power: a file system of its own in an image file, on a loop device.
 *
 * Power loss is FS_IOC_SHUTDOWN without flushing the log (ext4, XFS): what the file system has not
 * yet sent to the device is gone, also from its own journal; what was sent counts as stable, as on
 * a disk that does not lie. Then the file system is unmounted and mounted again.
 *
 * The mount is visible to this process and its children only (a mount namespace of its own), and
 * the loop device goes with the last mount, so that nothing stays when the processes have ended,
 * however they ended. Needs CAP_SYS_ADMIN. Main thread, while it is the only one.
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
    int id, parent;
    unsigned long peers, master; /* peer groups (see mount_namespaces(7)); 0: none */
};

struct disk {
    const char *type;   /* "ext4" or "xfs" */
    int image;          /* file with the image, which has no name; negative: none */
    const char *folder; /* where it is mounted */
    char device[40];    /* "/dev/loop3"; "" while it is not mounted */
    bool is_cut;        /* its power was cut, and it is not mounted again yet */
    bool is_theirs;     /* the file system is the user's, and `mount` describes it */
    struct disk_mount mount;
};

/* Moves this process to a mount namespace of its own. Called once, before disk_create. */
enum status disk_enter_namespace(struct error *error);

/* Makes an image of `bytes` with a file system disk->type in a file at `path`, whose name goes at
 * once, and mounts it on the folder disk->folder. On failure nothing stays. */
enum status disk_create(struct disk *disk, const char *path, uint64_t bytes, struct error *error);

/* Writes everything to the disk. */
void disk_sync(const struct disk *disk);

/* Finds the mount of a device. Returns how often it is mounted; the last mount is in *found. */
unsigned disk_find_mount(dev_t device, struct disk_mount *found);

/* Takes the file system of the user's server as the disk whose power is cut, if it is ext4 or XFS,
 * holds nothing but `data`, the server's data directory, no process but `server` and its
 * descendants uses it, the server writes no file elsewhere, and no other mount namespace keeps it
 * mounted. Else refuses, with the reason in *error, and touches nothing. Such a disk is not removed
 * by disk_destroy. */
enum status disk_adopt(struct disk *disk, const char *data, pid_t server, struct error *error);

/* Cuts the power. The file system then refuses all access. */
enum status disk_cut_power(struct disk *disk, struct error *error);

/* Unmounts and mounts the disk again, once no process uses it. */
enum status disk_remount(struct disk *disk, struct error *error);

/* Unmounts the disk, and removes the image. Does nothing if there is no disk. */
void disk_destroy(struct disk *disk);

/*
 * The keeper: a process that starts, breaks and ends a server of append's own.
 *
 * The keeper is the first process of a PID namespace, in which the server runs as another user. So
 * SIGKILL reaches all of the server's processes at once, none is left over as a zombie, and the
 * kernel ends them all, with the server's shared memory, when the keeper ends; the keeper ends with
 * this program, whatever ends it. Where namespaces are not allowed, the keeper adopts the orphans
 * among its descendants and finds the server's processes by /proc. Main thread, while it is the
 * only one.
 */
enum keeper_order {
    KEEPER_MAKE,     /* run the command that makes the data directory, and wait for its end */
    KEEPER_START,    /* start the server */
    KEEPER_CHECK,    /* fails if the server has ended */
    KEEPER_KILL,     /* SIGKILL all processes, and wait until none is left */
    KEEPER_STOP,     /* SIGSTOP all processes */
    KEEPER_CONTINUE, /* SIGCONT all processes */
    KEEPER_SHUT,     /* the server's signal for a clean shutdown, and wait for its end */
};

/* How a server is made and started. All members are borrowed and constant. */
struct keeper_server {
    const char *const *make;  /* argv of the command that makes the data directory; the program is a
                                 path; NULL: nothing to make */
    const char *const *start; /* argv of the server */
    const char *folder;       /* working directory */
    uid_t user;               /* both commands run as this user; 0: as this program's */
    gid_t group;
    int log;         /* descriptor for the output of both commands */
    int shut_signal; /* the signal for a clean shutdown */
};

struct keeper {
    pid_t pid; /* 0: not running */
    int channel;
    bool has_namespace;
};

enum status keeper_begin(struct keeper *keeper, const struct keeper_server *server,
                         struct error *error);

/* Has the keeper carry out an order, and waits for it. */
enum status keeper_order(struct keeper *keeper, enum keeper_order order, struct error *error);

/* Ends the server and the keeper. */
void keeper_end(struct keeper *keeper);

#endif

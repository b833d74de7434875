/* Facts about the storage that holds a server's data. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

#include "base/text.h"
#include "certify/subject.h"

static void add_place(struct certificate *certificate, const char *name, const char *value)
{
    if (certificate->place_count < CERTIFICATE_PLACES_MAX && value[0] != '\0') {
        struct certificate_place *place = &certificate->places[certificate->place_count++];
        snprintf(place->name, sizeof place->name, "%s", name);
        snprintf(place->value, sizeof place->value, "%s", value);
    }
}

/* Reads the first line of a file into `line`, which becomes "" if the file cannot be read. */
static void read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL || fgets(line, (int)size, file) == NULL) {
        line[0] = '\0';
    }
    if (file != NULL) {
        fclose(file);
    }
    line[strcspn(line, "\n")] = '\0';
}

/* Adds the file system of a device, and its mount options. */
static void add_mount(struct certificate *certificate, dev_t device)
{
    struct disk_mount mount;
    char text[CERTIFICATE_TEXT_BYTES];
    if (disk_find_mount(device, &mount) > 0) {
        snprintf(text, sizeof text, "%s on %s", mount.type, mount.source);
        add_place(certificate, "File system", text);
        snprintf(text, sizeof text, "%.255s", mount.options);
        add_place(certificate, "Mount options", text);
    }
}

/* Adds the model and the write cache of the device below a file system. */
static void add_device(struct certificate *certificate, dev_t number)
{
    /* the folder of a partition has no queue; its parent, the folder of the disk, has one */
    static const char *const folders[] = {"", "../"};
    char path[160], cache[80] = "", model[160] = "";
    for (size_t i = 0; i < 2 && cache[0] == '\0'; i++) {
        snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%squeue/write_cache", major(number),
                 minor(number), folders[i]);
        read_line(path, cache, sizeof cache);
        snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%sdevice/model", major(number),
                 minor(number), folders[i]);
        read_line(path, model, sizeof model);
    }
    add_place(certificate, "Device", model);
    add_place(certificate, "Write cache of the device", cache);
}

void subject_describe(const struct subject *subject, const char *data_folder,
                      struct certificate *certificate)
{
    struct utsname name;
    struct stat about;
    char text[CERTIFICATE_TEXT_BYTES];
    certificate->place_count = 0;
    if (uname(&name) == 0) {
        snprintf(text, sizeof text, "%.60s %.100s %.60s", name.sysname, name.release, name.machine);
        add_place(certificate, "Kernel", text);
    }
    const char *folder = subject->kind->is_own ? subject->folder : data_folder;
    if (folder[0] == '\0' || stat(folder, &about) != 0) {
        return;
    }
    add_place(certificate, "Data folder", folder);
    add_mount(certificate, about.st_dev);
    if (subject->disk.image >= 0 && fstat(subject->disk.image, &about) == 0) {
        add_place(certificate, "Disk", "an image file on a loop device");
    }
    add_device(certificate, about.st_dev);
}

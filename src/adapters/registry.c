#include "adapters/registry.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum {
    NAME_MAX_BYTES = 60 /* longest name of an adapter outside the program */
};

static bool is_called(const struct adapter *adapter, const char *name)
{
    const char *const *alias = adapter->aliases;
    while (alias != NULL && *alias != NULL && strcmp(*alias, name) != 0) {
        alias++;
    }
    return strcmp(adapter->name, name) == 0 || (alias != NULL && *alias != NULL);
}

const struct adapter *registry_find(const char *name)
{
    const struct adapter *const *found = registry_adapters;
    while (*found != NULL && !is_called(*found, name)) {
        found++;
    }
    return *found;
}

/* Checks that the adapter's name can be used as a file name. The name may be from a URL, and must
 * not lead to another folder. */
static bool can_be_file(const char *name)
{
    const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return length > 0 && length <= NAME_MAX_BYTES && name[length] == '\0';
}

/* Checks that a module's folder belongs to root, the user or the program's owner, and is not
 * writable by everyone, because other users may be able to create a folder next to the program, for
 * example in /tmp. */
static bool is_in_safe_folder(const char *path)
{
    char folder[PATH_MAX];
    struct stat about, program;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    return lstat(folder, &about) == 0 && stat("/proc/self/exe", &program) == 0 &&
           (about.st_uid == 0 || about.st_uid == geteuid() || about.st_uid == program.st_uid) &&
           (S_ISLNK(about.st_mode) || (about.st_mode & S_IWOTH) == 0);
}

/* Loads the library at `path` and returns the module that it exports. If the library cannot be
 * loaded, returns NULL, and `fault` receives the reason. */
static const struct adapter_module *load(const char *path, char *fault, size_t size)
{
    /* the library is never unloaded, because the adapter's constants are used until the program
     * ends */
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const struct adapter_module *module =
        library == NULL ? NULL : dlsym(library, ADAPTER_MODULE_SYMBOL);
    if (library == NULL) {
        const char *why = dlerror(); /* the loader's message begins with the path */
        const size_t length = strncmp(why, path, strlen(path)) == 0 ? strlen(path) : 0;
        snprintf(fault, size, "cannot be loaded: %.120s",
                 why + length + strspn(why + length, ": "));
    } else if (module == NULL) {
        snprintf(fault, size,
                 "is not an adapter: it exports no " ADAPTER_MODULE_SYMBOL " (append/adapter.h)");
    }
    return module;
}

/* Checks that the program can use the loaded module. If it cannot, returns false, and `fault`
 * receives the reason and, if possible, what to do. */
static bool can_use(const struct adapter_module *module, const char *name, char *fault, size_t size)
{
    const struct adapter *adapter = module->adapter;
    if (module->abi != ADAPTER_ABI) {
        snprintf(fault, size,
                 "was built for version %u of the adapter contract, but append " APPEND_VERSION
                 " has version %u: rebuild it with the headers of this append",
                 (unsigned)module->abi, (unsigned)ADAPTER_ABI);
        return false;
    }
    if (module->struct_bytes != ADAPTER_STRUCT_BYTES) {
        snprintf(fault, size,
                 "has structs of %u bytes, but those of append " APPEND_VERSION
                 " have %zu: rebuild it with the headers of this append",
                 (unsigned)module->struct_bytes, ADAPTER_STRUCT_BYTES);
        return false;
    }
    if (adapter == NULL || adapter->name == NULL || strcmp(adapter->name, name) != 0) {
        snprintf(fault, size, "contains the adapter '%.60s': name the file after the adapter",
                 adapter == NULL || adapter->name == NULL ? "" : adapter->name);
        return false;
    }
    const bool is_complete = adapter->summary != NULL && adapter->open != NULL &&
                             adapter->close != NULL && adapter->execute != NULL &&
                             adapter->describe != NULL && adapter->run != NULL &&
                             adapter->append_open != NULL && adapter->append_rows != NULL &&
                             adapter->append_close != NULL;
    if (!is_complete) {
        snprintf(fault, size,
                 "lacks one of summary, open, close, execute, describe, run, append_open, "
                 "append_rows and append_close, which every adapter needs");
    }
    return is_complete;
}

enum status registry_load(const char *name, const char *folder, const struct adapter **adapter,
                          struct error *error)
{
    char file[NAME_MAX_BYTES + 16], path[PATH_MAX], fault[ERROR_TEXT_BYTES];
    *adapter = registry_find(name);
    if (*adapter != NULL || !can_be_file(name)) {
        return STATUS_OK;
    }
    snprintf(file, sizeof file, "adapters/%s.so", name);
    const char *const base = strchr(file, '/') + 1;
    const bool is_given = folder != NULL &&
                          snprintf(path, sizeof path, "%s/%s", folder, base) < (int)sizeof path &&
                          access(path, F_OK) == 0;
    if (!is_given && !file_find_module(file, path, sizeof path)) {
        return STATUS_OK;
    }
    const struct adapter_module *module = NULL;
    if (is_given || is_in_safe_folder(path)) {
        module = load(path, fault, sizeof fault);
    } else {
        snprintf(fault, sizeof fault,
                 "is in a folder that others can write to: if you trust the folder, name it "
                 "with --adapter-folder");
    }
    if (module == NULL || !can_use(module, name, fault, sizeof fault)) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s %s (in %.*s)", base, fault,
                  (int)(strrchr(path, '/') - path), path);
        return STATUS_FATAL;
    }
    *adapter = module->adapter;
    return STATUS_OK;
}

/* Finding and loading the client library. */
#include "adapters/machbase_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of a server's installation, and of the vendor's Python package. */
static const char *const names[] = {
    "libmachbasecli_dll.so",
#if defined(__aarch64__)
    "libmachbaseAPI_arm64.so",
#else
    "libmachbaseAPI_x64.so",
#endif
};

enum {
    NAMES = sizeof names / sizeof names[0]
};

/* It stays mapped: threads that used it may still have something of it to run when they end. */
enum {
    LOAD_FLAGS = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE
};

struct symbol {
    const char *name;
    size_t offset; /* of its pointer in struct machbase_functions */
};

#define SYMBOL(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct machbase_functions, name)                                           \
    }

static const struct symbol symbols[] = {
    SYMBOL(SQLAllocEnv),      SYMBOL(SQLAllocConnect),
    SYMBOL(SQLAllocStmt),     SYMBOL(SQLFreeStmt),
    SYMBOL(SQLFreeConnect),   SYMBOL(SQLFreeEnv),
    SYMBOL(SQLDriverConnect), SYMBOL(SQLDisconnect),
    SYMBOL(SQLError),         SYMBOL(SQLPrepare),
    SYMBOL(SQLExecute),       SYMBOL(SQLExecDirect),
    SYMBOL(SQLNumResultCols), SYMBOL(SQLDescribeCol),
    SYMBOL(SQLBindCol),       SYMBOL(SQLFetch),
    SYMBOL(SQLAppendOpen),    SYMBOL(SQLAppendDataV2),
    SYMBOL(SQLAppendClose),   SYMBOL(SQLAppendSetErrorCallback),
};

enum {
    SYMBOLS = sizeof symbols / sizeof symbols[0]
};
_Static_assert(sizeof(struct machbase_functions) == SYMBOLS * sizeof(void *),
               "every function is looked up");

static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* The first of the names that is in a folder. */
static bool find_in(const char *folder, const char *below, char path[MACHBASE_PATH_BYTES])
{
    for (size_t i = 0; i < NAMES; i++) {
        const int length = snprintf(path, MACHBASE_PATH_BYTES, "%s%s/%s", folder, below, names[i]);
        if (length > 0 && length < MACHBASE_PATH_BYTES && is_file(path)) {
            return true;
        }
    }
    return false;
}

static void *load_path(const char *path, struct error *error)
{
    void *handle = dlopen(path, LOAD_FLAGS);
    if (handle == NULL) {
        const char *why = dlerror();
        error_set(error, ERROR_USAGE, 0, NULL, "the client library cannot be loaded: %s",
                  why != NULL ? why : path);
    }
    return handle;
}

/* By the loader's path: LD_LIBRARY_PATH, ldconfig. *error is set when one is there and cannot be
 * loaded. */
static void *load_name(char path[MACHBASE_PATH_BYTES], struct error *error)
{
    for (size_t i = 0; i < NAMES; i++) {
        snprintf(path, MACHBASE_PATH_BYTES, "%s", names[i]);
        void *handle = dlopen(names[i], LOAD_FLAGS);
        if (handle != NULL) {
            return handle;
        }
        const char *why = dlerror();
        /* of one that is not there it says the bare name, of all else a path or another name */
        if (why != NULL && strncmp(why, names[i], strlen(names[i])) != 0 && !error_is_set(error)) {
            error_set(error, ERROR_USAGE, 0, NULL, "the client library cannot be loaded: %s", why);
        }
    }
    return NULL;
}

static void *load_given(const char *given, char path[MACHBASE_PATH_BYTES], struct error *error)
{
    if (is_folder(given)) {
        if (!find_in(given, "", path)) {
            error_set(error, ERROR_USAGE, 0, NULL, "--client-lib %s: neither %s nor %s is there",
                      given, names[0], names[1]);
            return NULL;
        }
        return load_path(path, error);
    }
    if (!is_file(given) || strlen(given) > MACHBASE_PATH_BYTES - 4) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--client-lib %s: no such file; give %s, or the folder that it is in", given,
                  names[0]);
        return NULL;
    }
    const bool has_folder = strchr(given, '/') != NULL; /* else the loader would search for it */
    snprintf(path, MACHBASE_PATH_BYTES, "%s%.*s", has_folder ? "" : "./", MACHBASE_PATH_BYTES - 4,
             given);
    return load_path(path, error);
}

static void *load(const char *given, char path[MACHBASE_PATH_BYTES], struct error *error)
{
    const char *home = getenv("MACHBASE_HOME");
    if (given != NULL) {
        return load_given(given, path, error);
    }
    if (home != NULL && home[0] != '\0' && find_in(home, "/lib", path)) {
        return load_path(path, error);
    }
    struct error reason;
    error_clear(&reason);
    void *handle = load_name(path, &reason);
    if (handle == NULL && error_is_set(&reason)) {
        *error = reason;
    } else if (handle == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "Machbase's client library is not found: neither %s nor %s is in "
                  "$MACHBASE_HOME/lib or the loader's path; give --client-lib FILE",
                  names[0], names[1]);
    }
    return handle;
}

static enum status resolve(struct adapter_library *library, struct error *error)
{
    for (size_t i = 0; i < SYMBOLS; i++) {
        void *address = dlsym(library->handle, symbols[i].name);
        if (address == NULL) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "%s is not Machbase's client library, or an old one: it has no %s",
                      library->path, symbols[i].name);
            return STATUS_FATAL;
        }
        memcpy((char *)&library->call + symbols[i].offset, &address, sizeof address);
    }
    return STATUS_OK;
}

enum status machbase_load(const char *client_lib, struct adapter_library **library,
                          struct error *error)
{
    *library = NULL;
    struct adapter_library *made = calloc(1, sizeof *made);
    if (made == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the client library");
        return STATUS_FATAL;
    }
    made->handle = load(client_lib, made->path, error);
    if (made->handle == NULL || resolve(made, error) != STATUS_OK) {
        machbase_unload(made);
        return STATUS_FATAL;
    }
    *library = made;
    return STATUS_OK;
}

void machbase_unload(struct adapter_library *library)
{
    if (library == NULL) {
        return;
    }
    if (library->handle != NULL) {
        dlclose(library->handle);
    }
    free(library);
}

void machbase_library_text(char *text, size_t size)
{
    struct error error;
    struct adapter_library *library = NULL;
    error_clear(&error);
    if (machbase_load(NULL, &library, &error) == STATUS_OK) {
        snprintf(text, size, "client library loaded at run time: %s", library->path);
    } else {
        snprintf(text, size, "client library loaded at run time: none found (--client-lib)");
    }
    machbase_unload(library);
}

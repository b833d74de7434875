/* Finding and loading the client library, and the values of columns as it takes them. */
#include "adapters/machbase_library.h"

#include <dlfcn.h>
#include <float.h>
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

static mode_t kind_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? about.st_mode & S_IFMT : 0;
}

/* The first of the names that is in a folder. */
static bool find_in(const char *folder, const char *below, char path[MACHBASE_PATH_BYTES])
{
    for (size_t i = 0; i < NAMES; i++) {
        const int length = snprintf(path, MACHBASE_PATH_BYTES, "%s%s/%s", folder, below, names[i]);
        if (length > 0 && length < MACHBASE_PATH_BYTES && kind_of(path) == S_IFREG) {
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
    if (kind_of(given) == S_IFDIR) {
        if (!find_in(given, "", path)) {
            error_set(error, ERROR_USAGE, 0, NULL, "--client-lib %s: neither %s nor %s is there",
                      given, names[0], names[1]);
            return NULL;
        }
        return load_path(path, error);
    }
    if (kind_of(given) != S_IFREG || strlen(given) > MACHBASE_PATH_BYTES - 4) {
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

enum {
    VARIABLE_BYTES_MAX = 64 * 1024 * 1024 /* the library cuts what is longer */
};

/* Numbers without a sign are decimals that fit. */
static const struct {
    int type;
    enum column_type column;
    uint8_t precision;
    const char *name;
} types[] = {
    {MACHBASE_INT16, COLUMN_INT16, 0, "short"},
    {MACHBASE_INT32, COLUMN_INT32, 0, "integer"},
    {MACHBASE_INT64, COLUMN_INT64, 0, "long"},
    {MACHBASE_UINT16, COLUMN_DECIMAL, 4, "ushort"},
    {MACHBASE_UINT32, COLUMN_DECIMAL, 9, "uinteger"},
    {MACHBASE_UINT64, COLUMN_DECIMAL, 18, "ulong"},
    {MACHBASE_FLOAT, COLUMN_FLOAT32, 0, "float"},
    {MACHBASE_REAL, COLUMN_FLOAT32, 0, "float"},
    {MACHBASE_DOUBLE, COLUMN_FLOAT64, 0, "double"},
    {MACHBASE_VARCHAR, COLUMN_TEXT, 0, "varchar"},
    {MACHBASE_DATETIME, COLUMN_TIMESTAMP, 0, "datetime"},
    {MACHBASE_TEXT, COLUMN_TEXT, 0, "text"},
    {MACHBASE_JSON, COLUMN_JSON, 0, "json"},
    {MACHBASE_BINARY, COLUMN_BYTES, 0, "binary"},
    {MACHBASE_IP4, COLUMN_IP4, 0, "ipv4"},
    {MACHBASE_IP6, COLUMN_IP6, 0, "ipv6"},
};

void machbase_set_type(struct column *column, int type, unsigned long size)
{
    const bool has_size = type == MACHBASE_VARCHAR || type == MACHBASE_TEXT ||
                          type == MACHBASE_JSON || type == MACHBASE_BINARY;
    const char *name = NULL;
    column->type = COLUMN_UNSUPPORTED;
    column->native_type = (uint32_t)type;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].type == type) {
            column->type = types[i].column;
            column->precision = types[i].precision;
            name = types[i].name;
        }
    }
    if (has_size) {
        column->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
        /* The library cuts what is longer than the size, and of some types writes beyond it: a
         * column that has none cannot be written. */
        column->type = size > 0 ? column->type : COLUMN_UNSUPPORTED;
    }
    if (name == NULL) {
        snprintf(column->type_name, sizeof column->type_name, "type %d", type);
    } else if (type == MACHBASE_VARCHAR || (has_size && size == 0)) {
        snprintf(column->type_name, sizeof column->type_name, "%s(%lu)", name, size);
    } else {
        snprintf(column->type_name, sizeof column->type_name, "%s", name);
    }
}

/* The library is little-endian, so these are right for narrower values, too. Of addresses and all
 * that has a length, NULL is 0. */
void machbase_encode_null(const struct column *column, union machbase_value *value)
{
    static const uint64_t nulls[COLUMN_TYPE_COUNT] = {
        [COLUMN_INT16] = (uint64_t)INT16_MAX + 1, [COLUMN_INT32] = (uint64_t)INT32_MAX + 1,
        [COLUMN_INT64] = (uint64_t)INT64_MAX + 1, [COLUMN_DECIMAL] = UINT64_MAX,
        [COLUMN_TIMESTAMP] = UINT64_MAX, /* MACHBASE_TIME_NULL */
    };
    memset(value, 0, sizeof *value);
    if (column->type == COLUMN_FLOAT32) {
        value->float32 = FLT_MAX;
    } else if (column->type == COLUMN_FLOAT64) {
        value->float64 = DBL_MAX;
    } else {
        value->uint64 = nulls[column->type];
    }
}

/* What would be cut is not sent. A column's size is one of bytes. */
static bool encode_variable(const struct column *column, const struct text_value *text,
                            union machbase_value *value)
{
    value->variable.length = text->length;
    value->variable.data = text->bytes;
    return text->length <= column->size && text->length <= VARIABLE_BYTES_MAX;
}

static bool encode_unsigned(const struct column *column, int64_t number,
                            union machbase_value *value)
{
    const int64_t most = column->native_type == MACHBASE_UINT16   ? UINT16_MAX
                         : column->native_type == MACHBASE_UINT32 ? UINT32_MAX
                                                                  : INT64_MAX;
    value->uint64 = (uint64_t)number;
    return number >= 0 && number <= most;
}

bool machbase_encode(const struct column *column, union column_values values, size_t row,
                     union machbase_value *value)
{
    switch (column->type) {
    case COLUMN_INT16:
        value->int16 = values.int16[row];
        return true;
    case COLUMN_INT32:
        value->int32 = values.int32[row];
        return true;
    case COLUMN_INT64:
        value->int64 = values.int64[row];
        return true;
    case COLUMN_DECIMAL:
        return encode_unsigned(column, values.int64[row], value);
    case COLUMN_FLOAT32:
        value->float32 = values.float32[row];
        return true;
    case COLUMN_FLOAT64:
        value->float64 = values.float64[row];
        return true;
    case COLUMN_TIMESTAMP:
        value->time.ns = values.int64[row];
        return value->time.ns < MACHBASE_TIME_NOW || value->time.ns > MACHBASE_TIME_TEXT;
    case COLUMN_IP4:
        value->address.length = MACHBASE_ADDRESS_IP4;
        memcpy(value->address.bytes, values.ip4[row], sizeof values.ip4[row]);
        return true;
    case COLUMN_IP6:
        value->address.length = MACHBASE_ADDRESS_IP6;
        memcpy(value->address.bytes, values.ip6[row], sizeof values.ip6[row]);
        return true;
    case COLUMN_TEXT:
    case COLUMN_BYTES:
    case COLUMN_JSON:
        return encode_variable(column, &values.text[row], value);
    default:
        machbase_encode_null(column, value);
        return false;
    }
}

/*
 * Runs a fuzz target over all files of its corpus, with any compiler: each file as it is, truncated
 * at every length, and with single bytes changed. If an input makes the target fail, prints this
 * input in hex.
 */
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

enum {
    INPUT_BYTES_MAX = 1 << 16,
    /* only the first bytes of a file are places where it is truncated or changed */
    PLACES_MAX = 256
};

/* The current input, for print_input. The target gets a copy of it. */
static unsigned char input[INPUT_BYTES_MAX];
static size_t input_size;

static void put(int file, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(file, text, length);
        if (written <= 0) {
            return;
        }
        text += written;
        length -= (size_t)written;
    }
}

/* Prints the input. Runs during a crash, so it only makes system calls. */
static void print_input(void)
{
    static const char digits[] = "0123456789abcdef";
    static const char head[] = "replay: the input in hex:\n";
    put(STDERR_FILENO, head, sizeof head - 1);
    for (size_t i = 0; i < input_size; i++) {
        const char hex[2] = {digits[input[i] >> 4], digits[input[i] & 15]};
        put(STDERR_FILENO, hex, sizeof hex);
    }
    put(STDERR_FILENO, "\n", 1);
}

static void on_signal(int number)
{
    print_input();
    signal(number, SIG_DFL);
    raise(number);
}

/* A function of the sanitizers' runtime; NULL without a sanitizer. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void watch_for_crashes(void)
{
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(print_input);
    } else {
        signal(SIGSEGV, on_signal);
        signal(SIGBUS, on_signal);
    }
    signal(SIGABRT, on_signal);
}

static void run(size_t size)
{
    unsigned char *copy = malloc(size > 0 ? size : 1);
    fuzz_require(copy != NULL, "there is memory for the input");
    memcpy(copy, input, size);
    input_size = size;
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_all(size_t size)
{
    static const unsigned char changes[] = {0x01, 0x10, 0x80};
    const size_t places = size < PLACES_MAX ? size : PLACES_MAX;
    run(size);
    for (size_t i = 0; i < places; i++) {
        const unsigned char byte = input[i];
        run(i);
        for (size_t k = 0; k < sizeof changes; k++) {
            input[i] = byte ^ changes[k];
            run(size);
        }
        input[i] = byte;
    }
}

static bool read_input(const char *folder, const char *name, size_t *size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        perror(path);
        return false;
    }
    *size = fread(input, 1, sizeof input, file);
    const bool is_whole = feof(file) != 0;
    fclose(file);
    if (!is_whole) {
        fprintf(stderr, "replay: %s cannot be read, or is larger than %zu bytes\n", path,
                sizeof input);
    }
    return is_whole;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    struct dirent **entries = NULL;
    const int count = argc == 2 ? scandir(argv[1], &entries, is_visible, alphasort) : 0;
    if (count <= 0) {
        fprintf(stderr, "replay: no inputs: use %s FOLDER\n", argv[0]);
        return EXIT_FAILURE;
    }
    watch_for_crashes();
    int result = EXIT_SUCCESS;
    for (int i = 0; i < count; i++) {
        size_t size = 0;
        printf("%s\n", entries[i]->d_name);
        fflush(stdout);
        if (read_input(argv[1], entries[i]->d_name, &size)) {
            run_all(size);
        } else {
            result = EXIT_FAILURE;
        }
        free(entries[i]);
    }
    free(entries);
    return result;
}

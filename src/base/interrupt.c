#include "base/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/exit_code.h"

static atomic_int signals_seen;

static void on_signal(int number)
{
    (void)number;
    if (atomic_fetch_add(&signals_seen, 1) > 0) {
        _exit(EXIT_CODE_INTERRUPTED);
    }
}

void interrupt_install(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    action.sa_handler = on_signal;
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        sigaction(ending[i], &action, NULL);
    }
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    /* a full disk quota is then an error of the write, too */
    sigaction(SIGXFSZ, &action, NULL);
}

bool interrupt_requested(void)
{
    return atomic_load(&signals_seen) > 0;
}

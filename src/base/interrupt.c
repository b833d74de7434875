#include "base/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/exit_code.h"
#include "base/mono.h"
#include "base/notice.h"

/* timeout(1) signals a process and then its group: what comes this close is one request. */
#define SAME_REQUEST_NS (200 * MONO_NS_PER_MS)

static _Atomic int64_t first_signal_ns; /* 0 = none yet */
static atomic_bool is_all_done;

static _Noreturn void end_at_once(const char *words, size_t length)
{
    notice_write(STDERR_FILENO, words, length, 0); /* nobody may read: this must not wait */
    _exit(EXIT_CODE_INTERRUPTED);
}

static void on_signal(int number)
{
    static const char second[] = "\nappend: ended at once by a second signal\n";
    static const char printing[] = "\nappend: interrupted while the report was printed\n";
    (void)number;
    int64_t first_ns = 0;
    const int64_t now_ns = mono_now_ns();
    const bool is_first = atomic_compare_exchange_strong(&first_signal_ns, &first_ns, now_ns);
    if (is_first && atomic_load(&is_all_done)) {
        end_at_once(printing, sizeof printing - 1);
    } else if (!is_first && now_ns - first_ns > SAME_REQUEST_NS) {
        end_at_once(second, sizeof second - 1);
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
        struct sigaction inherited;
        /* nohup means it; SIGINT is ignored in every background job of a script, where a kill -INT
         * that did nothing would surprise */
        const bool is_kept = ending[i] == SIGHUP && sigaction(SIGHUP, NULL, &inherited) == 0 &&
                             inherited.sa_handler == SIG_IGN;
        if (!is_kept) {
            sigaction(ending[i], &action, NULL);
        }
    }
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    /* a file-size limit is then an error of the write, too */
    sigaction(SIGXFSZ, &action, NULL);
}

bool interrupt_requested(void)
{
    return atomic_load(&first_signal_ns) != 0;
}

void interrupt_end_at_once(void)
{
    atomic_store(&is_all_done, true);
}

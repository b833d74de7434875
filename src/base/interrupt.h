/*
 * Signals that end the program: SIGINT, SIGTERM and SIGHUP.
 *
 * The first one sets a flag that the main thread looks at; another one, over 0.2 s later, ends the
 * process at once with exit code 130. A SIGHUP that was ignored when the program started (nohup)
 * stays ignored. SIGPIPE and SIGXFSZ are ignored: what they tell is an error of the write.
 */
#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

#include <stdbool.h>

void interrupt_install(void);
bool interrupt_requested(void);

/* From now on the first signal, too, ends the process at once with 130: what is to be kept is. */
void interrupt_end_at_once(void);

#endif

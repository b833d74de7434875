/*
 * Signals that end the program: SIGINT, SIGTERM and SIGHUP.
 *
 * The first one sets a flag that the main thread looks at; the second one ends the process at once
 * with exit code 130. SIGPIPE is ignored: a broken pipe is an error of the write.
 */
#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

#include <stdbool.h>

void interrupt_install(void);
bool interrupt_requested(void);

#endif

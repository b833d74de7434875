/* Stacks of threads: room for all, and no more memory than they use. */
#ifndef BASE_STACK_H
#define BASE_STACK_H

#include "append/error.h"

/* Makes room for the main thread, and for threads that are made without a size of their own, where
 * the limit of the shell (ulimit -s) is too small for them; to be called first. REJECTED: it may
 * not be raised. */
enum status stack_prepare(struct error *error);

/* Gives the memory of the stack that is not in use now back to the system. What a deep call, such
 * as connecting, has touched would else stay with the thread, and there are thousands of them. Only
 * for threads made by pthread_create. */
void stack_give_back(void);

#endif

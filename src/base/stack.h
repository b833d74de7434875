/* The stack of the calling thread. */
#ifndef BASE_STACK_H
#define BASE_STACK_H

/* Gives the memory of the stack that is not in use now back to the system. What a deep call, such
 * as connecting, has touched would else stay with the thread, and there are thousands of them. Only
 * for threads made by pthread_create. */
void stack_give_back(void);

#endif

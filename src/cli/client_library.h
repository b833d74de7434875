/* The library-wide part of an adapter: loaded and begun before its first connection, ended after
 * the last. Main thread. */
#ifndef CLI_CLIENT_LIBRARY_H
#define CLI_CLIENT_LIBRARY_H

#include <stdbool.h>

#include "append/adapter.h"
#include "base/exit_code.h"
#include "plan/plan.h"

/* Zeroed: nothing was begun. */
struct client_library {
    const struct adapter *adapter;
    struct adapter_library *library; /* owned; NULL for adapters that load none */
    bool is_begun;
};

/* Loads the adapter's library, if it loads one, puts it into the plan's target and begins. */
enum exit_code client_library_begin(struct client_library *library, struct plan *plan,
                                    struct error *error);

/* Ends what was begun. */
void client_library_end(struct client_library *library);

#endif

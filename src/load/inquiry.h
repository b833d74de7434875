/* Asks a server about its limits on a connection that is closed again, so that it takes no place
 * from a session. */
#ifndef LOAD_INQUIRY_H
#define LOAD_INQUIRY_H

#include <stdbool.h>

#include "append/adapter.h"
#include "base/exit_code.h"
#include "plan/plan.h"

struct inquiry {
    struct server_limits server; /* version "" when the server did not say */
    struct connection_info connection;
    bool is_remote; /* the server is on another machine */
};

/* Connects to a server to which nobody has connected yet. Where another database than the target's
 * answers, the error says which. */
enum status inquiry_open(const struct plan *plan, const struct target *target,
                         struct adapter_conn **conn, struct error *error);

/* Connects, asks, and disconnects. Makes nothing. Else than OK: the line to print is in *error, and
 * `connection` and `is_remote` are as far as they are known without a connection. */
enum exit_code inquiry_make(struct inquiry *inquiry, const struct plan *plan, struct error *error);

/* What a failed connection of set-up or inquiry comes to. */
enum exit_code inquiry_exit_code(const struct error *error);

#endif

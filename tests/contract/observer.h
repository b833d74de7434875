/* How fixtures look at databases of which they have no client library: by HTTP/1.0 of their own,
 * and stand-ins (tests/standin) that are programs of their own. */
#ifndef CONTRACT_OBSERVER_H
#define CONTRACT_OBSERVER_H

#include "fixture.h"

struct observer {
    char host[128], port[8];
};

/* Sends a request, such as "POST /path", with more headers, each ended by "\r\n", and copies the
 * body of its answer. False: no answer of 2xx, which is printed. */
bool observer_ask(const struct observer *to, const char *request, const char *headers,
                  const char *body, char answer[FIXTURE_TEXT_BYTES]);

/* The same with JSON, whose value at "a/0/b" is copied: texts without their quotes, and "(null)"
 * where it is null or not there. */
bool observer_ask_json(const struct observer *to, const char *request, const char *headers,
                       const char *body, const char *path, char text[FIXTURE_TEXT_BYTES]);

/* Starts NAME_standin.py with up to four arguments, those up to a NULL. False: the reason was
 * printed. */
bool observer_start(struct observer *to, const char *name, const char *const *arguments);
bool observer_command(const char *command); /* sends a line to it, and reads up to its "ok" */
void observer_stop(void);

#endif

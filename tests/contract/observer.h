/* How fixtures read databases without a client library: with their own HTTP/1.0, also from
 * stand-ins (tests/standin), which are separate programs. */
#ifndef CONTRACT_OBSERVER_H
#define CONTRACT_OBSERVER_H

#include "fixture.h"

struct observer {
    char host[128], port[8];
};

/* Sends a request, for example "POST /path", with additional headers, each ended by "\r\n", and
 * copies the answer's body. False: the status is not 2xx; the answer was printed. */
bool observer_request(const struct observer *to, const char *request, const char *headers,
                      const char *body, char answer[FIXTURE_TEXT_BYTES]);

/* Sends a request like observer_ask and copies the value at "a/0/b" of the JSON answer: text
 * without quotes, and "(null)" when the value is null or missing. */
bool observer_request_json(const struct observer *to, const char *request, const char *headers,
                           const char *body, const char *path, char text[FIXTURE_TEXT_BYTES]);

/* Starts NAME_standin.py with up to four arguments, terminated by NULL. False: the reason was
 * printed. */
bool observer_start(struct observer *to, const char *name, const char *const *arguments);
bool observer_command(const char *command); /* sends a line and reads its answer up to "ok" */
void observer_stop(void);

#endif

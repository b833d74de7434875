/* Reads databases for the fixtures over HTTP/1.0, without a client library. Also starts stand-ins
 * (tests/standin), which are separate programs. */
#ifndef CONTRACT_OBSERVER_H
#define CONTRACT_OBSERVER_H

#include "fixture.h"

struct observer {
    char host[128], port[8];
};

/* Sends a request, for example "POST /path", with additional headers, each ended by "\r\n", and
 * copies the answer's body to `answer`. If the status is not 2xx, prints the answer and returns
 * false. */
bool observer_request(const struct observer *to, const char *request, const char *headers,
                      const char *body, char answer[FIXTURE_TEXT_BYTES]);

/* Sends a request as observer_request does, and copies the value at `path`, such as "a/0/b", in the
 * JSON answer. A text is copied without its quotes. If the value is null or missing, "(null)" is
 * copied. */
bool observer_request_json(const struct observer *to, const char *request, const char *headers,
                           const char *body, const char *path, char text[FIXTURE_TEXT_BYTES]);

/* Starts NAME_standin.py with up to four arguments, terminated by NULL. If this fails, prints the
 * reason and returns false. */
bool observer_start(struct observer *to, const char *name, const char *const *arguments);
bool observer_command(const char *command); /* sends a line and reads its answer up to "ok" */
bool observer_kick(void);                   /* ends the connections of the stand-in */
void observer_stop(void);

#endif

/*
 * A small HTTP server in this program, for /metrics and the live page. A thread accepts connections
 * and answers through libmicrohttpd. A connection carries one request. A client that is silent for
 * 5 s is disconnected. When clients_max clients are connected, a new client replaces the oldest
 * client, so that silent clients do not block others.
 *
 * Only this thread calls the functions of struct web_site.
 */
#ifndef REPORT_WEB_H
#define REPORT_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"

struct MHD_Connection;
struct MHD_Response;

enum {
    WEB_PLACES_MAX = 2, /* greatest number of addresses on which the server listens */
    /* listening sockets: the addresses, and a Unix socket */
    WEB_LISTENERS_MAX = WEB_PLACES_MAX + 1,
    /* descriptors in addition to the descriptors of the clients: the listeners, the library's
     * epoll, an event, and a new client before the oldest is closed */
    WEB_OTHER_FILES = WEB_PLACES_MAX + 3,
    WEB_SOCKET_FILES = 2,  /* descriptors of a Unix socket: the socket and its folder */
    WEB_BODY_BYTES = 4096, /* longest body of a request; a longer body is refused */
    WEB_PLACE_BYTES = 64,
};

/* The name of the Unix socket. Only the user of this program can connect to the socket. */
#define WEB_SOCKET_NAME "control"

struct web;

/* A complete request. All its pointers are borrowed until the answer. */
struct web_request {
    struct web *web;
    struct MHD_Connection *connection;
    const char *method, *path;
    const char *body; /* the body, which ends with NUL; "" without a body */
    size_t body_bytes;
    bool was_held; /* the request has waited for web_resume, and must be answered now */
    bool is_loopback;
    bool is_socket;             /* the request arrived at the Unix socket */
    char here[WEB_PLACE_BYTES]; /* the address at which the request arrived; "" if unknown */
};

/* Returns a header, or a parameter of the query; NULL if the request does not have it. */
const char *web_header(const struct web_request *request, const char *name);
const char *web_parameter(const struct web_request *request, const char *name);

struct web_site {
    const char *option; /* the option that serves the site, for messages: "--metrics" */
    const char *host;   /* host to listen on; NULL: only the Unix socket is served */
    uint16_t port;
    const char *folder; /* folder for the Unix socket WEB_SOCKET_NAME; NULL: no Unix socket */
    unsigned clients_max;
    size_t stack_bytes; /* stack of the server's thread; 0: the default size */
    /* Answers the request with web_reply and returns true, or returns false. After false, the
     * request waits for web_resume. */
    bool (*answer)(void *context, const struct web_request *request);
    /* Returns the moment (monotonic, ns) at which the server calls this function again; the server
     * also calls it after each event. May be NULL. */
    int64_t (*turn)(void *context, struct web *web);
    void *context;
};

/* Listens on the addresses of the host and starts the thread. The site is copied. Returns NULL with
 * the reason in *error: ERROR_USAGE if the host and port cannot be used. */
struct web *web_start(const struct web_site *site, struct error *error);

/* Makes the server's thread call `turn` soon. Any thread may call this function. */
void web_wake(struct web *web);

/* Lets the server call `answer` again for each waiting request. Only the site's functions may call
 * this function. */
void web_resume(struct web *web);

/* Returns the number of requests that wait for web_resume. Only the site's functions may call this
 * function. */
size_t web_held(const struct web *web);

/* Makes a response with a copy of the text; NULL if memory runs out. */
struct MHD_Response *web_response(const char *type, const char *text, size_t length);

/* Answers a request. A response may answer many requests. */
void web_reply(const struct web_request *request, unsigned code, struct MHD_Response *response);

/* Sends as much of the last answers as the kernel takes at once, then ends the thread and every
 * connection. `web` may be NULL. */
void web_stop(struct web *web);

#endif

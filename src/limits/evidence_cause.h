/* What the cause of a failed session says about limits. */
#ifndef LIMITS_EVIDENCE_CAUSE_H
#define LIMITS_EVIDENCE_CAUSE_H

#include "append/adapter.h"
#include "measure/causes.h"

enum shortage {
    SHORTAGE_NONE,
    SHORTAGE_THREAD,         /* this program got no thread */
    SHORTAGE_FILES,          /* EMFILE */
    SHORTAGE_MACHINE_FILES,  /* ENFILE */
    SHORTAGE_PORTS,          /* EADDRNOTAVAIL */
    SHORTAGE_SOCKET_BACKLOG, /* EAGAIN of connect to a Unix socket */
    SHORTAGE_SETTING,        /* the server said that a setting of it was reached */
    SHORTAGE_SERVER_TASK,    /* the server could not make a process or thread */
    SHORTAGE_SILENCE,        /* a connect got no answer in time */
    SHORTAGE_LOST,           /* nobody there, or a connection was lost */
    SHORTAGES,
};

enum shortage evidence_classify(const struct cause *cause);

/* The setting that a SHORTAGE_SETTING names: an entry of `server`, or NULL when it has none such.
 * *name is what it is called; NULL when neither the cause nor the server tells. */
const struct session_limit *evidence_find_setting(const struct cause *cause,
                                                  const struct server_limits *server,
                                                  const char **name);

#endif

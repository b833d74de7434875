/* Exit codes of the program; the README explains each. */
#ifndef BASE_EXIT_CODE_H
#define BASE_EXIT_CODE_H

enum exit_code {
    EXIT_CODE_OK = 0,
    EXIT_CODE_SHORT = 1,         /* the run ended but its ledger is short */
    EXIT_CODE_USAGE = 2,         /* wrong usage */
    EXIT_CODE_CLIENT_LIMIT = 3,  /* this machine or account allows too little */
    EXIT_CODE_SERVER = 4,        /* the server was not reached, or refused */
    EXIT_CODE_EXPECTATION = 5,   /* an expectation was missed */
    EXIT_CODE_INVALID = 6,       /* the client was the bottleneck */
    EXIT_CODE_INTERNAL = 70,     /* a defect of this program */
    EXIT_CODE_INTERRUPTED = 130, /* stopped by a signal */
};

#endif

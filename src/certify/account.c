#include "certify/account.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "certify/rows.h"

struct account *account_create(unsigned sessions, uint64_t seed, struct error *error)
{
    const size_t each = sizeof(struct account_session) * sessions;
    const size_t head = (sizeof(struct account) + 63) / 64 * 64;
    const size_t bytes = head + each + (size_t)sessions * ACCOUNT_TRANSACTIONS_MAX;
    /* large, but the kernel gives memory only to the pages that are written */
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        error_set(error, ERROR_MEMORY, errno, NULL,
                  "client limit: not enough memory to account for the rows of %u sessions: %s",
                  sessions, strerror(errno));
        return NULL;
    }
    struct account *account = memory;
    account->sessions = sessions;
    account->seed = seed;
    account->fault_ns = INT64_MAX;
    account->each = (void *)((char *)memory + head);
    account->outcomes = (void *)((char *)memory + head + each);
    account->bytes = bytes;
    return account;
}

void account_destroy(struct account *account)
{
    if (account != NULL) {
        munmap(account, account->bytes);
    }
}

void account_sum(const struct account *account, struct account_rows *rows)
{
    *rows = (struct account_rows){0};
    for (unsigned s = 0; s < account->sessions; s++) {
        const struct account_session *session = &account->each[s];
        const uint64_t acknowledged = session->acknowledged, rejected = session->rejected;
        uint64_t sent = 0;
        for (uint64_t n = 0; n < session->next; n++) {
            unsigned sizes[ROWS_TABLES];
            rows_sizes(account->seed, s, n, account->has_transactions, sizes);
            sent += sizes[0] + sizes[1];
        }
        rows->acknowledged += acknowledged;
        rows->rejected += rejected;
        rows->in_doubt += sent - acknowledged - rejected;
    }
}

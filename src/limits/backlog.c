#include "limits/backlog.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    STATE_LISTEN = 10,
    REPLY_BYTES = 16384,
    TIMEOUT_S = 2
};

struct search {
    uint16_t port;
    const char *path;
    struct backlog found;
    bool has_found;
};

static void note(struct search *search, uint64_t allowed, uint64_t waiting)
{
    if (!search->has_found || allowed < search->found.allowed) {
        search->found = (struct backlog){.allowed = allowed, .waiting = waiting};
        search->has_found = true;
    }
}

static void take_inet(struct search *search, const struct nlmsghdr *header)
{
    struct inet_diag_msg message;
    if (header->nlmsg_len < NLMSG_LENGTH(sizeof message)) {
        return;
    }
    memcpy(&message, NLMSG_DATA(header), sizeof message);
    if (message.idiag_state == STATE_LISTEN && ntohs(message.id.idiag_sport) == search->port) {
        note(search, message.idiag_wqueue, message.idiag_rqueue);
    }
}

/* The socket itself, or in a folder the one whose name ends in the port. */
static bool is_wanted_path(const struct search *search, const char *path)
{
    char ending[16];
    const size_t length = strlen(search->path);
    snprintf(ending, sizeof ending, ".%u", (unsigned)search->port);
    const size_t total = strlen(path);
    const size_t end = strlen(ending);
    if (strcmp(path, search->path) == 0) {
        return true;
    }
    return strncmp(path, search->path, length) == 0 && path[length] == '/' && total > end &&
           strcmp(path + total - end, ending) == 0;
}

static void take_unix(struct search *search, const struct nlmsghdr *header)
{
    char path[256] = "";
    struct unix_diag_rqlen queue = {0};
    bool has_queue = false;
    const size_t head = NLMSG_SPACE(sizeof(struct unix_diag_msg));
    if (header->nlmsg_len < head) {
        return;
    }
    const char *at = (const char *)header + head;
    size_t left = header->nlmsg_len - head;
    while (left >= sizeof(struct rtattr)) {
        struct rtattr attribute;
        memcpy(&attribute, at, sizeof attribute);
        if (attribute.rta_len < sizeof attribute || attribute.rta_len > left) {
            return;
        }
        const char *value = at + RTA_LENGTH(0);
        const size_t length = attribute.rta_len - RTA_LENGTH(0);
        if (attribute.rta_type == UNIX_DIAG_NAME && length < sizeof path) {
            memcpy(path, value, length);
            path[length] = '\0';
        } else if (attribute.rta_type == UNIX_DIAG_RQLEN && length >= sizeof queue) {
            memcpy(&queue, value, sizeof queue);
            has_queue = true;
        }
        const size_t step = RTA_ALIGN(attribute.rta_len);
        if (step >= left) {
            break;
        }
        at += step;
        left -= step;
    }
    if (has_queue && is_wanted_path(search, path)) {
        note(search, queue.udiag_wqueue, queue.udiag_rqueue);
    }
}

/* True when the answer is complete. */
static bool take_reply(struct search *search, const char *bytes, size_t length)
{
    while (length >= sizeof(struct nlmsghdr)) {
        struct nlmsghdr header;
        memcpy(&header, bytes, sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > length ||
            header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR) {
            return true;
        }
        const struct nlmsghdr *message = (const struct nlmsghdr *)(const void *)bytes;
        if (search->path != NULL) {
            take_unix(search, message);
        } else {
            take_inet(search, message);
        }
        const size_t step = NLMSG_ALIGN(header.nlmsg_len);
        if (step >= length) {
            break;
        }
        bytes += step;
        length -= step;
    }
    return false;
}

static bool ask(int file, int family, bool is_unix)
{
    struct {
        struct nlmsghdr header;
        union {
            struct inet_diag_req_v2 inet;
            struct unix_diag_req local;
        } body;
    } request = {
        .header = {.nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
    if (is_unix) {
        request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.body.local);
        request.body.local.sdiag_family = AF_UNIX;
        request.body.local.udiag_states = 1U << STATE_LISTEN;
        request.body.local.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_RQLEN;
    } else {
        request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.body.inet);
        request.body.inet.sdiag_family = (uint8_t)family;
        request.body.inet.sdiag_protocol = IPPROTO_TCP;
        request.body.inet.idiag_states = 1U << STATE_LISTEN;
    }
    return send(file, &request, request.header.nlmsg_len, 0) >= 0;
}

static void search_family(struct search *search, int family)
{
    _Alignas(struct nlmsghdr) char reply[REPLY_BYTES];
    const int file = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (file < 0) {
        return;
    }
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    if (ask(file, family, search->path != NULL)) {
        ssize_t length;
        do {
            length = recv(file, reply, sizeof reply, 0);
        } while ((length < 0 && errno == EINTR) ||
                 (length > 0 && !take_reply(search, reply, (size_t)length)));
    }
    close(file);
}

bool backlog_read(struct backlog *backlog, uint16_t port, const char *path)
{
    struct search search = {.port = port, .path = path};
    if (path != NULL) {
        search_family(&search, AF_UNIX);
    } else {
        search_family(&search, AF_INET);
        search_family(&search, AF_INET6);
    }
    *backlog = search.found;
    return search.has_found;
}

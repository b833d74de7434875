#include "base/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    }
    return false;
}

static bool is_same(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family) {
        return false;
    }
    if (a->sa_family == AF_INET) {
        struct sockaddr_in x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return x.sin_addr.s_addr == y.sin_addr.s_addr;
    }
    if (a->sa_family == AF_INET6) {
        struct sockaddr_in6 x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return memcmp(&x.sin6_addr, &y.sin6_addr, sizeof x.sin6_addr) == 0;
    }
    return false;
}

static bool is_interface(const struct sockaddr *address)
{
    struct ifaddrs *interfaces = NULL;
    if (getifaddrs(&interfaces) != 0) {
        return false;
    }
    bool is_found = false;
    for (const struct ifaddrs *i = interfaces; i != NULL && !is_found; i = i->ifa_next) {
        is_found = i->ifa_addr != NULL && is_same(i->ifa_addr, address);
    }
    freeifaddrs(interfaces);
    return is_found;
}

bool address_is_local(const char *host)
{
    if (host[0] == '\0' || host[0] == '/' || host[0] == '@') {
        return true;
    }
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) {
        return false;
    }
    bool is_local = false;
    for (const struct addrinfo *a = found; a != NULL && !is_local; a = a->ai_next) {
        is_local = is_loopback(a->ai_addr) || is_interface(a->ai_addr);
    }
    freeaddrinfo(found);
    return is_local;
}

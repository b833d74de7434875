/* Whether a host name or address is this machine. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>

/* True for a socket folder ("/run/postgresql", "@abstract"), "", loopback addresses and addresses
 * of this machine's interfaces. Resolves names, so it may take as long as the resolver does; a name
 * that does not resolve is not this machine. */
bool address_is_local(const char *host);

#endif

/* The adapter that throws rows away: it measures append itself, and shows the contract at its
 * smallest. */
#ifndef ADAPTERS_NULL_H
#define ADAPTERS_NULL_H

#include "append/adapter.h"

extern const struct adapter adapter_null;

#endif

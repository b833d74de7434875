/* Machbase, through the vendor's client library, which is loaded at run time: see machbase.c. */
#ifndef ADAPTERS_MACHBASE_H
#define ADAPTERS_MACHBASE_H

#include "append/adapter.h"

extern const struct adapter adapter_machbase;

#endif

/* Definitions that all headers of this folder need. The headers together are the adapter
 * contract. */
#ifndef APPEND_API_H
#define APPEND_API_H

/* The version of the contract. A change of the declarations or of their meaning must raise the
 * version if the change breaks adapters that are already built. */
enum {
    ADAPTER_ABI = 1
};

/* Marks the prototype of a function that adapters may call. The linker name of the function is
 * append_NAME, so that the function cannot clash with a function of a client library. The build
 * (cmake/AppendAdapters.cmake) exports only the marked functions. */
#define APPEND_API(name) __asm__("append_" #name)

#endif

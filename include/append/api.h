/* Common to the headers of this folder, which are the adapter contract. */
#ifndef APPEND_API_H
#define APPEND_API_H

/* The version of the contract: the declarations of these headers and their meaning. Every change
 * that breaks adapters that are already built raises the version. */
enum {
    ADAPTER_ABI = 1
};

/* Marks a prototype. The program exports the function under the linker name append_NAME, so that it
 * cannot clash with a function of a client library. The build exports the marked functions
 * (cmake/AppendAdapters.cmake) and no others. */
#define APPEND_API(name) __asm__("append_" #name)

#endif

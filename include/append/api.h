/* What the headers of this folder, the contract of adapters, have in common. */
#ifndef APPEND_API_H
#define APPEND_API_H

/* The version of the contract: of what these headers declare and what that means. Raised by each
 * change with which an adapter that was built before would not work. */
enum {
    ADAPTER_ABI = 1
};

/* Stands after a prototype. The program exports the function, and to the linker its name is
 * append_NAME: no function of a client library takes its place, nor it theirs. The build exports
 * what is marked (cmake/AppendAdapters.cmake), and nothing else. */
#define APPEND_API(name) __asm__("append_" #name)

#endif

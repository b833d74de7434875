# Compiler and linker flags that every target of the project shares: the library `append_flags`.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

set(append_warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
    -Wundef -Wvla -Wcast-qual -Wwrite-strings -Wformat=2)

add_library(append_flags INTERFACE)
target_compile_definitions(append_flags INTERFACE _GNU_SOURCE)
target_compile_options(append_flags INTERFACE ${append_warnings})
if(APPEND_WERROR)
    target_compile_options(append_flags INTERFACE -Werror)
endif()

if(APPEND_SANITIZE)
    if(NOT APPEND_SANITIZE MATCHES "^(address|undefined|address,undefined|thread)$")
        message(FATAL_ERROR "APPEND_SANITIZE is '${APPEND_SANITIZE}': set it to "
                            "'address,undefined', 'thread' or nothing")
    endif()
    set(sanitize_flags -fsanitize=${APPEND_SANITIZE} -fno-sanitize-recover=all
                       -fno-omit-frame-pointer)
    # -g1: the sanitizers' stack traces need line numbers, but not variables.
    target_compile_options(append_flags INTERFACE ${sanitize_flags} -O1 -g1)
    target_link_options(append_flags INTERFACE ${sanitize_flags})
    if(APPEND_SANITIZE MATCHES "address|thread") # these multiply the size of stack frames and memory
        target_compile_definitions(append_flags INTERFACE APPEND_IS_SANITIZED)
    endif()
endif()

if(APPEND_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID STREQUAL Clang)
        message(FATAL_ERROR "APPEND_FUZZ needs clang: configure with -D CMAKE_C_COMPILER=clang")
    endif()
    target_compile_options(append_flags INTERFACE -fsanitize=fuzzer-no-link)
    target_link_options(append_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

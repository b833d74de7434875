# Declares adapters and decides which of them are built. CMakeLists.txt has a line for each adapter; the
# order of the lines is the order in which adapters are listed and probe a port.
#
# append_adapter(<name>
#                [LIBRARY <pkg-config module>]  client library, linked with the program
#                [LOADS]                        instead: the adapter loads its library at run time
#                [CHOICE <choice>]              one option for several adapters, which share the
#                                               library and src/adapters/<choice>*.c
#                [SOURCES <file>…]              sources besides src/adapters/<name>.c and <name>_*.c
#                [LINKS <library>…]             further libraries of the same package
#                [CONTRACTS <fixture>…])        fixtures of tests/contract, each <name> or
#                                               <name>-<adapter>; default: <name>
#
# The option APPEND_ADAPTER_<NAME or CHOICE> of an adapter with a LIBRARY is
#   AUTO  built when the library is found
#   ON    built; a missing library is an error
#   OFF   not built
# For an adapter that LOADS its library the option is ON or OFF, because building needs no library; the
# default is ON on 64-bit systems, for which these libraries exist. An adapter with neither is always
# built. Sources see the result as APPEND_HAVE_<NAME or CHOICE>, 0 or 1.
#
# A line adds an adapter to the registry, to the contract tests and their labels, and to the goldens
# (adapters.txt next to the program).

set(append_known_adapters "") # names, in order
set(append_adapters "")       # names of the adapters that are built, and of their choices
set(append_choices "")        # options that append_choose has evaluated
set(append_contracts "")      # fixtures of the adapters that are built
set(append_adapter_summary "")

# append_choose(<name> <pkg-config module or ""> <loads>): sets is_built, and line for the summary.
function(append_choose name module loads)
    string(TOUPPER ${name} upper)
    set(option APPEND_ADAPTER_${upper})
    set(built 0)
    if(loads)
        set(default OFF)
        if(CMAKE_SIZEOF_VOID_P EQUAL 8)
            set(default ON)
        endif()
        option(${option} "Build the ${name} adapter" ${default})
        if(${option})
            set(built 1)
            set(text "built (loads its client library at run time)")
        else()
            set(text "not built (${option} is OFF)")
        endif()
    elseif(module STREQUAL "")
        set(built 1)
        set(text "built")
    else()
        set(${option} AUTO CACHE STRING "Build the ${name} adapter: AUTO, ON or OFF")
        set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
        string(TOUPPER "${${option}}" choice)
        if(NOT choice MATCHES "^(AUTO|ON|OFF)$")
            message(FATAL_ERROR "${option} is '${${option}}': set it to AUTO, ON or OFF")
        elseif(choice STREQUAL OFF)
            set(text "not built (${option} is OFF)")
        else()
            pkg_check_modules(${name}_client QUIET IMPORTED_TARGET GLOBAL "${module}")
            if(${name}_client_FOUND)
                set(built 1)
                set(text "built (${${name}_client_MODULE_NAME} ${${name}_client_VERSION})")
                set(append_${name}_version ${${name}_client_VERSION} PARENT_SCOPE)
            elseif(choice STREQUAL ON)
                message(FATAL_ERROR "${option} is ON, but pkg-config does not find ${module}. Install the "
                                    "client library's development package (scripts/setup.sh run).")
            else()
                set(text "not built (pkg-config does not find ${module})")
            endif()
        endif()
    endif()
    set(is_built ${built} PARENT_SCOPE)
    set(line "${text}" PARENT_SCOPE)
endfunction()

# A macro, because it appends to the lists of its caller.
macro(append_adapter name)
    cmake_parse_arguments(adapter "LOADS" "LIBRARY;CHOICE" "SOURCES;LINKS;CONTRACTS"
                          ${ARGN})
    set(choice ${name})
    if(adapter_CHOICE)
        set(choice ${adapter_CHOICE})
    endif()
    if(adapter_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "append_adapter(${name}): unknown arguments: ${adapter_UNPARSED_ARGUMENTS}")
    endif()
    string(TOUPPER ${choice} upper)
    if(choice IN_LIST append_choices AND (adapter_LIBRARY OR adapter_LOADS))
        message(FATAL_ERROR "append_adapter(${name}): LIBRARY and LOADS belong to the first line of "
                            "CHOICE ${choice}")
    endif()
    if(NOT choice IN_LIST append_choices)
        append_choose(${choice} "${adapter_LIBRARY}" ${adapter_LOADS})
        set(APPEND_HAVE_${upper} ${is_built})
        list(APPEND append_choices ${choice})
        string(APPEND append_adapter_summary "\n  ${choice}: ${line}")
    endif()
    list(APPEND append_known_adapters ${name})
    set(append_${name}_choice ${choice})
    if(APPEND_HAVE_${upper})
        list(APPEND append_adapters ${name} ${choice})
        list(REMOVE_DUPLICATES append_adapters)
        file(GLOB append_${name}_sources CONFIGURE_DEPENDS
             ${PROJECT_SOURCE_DIR}/src/adapters/${name}.c
             ${PROJECT_SOURCE_DIR}/src/adapters/${name}_*.c
             ${PROJECT_SOURCE_DIR}/src/adapters/${choice}.c
             ${PROJECT_SOURCE_DIR}/src/adapters/${choice}_*.c)
        list(APPEND append_${name}_sources ${adapter_SOURCES})
        set(append_${name}_links ${adapter_LINKS})
        if(adapter_CONTRACTS)
            list(APPEND append_contracts ${adapter_CONTRACTS})
        else()
            list(APPEND append_contracts ${name})
        endif()
    endif()
endmacro()

# append_use_adapters(<target>): compiles the adapters and their registry into the target.
function(append_use_adapters target)
    set(externs "")
    set(entries "")
    set(states "")
    set(sources "")
    foreach(choice IN LISTS append_choices)
        string(TOUPPER ${choice} upper)
        target_compile_definitions(${target} PUBLIC APPEND_HAVE_${upper}=${APPEND_HAVE_${upper}})
        if(TARGET PkgConfig::${choice}_client)
            target_link_libraries(${target} PUBLIC PkgConfig::${choice}_client)
        endif()
    endforeach()
    foreach(name IN LISTS append_known_adapters)
        if(NOT name IN_LIST append_adapters)
            string(APPEND states "${name} 0\n")
            continue()
        endif()
        string(APPEND states "${name} 1\n")
        string(APPEND externs "extern const struct adapter adapter_${name};\n")
        string(APPEND entries "    &adapter_${name},\n")
        list(APPEND sources ${append_${name}_sources})
        target_link_libraries(${target} PUBLIC ${append_${name}_links})
        # for client libraries that do not report their own version
        set_source_files_properties(src/adapters/${name}.c PROPERTIES
            COMPILE_DEFINITIONS "APPEND_CLIENT_VERSION=\"${append_${append_${name}_choice}_version}\"")
    endforeach()
    list(REMOVE_DUPLICATES sources)
    set(registry ${CMAKE_CURRENT_BINARY_DIR}/registry_adapters.c)
    file(CONFIGURE OUTPUT ${registry} @ONLY CONTENT
         "/* Made by cmake/AppendAdapters.cmake. */
#include <stddef.h>

#include \"adapters/registry.h\"

${externs}
const struct adapter *const registry_adapters[] = {
${entries}    NULL,
};
")
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/adapters.txt @ONLY CONTENT "${states}")
    target_sources(${target} PRIVATE ${sources} ${registry})
    target_link_libraries(${target} PUBLIC ${CMAKE_DL_LIBS})
endfunction()

# append_export_api(<target>): makes programs that link the target export the functions that the headers
# in include/append mark as APPEND_API, for the libraries that they load, and the function connect of
# src/base/client_socket.c.
function(append_export_api target)
    file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/append/*.h)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
    set(symbols connect)
    foreach(header IN LISTS headers)
        file(READ ${header} text)
        string(REPLACE "]" " " text "${text}") # the end of an array, which CMake would take for a list's
        string(REGEX MATCHALL "[)\n ] +APPEND_API\\([a-z0-9_]+\\)" marks "${text}")
        list(TRANSFORM marks REPLACE "^.*\\((.*)\\)$" "append_\\1")
        list(APPEND symbols ${marks})
    endforeach()
    list(JOIN symbols "$<SEMICOLON> " names)
    set(list ${CMAKE_CURRENT_BINARY_DIR}/exports.list)
    file(GENERATE OUTPUT ${list} CONTENT "{ ${names}$<SEMICOLON> }$<SEMICOLON>\n")
    list(TRANSFORM symbols PREPEND "LINKER:--undefined=" OUTPUT_VARIABLE wanted)
    target_link_options(${target} PUBLIC "LINKER:--dynamic-list=${list}" ${wanted})
endfunction()

# append_print_summary(<whether the tests are built>)
function(append_print_summary tests)
    if(APPEND_SANITIZE)
        set(sanitize ${APPEND_SANITIZE})
    else()
        set(sanitize none)
    endif()
    message(STATUS "append ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, sanitizers: ${sanitize}, "
                   "tests: ${tests}, --io-trace: ${append_io_trace_summary}, several machines: "
                   "${append_mpi_summary}, adapters:"
                   "${append_adapter_summary}")
endfunction()

# Which adapters are built. APPEND_ADAPTER_<NAME> is
#   AUTO  built when its client library is found
#   ON    built; a missing library is an error
#   OFF   not built
# and becomes APPEND_HAVE_<NAME>, 0 or 1, for the registry. The null adapter is always there.

set(append_adapters null)
set(append_adapter_summary "  null: built")

# append_find_adapter(<name> <pkg-config module>)
function(append_find_adapter name module)
    string(TOUPPER ${name} upper)
    set(option APPEND_ADAPTER_${upper})
    set(${option} AUTO CACHE STRING "Build the ${name} adapter: AUTO, ON or OFF")
    set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
    string(TOUPPER "${${option}}" choice)
    set(is_built 0)
    if(NOT choice MATCHES "^(AUTO|ON|OFF)$")
        message(FATAL_ERROR "${option} is '${${option}}': it can be AUTO, ON or OFF")
    elseif(choice STREQUAL OFF)
        set(line "not built (${option} is OFF)")
    else()
        pkg_check_modules(${name}_client QUIET IMPORTED_TARGET GLOBAL "${module}")
        if(${name}_client_FOUND)
            set(is_built 1)
            set(line "built (${${name}_client_MODULE_NAME} ${${name}_client_VERSION})")
        elseif(choice STREQUAL ON)
            message(FATAL_ERROR "${option} is ON, but pkg-config finds no ${module}. Install the "
                                "client library's development package (scripts/setup.sh run).")
        else()
            set(line "not built (pkg-config finds no ${module})")
        endif()
    endif()
    set(APPEND_HAVE_${upper} ${is_built} PARENT_SCOPE)
    if(is_built)
        set(append_adapters ${append_adapters} ${name} PARENT_SCOPE)
    endif()
    set(append_adapter_summary "${append_adapter_summary}\n  ${name}: ${line}" PARENT_SCOPE)
endfunction()

# append_use_adapter(<target> <name>)
function(append_use_adapter target name)
    string(TOUPPER ${name} upper)
    target_compile_definitions(${target} PUBLIC APPEND_HAVE_${upper}=${APPEND_HAVE_${upper}})
    if(APPEND_HAVE_${upper})
        target_sources(${target} PRIVATE ${append_${name}_sources})
        target_link_libraries(${target} PUBLIC PkgConfig::${name}_client)
    endif()
endfunction()

function(append_print_summary)
    if(APPEND_SANITIZE)
        set(sanitize ${APPEND_SANITIZE})
    else()
        set(sanitize none)
    endif()
    message(STATUS "append ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, sanitizers: ${sanitize}, "
                   "tests: ${APPEND_TESTS}, adapters:\n${append_adapter_summary}")
endfunction()

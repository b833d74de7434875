# Builds --io-trace and --waits=kernel. As for an adapter (AppendAdapters.cmake), APPEND_IO_TRACE is
#   AUTO  built when libbpf, clang and bpftool are found
#   ON    built; if one of them is missing, that is an error
#   OFF   not built
# src/trace/*.bpf.c are compiled for the kernel and converted to headers that contain the programs.

set(APPEND_IO_TRACE AUTO CACHE STRING "Build --io-trace: AUTO, ON or OFF")
set_property(CACHE APPEND_IO_TRACE PROPERTY STRINGS AUTO ON OFF)
string(TOUPPER "${APPEND_IO_TRACE}" choice)
set(io_trace_lacks "")
if(NOT choice MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "APPEND_IO_TRACE is '${APPEND_IO_TRACE}': set it to AUTO, ON or OFF")
elseif(choice STREQUAL OFF)
    set(io_trace_lacks "APPEND_IO_TRACE=ON")
else()
    pkg_check_modules(libbpf QUIET IMPORTED_TARGET libbpf>=1.0)
    find_program(BPF_CLANG clang)
    find_program(BPFTOOL bpftool PATHS /usr/sbin /sbin)
    if(NOT libbpf_FOUND)
        set(io_trace_lacks "libbpf 1.0")
    elseif(NOT BPF_CLANG)
        set(io_trace_lacks "clang")
    elseif(NOT BPFTOOL)
        set(io_trace_lacks "bpftool")
    endif()
    if(choice STREQUAL ON AND NOT io_trace_lacks STREQUAL "")
        message(FATAL_ERROR "APPEND_IO_TRACE is ON, but ${io_trace_lacks} is not found. Install "
                            "libbpf-dev, clang and bpftool (scripts/setup.sh run).")
    endif()
endif()

if(io_trace_lacks STREQUAL "")
    set(APPEND_HAVE_IO_TRACE 1)
    set(append_io_trace_summary "built (libbpf ${libbpf_VERSION})")
    set(bpf_machine x86)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
        set(bpf_machine arm64)
    endif()
    set(bpf_folder ${CMAKE_CURRENT_BINARY_DIR}/bpf/trace)
    file(MAKE_DIRECTORY ${bpf_folder})
    # NAME.bpf.c becomes NAME.skel.h. -mcpu=v3: for atomic operations that return a value
    foreach(name io switch)
        set(bpf_result ${bpf_folder}/${name})
        add_custom_command(
            OUTPUT ${bpf_result}.skel.h
            COMMAND ${BPF_CLANG} -O2 -g -Wall -Werror -target bpf -mcpu=v3
                    -D__TARGET_ARCH_${bpf_machine} -I ${CMAKE_CURRENT_SOURCE_DIR}/src
                    -c ${CMAKE_CURRENT_SOURCE_DIR}/src/trace/${name}.bpf.c -o ${bpf_result}.bpf.o
            COMMAND ${CMAKE_COMMAND} -E echo "/* NOLINTBEGIN */" > ${bpf_result}.skel.h.new
            COMMAND ${BPFTOOL} gen skeleton ${bpf_result}.bpf.o name ${name}_bpf >> ${bpf_result}.skel.h.new
            COMMAND ${CMAKE_COMMAND} -E echo "/* NOLINTEND */" >> ${bpf_result}.skel.h.new
            COMMAND ${CMAKE_COMMAND} -E rename ${bpf_result}.skel.h.new ${bpf_result}.skel.h
            DEPENDS src/trace/${name}.bpf.c src/trace/bpf.h src/trace/${name}_event.h
            COMMENT "Building src/trace/${name}.bpf.c into ${name}.skel.h"
            VERBATIM)
        list(APPEND bpf_skeletons ${bpf_result}.skel.h)
    endforeach()
else()
    set(APPEND_HAVE_IO_TRACE 0)
    set(append_io_trace_summary "not built (${io_trace_lacks} is missing)")
endif()

# append_use_io_trace(<target>): adds the tracer's kernel programs to the target if they are built.
function(append_use_io_trace target)
    target_compile_definitions(${target} PRIVATE APPEND_HAVE_IO_TRACE=${APPEND_HAVE_IO_TRACE}
                               APPEND_IO_TRACE_LACKS="${io_trace_lacks}")
    if(APPEND_HAVE_IO_TRACE)
        target_sources(${target} PRIVATE ${bpf_skeletons})
        target_include_directories(${target} SYSTEM PRIVATE ${bpf_folder}/..)
        target_link_libraries(${target} PUBLIC PkgConfig::libbpf)
    endif()
endfunction()

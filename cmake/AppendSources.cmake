# Finds the sources src/ROOM/*.c. The sources of an adapter, src/adapters/NAME.c and NAME_*.c, are built
# only with the adapter (AppendAdapters.cmake).

file(GLOB append_core_sources CONFIGURE_DEPENDS src/*/*.c)
list(FILTER append_core_sources EXCLUDE REGEX "[.]bpf[.]c$") # AppendTrace.cmake
set(names ${append_known_adapters} ${append_choices})
list(JOIN names "|" append_adapter_pattern)
list(FILTER append_core_sources EXCLUDE REGEX "/src/adapters/(${append_adapter_pattern})[._]")
list(FILTER append_core_sources EXCLUDE REGEX "/src/ranks/mpi\\.c$") # AppendMpi.cmake

# Sources with a main function: the program's, and append_docs's.
set(append_docs_sources src/commands/docs.c)
list(TRANSFORM append_docs_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE own_mains)
list(APPEND own_mains ${CMAKE_CURRENT_SOURCE_DIR}/src/commands/main.c)
list(REMOVE_ITEM append_core_sources ${own_mains})

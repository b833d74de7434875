# The sources are found, not listed: src/ROOM/*.c. Those of an adapter are src/adapters/NAME.c and
# NAME_*.c, built when the adapter is (AppendAdapters.cmake). The databases that speak HTTP are one
# choice, http: what they share is src/adapters/http*.c.

set(append_http_databases clickhouse influxdb singlestore arangodb)
file(GLOB append_core_sources CONFIGURE_DEPENDS src/*/*.c)
list(FILTER append_core_sources EXCLUDE REGEX "[.]bpf[.]c$") # AppendTrace.cmake
list(FILTER append_core_sources EXCLUDE REGEX "/src/adapters/(sqlite|postgresql|mariadb|odbc|machbase|http|clickhouse|influxdb|singlestore|arangodb)[._]")
list(FILTER append_core_sources EXCLUDE REGEX "/src/ranks/mpi\\.c$") # AppendMpi.cmake
foreach(name IN ITEMS sqlite postgresql mariadb odbc machbase)
    file(GLOB append_${name}_sources CONFIGURE_DEPENDS src/adapters/${name}.c src/adapters/${name}_*.c)
endforeach()
foreach(name IN ITEMS http ${append_http_databases})
    file(GLOB sources CONFIGURE_DEPENDS src/adapters/${name}.c src/adapters/${name}_*.c)
    list(APPEND append_http_sources ${sources})
endforeach()

# The program, and the one that makes the manual page and the completions of shells.
set(append_docs_sources src/commands/docs.c)
list(TRANSFORM append_docs_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE own_mains)
list(APPEND own_mains ${CMAKE_CURRENT_SOURCE_DIR}/src/commands/main.c)
list(REMOVE_ITEM append_core_sources ${own_mains})

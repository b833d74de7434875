# Installation (cmake --install) and packages (cpack: a .deb and a tarball).
#
# The program append_docs, which is only used in the build, writes the manual page,
# docs/options.md and the shell completions from the tables that --help also prints.

add_executable(append_docs ${append_docs_sources})
target_link_libraries(append_docs PRIVATE append_core)

set(docs_dir ${CMAKE_CURRENT_BINARY_DIR}/docs)
set(man_page ${docs_dir}/append.1)
set(bash_completion ${docs_dir}/append.bash)
set(zsh_completion ${docs_dir}/_append)
set(options_page ${docs_dir}/options.md)
file(MAKE_DIRECTORY ${docs_dir})

# append_make_doc(<output> <template>)
function(append_make_doc output template)
    add_custom_command(
        OUTPUT ${output}
        COMMAND append_docs ${CMAKE_CURRENT_SOURCE_DIR}/${template} > ${output}.new
        COMMAND ${CMAKE_COMMAND} -E rename ${output}.new ${output}
        DEPENDS append_docs ${template}
        COMMENT "Writing ${output}"
        VERBATIM)
endfunction()
append_make_doc(${man_page} docs/append.1.in)
append_make_doc(${bash_completion} docs/append.bash.in)
append_make_doc(${zsh_completion} docs/append.zsh.in)
append_make_doc(${options_page} docs/options.md.in)

# Debian requires these files to be compressed, without a timestamp.
find_program(GZIP gzip)
set(news ${CMAKE_CURRENT_SOURCE_DIR}/CHANGELOG.md)
set(changelog ${docs_dir}/changelog)
configure_file(docs/debian-changelog.in ${changelog} @ONLY)
set(installed_man ${man_page})
set(installed_texts ${news} ${changelog})
if(GZIP)
    set(installed_man ${docs_dir}/append.1.gz)
    set(installed_texts ${docs_dir}/NEWS.md.gz ${docs_dir}/changelog.gz)
    add_custom_command(
        OUTPUT ${installed_man} ${installed_texts}
        COMMAND ${GZIP} -9nc ${man_page} > ${installed_man}
        COMMAND ${GZIP} -9nc ${news} > ${docs_dir}/NEWS.md.gz
        COMMAND ${GZIP} -9nc ${changelog} > ${docs_dir}/changelog.gz
        DEPENDS ${man_page} ${news} ${changelog}
        VERBATIM)
endif()
add_custom_target(docs ALL
    DEPENDS ${man_page} ${bash_completion} ${zsh_completion} ${options_page} ${installed_man}
            ${installed_texts})
# docs/options.md is kept in the repository for readers of the web page; a test compares it.
add_custom_target(options_page
    COMMAND ${CMAKE_COMMAND} -E copy ${options_page} ${CMAKE_CURRENT_SOURCE_DIR}/docs/options.md
    DEPENDS ${options_page}
    COMMENT "Writing docs/options.md"
    VERBATIM)

set(doc_dir ${CMAKE_INSTALL_DATAROOTDIR}/doc/append)
install(TARGETS append RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT binary)
# The tarball may be used on systems without the libraries, so a script that starts the program names the
# missing ones.
install(TARGETS append RUNTIME DESTINATION lib/append COMPONENT launched EXCLUDE_FROM_ALL)
install(PROGRAMS scripts/launcher.sh RENAME append DESTINATION ${CMAKE_INSTALL_BINDIR}
        COMPONENT launched EXCLUDE_FROM_ALL)
install(PROGRAMS scripts/ci-smoke.sh DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/append
        COMPONENT program)
# In the same folders as in the sources, because the files link to each other.
install(FILES README.md compose.yaml DESTINATION ${doc_dir} COMPONENT program)
install(DIRECTORY docs DESTINATION ${doc_dir} COMPONENT program FILES_MATCHING PATTERN "*.md"
        PATTERN "grafana.json")
install(FILES ${installed_man} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${bash_completion} RENAME append COMPONENT program
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions)
install(FILES ${zsh_completion} COMPONENT program
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/vendor-completions)
install(FILES ${installed_texts} DESTINATION ${doc_dir} COMPONENT program)
install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/docs/copyright DESTINATION ${doc_dir} COMPONENT program)
install(DIRECTORY include/append DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT headers
        FILES_MATCHING PATTERN "*.h")
# Relative to the .pc file, because the prefix at installation may differ from the configured prefix.
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
configure_file(cmake/append.pc.in append.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/append.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT headers)

# The packages contain the program, but not the headers for adapters.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME append)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "append maintainers <maintainers@append.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "load generator that finds how many sessions a database holds")
set(CPACK_PACKAGE_DESCRIPTION
"Opens sessions to a database that all append rows through its bulk path and
count them, or run a script of transactions. Reports CPU, memory, latency
and throughput, what became of every session and row, and which limit
stopped sessions. For PostgreSQL, MariaDB, MySQL, SQLite, ClickHouse,
InfluxDB, QuestDB, SingleStore, ArangoDB, Machbase and every database with
an ODBC driver.")
set(CPACK_PACKAGE_FILE_NAME append-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program binary)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gnuplot-nox) # append report --text and --png
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_SOURCE_DIR}/cmake/PackageOptions.cmake)
include(CPack)

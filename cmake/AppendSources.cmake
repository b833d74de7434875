# The sources of append_core, a list a folder. tests/style checks that no file is missing here.

set(base_sources
    src/base/address.c
    src/base/buffer.c
    src/base/error.c
    src/base/interrupt.c
    src/base/limit_sql.c
    src/base/mono.c
    src/base/probe.c
    src/base/random.c
    src/base/row.c
    src/base/stack.c
    src/base/units.c
    src/base/url_query.c
    src/base/value_text.c)

set(adapter_sources
    src/adapters/null.c
    src/adapters/registry.c)

set(plan_sources
    src/plan/config.c
    src/plan/plan.c
    src/plan/schema.c
    src/plan/target.c
    src/plan/url.c)

set(measure_sources
    src/measure/causes.c
    src/measure/histogram.c
    src/measure/intervals.c
    src/measure/ledger.c
    src/measure/limit.c
    src/measure/proc_file.c
    src/measure/process_memory.c
    src/measure/process_table.c
    src/measure/process_walk.c
    src/measure/procfs.c
    src/measure/procfs_text.c
    src/measure/recorder.c
    src/measure/resources.c
    src/measure/sampler.c
    src/measure/server_cgroup.c
    src/measure/server_find.c
    src/measure/server_process.c
    src/measure/thread_time.c
    src/measure/verdict.c)

set(limits_sources
    src/limits/backlog.c
    src/limits/cgroup.c
    src/limits/client.c
    src/limits/database.c
    src/limits/evidence.c
    src/limits/evidence_cause.c
    src/limits/evidence_counters.c
    src/limits/evidence_name.c
    src/limits/limits.c
    src/limits/limits_text.c
    src/limits/memory.c
    src/limits/open_files.c
    src/limits/ports.c
    src/limits/remedy.c
    src/limits/server.c
    src/limits/subject.c)

set(load_sources
    src/load/driver.c
    src/load/gate.c
    src/load/generator.c
    src/load/generator_fill.c
    src/load/generator_text.c
    src/load/inquiry.c
    src/load/session.c
    src/load/setup.c
    src/load/side_job.c
    src/load/workload.c)

set(report_sources
    src/report/clean.c
    src/report/csv.c
    src/report/csv_files.c
    src/report/environment.c
    src/report/figures.c
    src/report/files.c
    src/report/hgrm.c
    src/report/json.c
    src/report/json_findings.c
    src/report/json_check.c
    src/report/json_plan.c
    src/report/progress.c
    src/report/screen.c
    src/report/text.c
    src/report/text_check.c
    src/report/text_findings.c
    src/report/text_ledger.c
    src/report/tree.c)

set(cli_sources
    src/cli/check.c
    src/cli/command.c
    src/cli/find_max.c
    src/cli/job.c
    src/cli/option_table.c
    src/cli/options.c
    src/cli/preflight.c
    src/cli/run.c)

# Built when the adapter is: see AppendAdapters.cmake.
set(append_sqlite_sources
    src/adapters/sqlite.c
    src/adapters/sqlite_bind.c
    src/adapters/sqlite_describe.c
    src/adapters/sqlite_error.c)
set(append_postgresql_sources
    src/adapters/postgresql.c
    src/adapters/postgresql_connect.c
    src/adapters/postgresql_copy.c
    src/adapters/postgresql_describe.c
    src/adapters/postgresql_encode.c
    src/adapters/postgresql_error.c
    src/adapters/postgresql_insert.c
    src/adapters/postgresql_recognise.c)
set(append_mariadb_sources
    src/adapters/mariadb.c
    src/adapters/mariadb_append.c
    src/adapters/mariadb_bulk.c
    src/adapters/mariadb_connect.c
    src/adapters/mariadb_describe.c
    src/adapters/mariadb_encode.c
    src/adapters/mariadb_error.c
    src/adapters/mariadb_insert.c
    src/adapters/mariadb_load.c
    src/adapters/mariadb_options.c
    src/adapters/mariadb_packet.c
    src/adapters/mariadb_query.c
    src/adapters/mariadb_recognise.c)

set(append_odbc_sources
    src/adapters/odbc.c
    src/adapters/odbc_append.c
    src/adapters/odbc_bind.c
    src/adapters/odbc_connect.c
    src/adapters/odbc_describe.c
    src/adapters/odbc_error.c
    src/adapters/odbc_inspect.c
    src/adapters/odbc_query.c
    src/adapters/odbc_script.c
    src/adapters/odbc_setup.c
    src/adapters/odbc_socket.c
    src/adapters/odbc_string.c
    src/adapters/odbc_types.c)

set(append_core_sources
    ${base_sources} ${adapter_sources} ${plan_sources} ${measure_sources} ${limits_sources}
    ${load_sources} ${report_sources} ${cli_sources})

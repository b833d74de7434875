#include "report/json_levels.h"

#include "report/figures.h"

static void add_latency(struct tree level, const char *key, const struct level_latency *latency)
{
    const bool is_known = latency->count > 0;
    struct tree tree = tree_object(level, key);
    tree_count(tree, "count", latency->count);
    tree_number_if(tree, "p50_ms", is_known, figures_ms(latency->p50_ns));
    tree_number_if(tree, "p99_ms", is_known, figures_ms(latency->p99_ns));
    tree_number_if(tree, "max_ms", is_known, figures_ms(latency->max_ns));
}

static void add_level_causes(struct tree entry, const struct level *level)
{
    struct tree list = tree_array(entry, "causes");
    for (size_t i = 0; level->causes != NULL && i < level->causes->count; i++) {
        const struct cause *cause = &level->causes->entries[i];
        struct tree tree = tree_append_object(list);
        tree_text(tree, "phase", cause_phase_name(cause->phase));
        tree_text(tree, "kind", error_kind_name(cause->error.kind));
        tree_put(tree, "native_code", json_integer(cause->error.native_code));
        tree_text(tree, "sqlstate", cause->error.sqlstate);
        tree_text(tree, "text", cause->error.text);
        tree_count(tree, "count", cause->count);
    }
}

static void add_level(struct tree list, const struct level *level)
{
    const bool has_hold = level->hold_ns > 0;
    const struct session_ledger *ledger = &level->ledger;
    struct tree tree = tree_append_object(list);
    tree_count(tree, "sessions", level->sessions);
    tree_text(tree, "outcome", level_outcome_name(level->outcome));
    tree_text(tree, "reason", level_reason_name(level->reason));
    tree_number(tree, "start_s", figures_seconds(level->start_ns));
    tree_number(tree, "connect_s", figures_seconds(level->connect_ns));
    tree_number(tree, "hold_s", figures_seconds(level->hold_ns));
    tree_count(tree, "added", level->added);
    tree_count(tree, "up", level->up);
    tree_count(tree, "refused", ledger->refused);
    tree_count(tree, "timed_out", ledger->timed_out);
    tree_count(tree, "not_started", ledger->not_started);
    tree_count(tree, "dropped", ledger->dropped);
    tree_count_if(tree, "stalled", has_hold, level->stalled);
    tree_count_if(tree, "calls_failed", has_hold, level->failed);
    tree_count_if(tree, "rows", has_hold, level->rows);
    tree_number_if(tree, "rows_per_s", has_hold, level->rows_per_s);
    tree_number_if(tree, "lowest_rows_per_s", level->lowest_rows_per_s >= 0,
                   level->lowest_rows_per_s);
    tree_number_if(tree, "highest_rows_per_s", level->highest_rows_per_s >= 0,
                   level->highest_rows_per_s);
    add_latency(tree, "append", &level->append);
    add_latency(tree, "connect", &level->connect);
    tree_number_if(tree, "host_cpu_percent", level->host_cpu_percent >= 0, level->host_cpu_percent);
    tree_number_if(tree, "server_cpu_percent", level->server_cpu_percent >= 0,
                   level->server_cpu_percent);
    tree_number_if(tree, "client_cpu_percent", level->client_cpu_percent >= 0,
                   level->client_cpu_percent);
    tree_count_if(tree, "server_memory_bytes", level->server_memory_bytes >= 0,
                  (uint64_t)level->server_memory_bytes);
    tree_count_if(tree, "client_memory_bytes", level->client_memory_bytes >= 0,
                  (uint64_t)level->client_memory_bytes);
    add_level_causes(tree, level);
}

static void add_bound(struct tree search_tree, const struct search *search)
{
    const bool is_limit = search->bound_by == BOUND_CLIENT;
    struct tree tree = tree_object(search_tree, "bound");
    tree_count(tree, "sessions", search->bound);
    tree_text(tree, "by", search_bound_name(search->bound_by));
    tree_text(tree, "limit", is_limit ? search->bound_limit.name : NULL);
    tree_text(tree, "where", is_limit ? search->bound_limit.where : NULL);
}

static void add_knee(struct tree search_tree, const struct search *search)
{
    const struct level *best = search_best(search);
    const struct level *knee = search_knee(search);
    struct tree tree = tree_object(search_tree, "knee");
    tree_count_if(tree, "sessions", knee != NULL, knee == NULL ? 0 : knee->sessions);
    tree_number_if(tree, "rows_per_s", knee != NULL, knee == NULL ? 0 : knee->rows_per_s);
    tree_number_if(tree, "lowest_rows_per_s", knee != NULL && knee->lowest_rows_per_s >= 0,
                   knee == NULL ? 0 : knee->lowest_rows_per_s);
    tree_number_if(tree, "highest_rows_per_s", knee != NULL && knee->highest_rows_per_s >= 0,
                   knee == NULL ? 0 : knee->highest_rows_per_s);
    tree_count_if(tree, "best_sessions", best != NULL, best == NULL ? 0 : best->sessions);
    tree_number_if(tree, "best_rows_per_s", best != NULL, best == NULL ? 0 : best->rows_per_s);

    const struct level *over = NULL;
    const struct level *within = NULL;
    const bool is_bound = search->p99_bound_ns > 0;
    if (is_bound) {
        search_p99(search, &over, &within);
    }
    tree = tree_object(search_tree, "p99");
    tree_number_if(tree, "bound_ms", is_bound, figures_ms(search->p99_bound_ns));
    tree_count_if(tree, "sessions_within", within != NULL, within == NULL ? 0 : within->sessions);
    tree_count_if(tree, "sessions_over", over != NULL, over == NULL ? 0 : over->sessions);
}

void json_levels_add(struct tree root, const struct search *search)
{
    const double session_bytes = search_session_bytes(search);
    struct tree tree = tree_object(root, "search");
    tree_count(tree, "held", search->held);
    tree_count_if(tree, "failed", search->failed > 0, search->failed);
    tree_text(tree, "end", search_end_name(search->end));
    tree_text(tree, "end_note", search->end_note);
    tree_text(tree, "figures_note", search->figures_note);
    tree_number(tree, "hold_s", figures_seconds(search->hold_ns));
    tree_count_if(tree, "max_rows", search->max_rows > 0, search->max_rows);
    tree_text(tree, "max_rows_by",
              search->max_rows == 0       ? NULL
              : search->is_bound_by_bytes ? "max_bytes"
                                          : "max_rows");
    tree_number_if(tree, "row_bytes", search->row_bytes > 0, search->row_bytes);
    tree_text(tree, "removal", search->removal);
    add_bound(tree, search);
    add_knee(tree, search);
    tree_number_if(tree, "server_memory_growth_bytes_per_session", session_bytes >= 0,
                   session_bytes);
    struct tree list = tree_array(tree, "levels");
    for (size_t i = 0; i < search->count; i++) {
        add_level(list, &search->levels[i]);
    }
}

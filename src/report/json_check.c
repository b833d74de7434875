#include <jansson.h>

#include "report/check.h"
#include "report/tree.h"

/* Raised when a member changes its meaning or goes; new members do not raise it. */
enum {
    FORMAT_VERSION = 1
};

static void add_limit(struct tree list, const struct limit *limit)
{
    struct tree tree = tree_append_object(list);
    tree_text(tree, "grade", limit_grade_name(limit->grade));
    tree_text(tree, "side", limit_side_name(limit->side));
    tree_text(tree, "limit", limit_id_name(limit->id));
    tree_text(tree, "name", limit->name);
    tree_text(tree, "where", limit->where);
    tree_text(tree, "unit", limit->unit);
    tree_count_if(tree, "allowed", limit->allowed != LIMIT_NONE, limit->allowed);
    tree_count(tree, "used", limit->used);
    tree_count(tree, "needed", limit->needed);
    tree_count_if(tree, "sessions", limit->sessions != LIMIT_NONE, limit->sessions);
    tree_bool(tree, "is_estimate", limit->is_estimate);
    tree_text(tree, "note", limit->note);
    tree_text(tree, "fix", limit->fix);
}

bool check_write_json(FILE *stream, const struct check_report *report)
{
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    char line[CHECK_LINE_BYTES];
    check_conclude(report, line);
    tree_count(root, "format", FORMAT_VERSION);
    tree_text(root, "program", "append");
    tree_text(root, "version", APPEND_VERSION);
    tree_text(root, "command", "check");
    tree_count(root, "sessions", report->sessions);
    tree_text(root, "target", report->target);
    tree_text(root, "server_version", report->version);
    tree_text(root, "note", report->note);
    tree_text(root, "not_asked", report->failure);
    struct tree list = tree_array(root, "limits");
    for (size_t i = 0; i < report->list->count; i++) {
        add_limit(list, &report->list->entries[i]);
    }
    struct tree outcome = tree_object(root, "outcome");
    tree_count_if(outcome, "max_sessions", report->fitting != LIMIT_NONE, report->fitting);
    tree_text(outcome, "first_limit", report->first == NULL ? NULL : report->first->name);
    tree_text(outcome, "side", report->first == NULL ? NULL : limit_side_name(report->first->side));
    tree_put(outcome, "is_estimate",
             json_boolean(report->first != NULL && report->first->is_estimate));
    tree_text(outcome, "conclusion", line);
    tree_put(outcome, "exit_code", json_integer((json_int_t)report->code));
    return tree_write(stream, json, has_failed);
}

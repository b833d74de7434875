#include "report/json_findings.h"

void json_findings_add(struct tree root, const struct findings *findings)
{
    struct tree list = tree_array(root, "findings");
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->entries[i];
        struct tree entry = tree_append_object(list);
        tree_text(entry, "limit", limit_id_name(finding->id));
        tree_text(entry, "side", limit_side_name(finding->side));
        tree_text(entry, "name", finding->name);
        tree_count(entry, "sessions", finding->sessions);
        tree_count(entry, "tries", finding->tries);
        tree_text(entry, "evidence", finding->evidence);
        tree_text(entry, "fix", finding->fix);
    }
}

#include "report/csv_sessions.h"

#include "report/figures.h"

enum {
    SECONDS_DECIMALS = 6,
    MS_DECIMALS = 6
};

static void put_moment(struct csv *csv, const char *column, int64_t ns)
{
    csv_decimal_if(csv, column, ns >= 0, figures_seconds(ns), SECONDS_DECIMALS);
}

static void put_verified(struct csv *csv, const struct session_summary *session)
{
    const bool is_verified = session->is_verified;
    csv_count_if(csv, "verified_present", is_verified, session->present);
    csv_count_if(csv, "verified_lost", is_verified, session->lost);
    csv_count_if(csv, "verified_unacknowledged_present", is_verified,
                 session->unacknowledged_present);
    csv_count_if(csv, "verified_duplicates", is_verified, session->duplicates);
}

void csv_sessions_row(struct csv *csv, const struct session_summary *session)
{
    const bool has_worked = session->worked_ns > 0;
    csv_count(csv, "session", session->index);
    csv_text(csv, "kind", session->is_idle ? "idle" : "active");
    csv_text(csv, "outcome", session_outcome_name(session->outcome));
    csv_count(csv, "rows_planned", session->rows.planned);
    csv_count(csv, "rows_acknowledged", session->rows.acknowledged);
    csv_count(csv, "rows_rejected", session->rows.rejected);
    csv_count(csv, "rows_in_doubt", session->rows.in_doubt);
    csv_count(csv, "rows_not_sent", session->rows.not_sent);
    csv_count(csv, "batches", session->batches);
    csv_count(csv, "connections_lost", session->drops);
    csv_count(csv, "reconnects", session->reconnects);
    csv_count(csv, "churns", session->churns);
    put_moment(csv, "first_acknowledged_s", session->first_ack_ns);
    put_moment(csv, "last_acknowledged_s", session->last_ack_ns);
    put_moment(csv, "worked_s", has_worked ? session->worked_ns : -1);
    csv_decimal_if(csv, "rows_per_s", has_worked, session_rows_per_s(session), 1);
    csv_decimal_if(csv, "longest_gap_ms", has_worked, figures_ms(session->longest_gap_ns),
                   MS_DECIMALS);
    put_verified(csv, session);
}

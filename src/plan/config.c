#include "plan/config.h"

#include "base/mono.h"
#include "plan/plan.h"

void config_init(struct config *config)
{
    *config = (struct config){
        .table = PLAN_DEFAULT_TABLE,
        .batch_rows = 100,
        .read_mode = READ_COUNT,
        .read_every = 1,
        .data_mode = DATA_VARIED,
        .connect_concurrency = 64,
        .connect_timeout_ns = 30 * MONO_NS_PER_S,
        .sample_interval_ns = 3 * MONO_NS_PER_S,
        .drop_policy = DROP_CONTINUE,
        .reconnect_tries = 20,
        .hold_ns = 5 * MONO_NS_PER_S,
        .max_time_ns = 600 * MONO_NS_PER_S,
    };
}

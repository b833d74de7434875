#include "fixture.h"

const struct fixture *fixture_null_open(void)
{
    static const struct fixture fixture = {
        .target = {.scheme = "null", .connect_timeout_s = 5},
    };
    return &fixture;
}

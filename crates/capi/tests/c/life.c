/* The life of a stream: from the start to the target, and an end without leaks. */
#include "model.h"

int main(int count, char **arguments) {
    model m;
    model_start(&m, 7, 390000000);
    m.eager = count > 1 && strcmp(arguments[1], "eager") == 0;
    model_run(&m, 6 * SECOND);
    CHECK(m.decision.rate_bps > 200000000);
    CHECK(m.decision.level > 20 && m.decision.level < 45);
    CHECK(m.decision.loss == 0);
    CHECK(m.decision.reports > 50 && m.decision.refused == 0);
    CHECK(m.decision.encoder_bps < m.decision.rate_bps && m.decision.rate_bps < m.decision.pacing_bps);
    CHECK(m.decision.pacing_interval_ns > 0 && m.decision.largest_frame_bytes > 100000);
    CHECK(m.sequence - m.delivered < 300);
    CHECK(strlen(airbound_reason_text(m.decision.reason)) > 10);
    printf("packets %lu polls %lu rate %lu level %.1f: %s\n", (unsigned long)m.arrived, (unsigned long)m.polls,
           (unsigned long)m.decision.rate_bps, m.decision.level, airbound_reason_text(m.decision.reason));
    model_stop(&m);
    return 0;
}

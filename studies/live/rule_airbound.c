/* The rule of libairbound. All streams share one sender. */
#include "stream.h"

#include "airbound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASONS 10

typedef struct {
    uint32_t stream;
    airbound_decision decision;
    uint64_t begun;
    double level, rate;
    uint32_t reports, samples;
    uint64_t reason_since, reasons[REASONS];
} lane;

static airbound_sender *sender;
static int is_logged;

static void check(airbound_status status) {
    if (status < 0) world_fail(airbound_last_message());
}

static void *make(const rule_config *config, uint32_t stream, uint64_t now) {
    const uint8_t key[16] = {0};
    lane *l = calloc(1, sizeof *l);
    if (!sender) {
        airbound_sender_config c;
        check(airbound_sender_defaults(&c, sizeof c));
        c.receivers = config->streams;
        c.packet_bytes = PACKET;
        c.frame_interval_ns = SECOND / config->fps;
        c.start_bps = config->start;
        c.least_bps = config->least;
        c.most_bps = config->most;
        c.target = config->target;
        c.latency_ns = config->latency;
        c.spread = config->spread;
        c.interval_ns = config->interval;
        /* No error correction: what is left is for headers and overshoot of the encoder. */
        c.encoder_share = 0.95;
        check(airbound_sender_new(&c, &sender));
    }
    is_logged = getenv("LIVE_LOG") != NULL;
    l->stream = stream;
    l->decision.size = sizeof l->decision;
    l->begun = now;
    check(airbound_sender_join(sender, now, stream, key));
    return l;
}

static void frame(void *state, uint64_t now, uint32_t number, uint32_t bytes, uint32_t packets) {
    (void)number;
    check(airbound_sender_frame(sender, now, ((lane *)state)->stream, bytes, packets, 0));
}

static uint32_t allowed(void *state, uint64_t now, uint32_t waiting, uint64_t *next) {
    uint32_t packets = 0;
    check(airbound_sender_allowed(sender, now, ((lane *)state)->stream, &packets, next));
    return packets < waiting ? packets : waiting;
}

static void sent(void *state, uint64_t now, uint64_t sequence, uint32_t packets, uint32_t bytes) {
    (void)sequence;
    check(airbound_sender_sent(sender, now, ((lane *)state)->stream, packets, bytes));
}

static void message(void *state, uint64_t now, const uint8_t *bytes, uint32_t length) {
    (void)state;
    if (length > 1 && bytes[0] == MESSAGE_AIRBOUND) check(airbound_sender_report(sender, now, bytes + 1, length - 1));
}

static uint64_t bitrate(void *state, uint64_t now, uint64_t *next) {
    lane *l = state;
    int32_t before = l->decision.reason;
    check(airbound_sender_poll(sender, now, l->stream, &l->decision));
    if (before >= 0 && before < REASONS) l->reasons[before] += now - (l->reason_since ? l->reason_since : now);
    l->reason_since = now;
    if (l->decision.reports != l->reports && l->decision.level >= 0 && now > l->begun + 5 * SECOND) {
        l->level += l->decision.level;
        l->rate += (double)l->decision.rate_bps / 1e6;
        l->samples += 1;
    }
    /* LIVE_LOG=1: each message's decision on standard error. */
    if (is_logged && l->decision.reports != l->reports)
        fprintf(stderr, "%.3f stream %u: %.2f Mb/s, level %.1f, loss %.3f: %s\n", (double)(now - l->begun) / 1e9, l->stream,
                (double)l->decision.rate_bps / 1e6, l->decision.level, l->decision.loss, airbound_reason_text(l->decision.reason));
    l->reports = l->decision.reports;
    *next = l->decision.next_ns;
    return l->decision.encoder_bps;
}

static void figures(void *state, char *text, size_t room) {
    static const char *names[REASONS] = {"rising", "air", "above", "away", "application", "silent", "wire", "single", "most", "latency"};
    lane *l = state;
    double n = l->samples ? l->samples : 1, all = 0;
    size_t used = (size_t)snprintf(text, room, ", \"sensed_level\": %.2f, \"rate_mbps\": %.2f, \"reports\": %u, \"reasons\": {", l->level / n,
                                   l->rate / n, l->reports);
    int reason;
    for (reason = 0; reason < REASONS; reason++) all += (double)l->reasons[reason];
    for (reason = 0; reason < REASONS && used < room; reason++)
        used += (size_t)snprintf(text + used, room - used, "%s\"%s\": %.3f", reason ? ", " : "", names[reason],
                                 all > 0 ? (double)l->reasons[reason] / all : 0);
    if (used < room) snprintf(text + used, room - used, "}");
}

const rule rule_airbound = {"airbound", make, frame, allowed, sent, message, bitrate, figures};

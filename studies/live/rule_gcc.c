/* Google congestion control: draft-ietf-rmcat-gcc-02 with the trendline filter and the constants of libwebrtc, without probes. The pacer
 * sends at 2.5 times the rate, as libwebrtc's. crates/senders has the whole of it, with the sources of the constants. */
#include "stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SENT 65536u
#define WINDOW 20
#define ACKED 16384u

typedef struct {
    uint64_t sequence, at;
    uint32_t bytes, is_open;
} departure;

typedef struct {
    uint64_t first_sent, last_sent, last_arrived;
    int is_open;
} group;

typedef struct {
    rule_config config;
    departure sent[SENT];
    uint64_t lowest; /* open departures begin here */
    group now, before;
    /* Trendline: smoothed delay over time, in ms. */
    double time[WINDOW], delay[WINDOW], sum, smoothed, threshold, trend, last_slope, over;
    uint32_t points, place, groups, overs;
    uint64_t origin, adapted;
    int usage; /* -1 falls, 0, 1 grows */
    /* Arrivals of the last half second. */
    uint64_t acked_at[ACKED];
    uint32_t acked_bytes[ACKED], acked_first, acked_next;
    double acked_sum;
    /* Rates in bit/s. */
    double delay_rate, loss_rate, capacity, variance;
    int is_increasing;
    uint64_t changed, decreased, loss_began, loss_decreased;
    uint32_t packets, lost;
    double round_trip;
    uint64_t pace_at;
} gcc;

static void *make(const rule_config *config, uint32_t stream, uint64_t now) {
    gcc *g = calloc(1, sizeof *g);
    (void)stream;
    g->config = *config;
    g->delay_rate = g->loss_rate = (double)config->start;
    g->threshold = 12.5;
    g->round_trip = 0.2;
    g->changed = g->loss_began = now;
    g->over = -1;
    g->variance = 0.4;
    return g;
}

static double limited(const gcc *g, double bps) {
    double least = (double)g->config.least, most = (double)g->config.most;
    return bps < least ? least : bps > most ? most : bps;
}

static double rate(const gcc *g) { return limited(g, g->delay_rate < g->loss_rate ? g->delay_rate : g->loss_rate); }

static void frame(void *state, uint64_t now, uint32_t number, uint32_t bytes, uint32_t packets) {
    (void)state, (void)now, (void)number, (void)bytes, (void)packets;
}

static uint32_t allowed(void *state, uint64_t now, uint32_t waiting, uint64_t *next) {
    gcc *g = state;
    uint64_t gap = (uint64_t)(8.0 * PACKET * 1e9 / (2.5 * rate(g)));
    uint32_t packets = 0;
    if (g->pace_at + 5 * MILLI < now) g->pace_at = now - 5 * MILLI;
    while (packets < waiting && g->pace_at <= now) {
        g->pace_at += gap;
        packets += 1;
    }
    *next = packets < waiting ? g->pace_at : UINT64_MAX;
    return packets;
}

static void sent(void *state, uint64_t now, uint64_t sequence, uint32_t packets, uint32_t bytes) {
    gcc *g = state;
    uint32_t place;
    for (place = 0; place < packets; place++) g->sent[(sequence + place) % SENT] = (departure){sequence + place, now, bytes / packets, 1};
}

/* The throughput of the last half second. */
static double throughput(const gcc *g) { return 8 * g->acked_sum / 0.5; }

static void acknowledge(gcc *g, uint64_t at, uint32_t bytes) {
    g->acked_at[g->acked_next % ACKED] = at;
    g->acked_bytes[g->acked_next % ACKED] = bytes;
    g->acked_next += 1;
    g->acked_sum += bytes;
    while (g->acked_next - g->acked_first >= ACKED || g->acked_at[g->acked_first % ACKED] + SECOND / 2 < at) {
        g->acked_sum -= g->acked_bytes[g->acked_first % ACKED];
        g->acked_first += 1;
    }
}

static double slope(const gcc *g) {
    double x = 0, y = 0, xy = 0, xx = 0;
    uint32_t place;
    for (place = 0; place < WINDOW; place++) {
        x += g->time[place] / WINDOW;
        y += g->delay[place] / WINDOW;
    }
    for (place = 0; place < WINDOW; place++) {
        xy += (g->time[place] - x) * (g->delay[place] - y);
        xx += (g->time[place] - x) * (g->time[place] - x);
    }
    return xx > 0 ? xy / xx : 0;
}

static void detect(gcc *g, double sent_ms, double arrived_ms, uint64_t at) {
    double s, step, distance;
    if (g->groups == 0) g->origin = at;
    g->groups += g->groups < 60;
    g->sum += arrived_ms - sent_ms;
    g->smoothed = 0.9 * g->smoothed + 0.1 * g->sum;
    g->time[g->place] = (double)(at - g->origin) / 1e6;
    g->delay[g->place] = g->smoothed;
    g->place = (g->place + 1) % WINDOW;
    if (g->points < WINDOW) g->points += 1;
    if (g->points < WINDOW) return;
    s = slope(g);
    g->trend = s * 4.0 * g->groups;
    if (g->trend > g->threshold) {
        g->over = g->over < 0 ? sent_ms / 2 : g->over + sent_ms;
        g->overs += 1;
        if (g->over > 10 && g->overs > 1 && s >= g->last_slope) {
            g->over = 0;
            g->overs = 0;
            g->usage = 1;
        }
    } else {
        g->over = -1;
        g->overs = 0;
        g->usage = g->trend < -g->threshold ? -1 : 0;
    }
    g->last_slope = s;
    distance = fabs(g->trend) - g->threshold;
    step = g->adapted ? (double)(at - g->adapted) / 1e6 : 0;
    g->adapted = at;
    if (distance <= 15) g->threshold += distance * (distance < 0 ? 0.039 : 0.0087) * (step < 100 ? step : 100);
    if (g->threshold < 6) g->threshold = 6;
    if (g->threshold > 600) g->threshold = 600;
}

static void observe(gcc *g, uint64_t sent_at, uint64_t at) {
    if (!g->now.is_open) {
        g->now = (group){sent_at, sent_at, at, 1};
        return;
    }
    /* Five milliseconds of sending, or a burst that caught up, are one group. */
    if (sent_at <= g->now.first_sent + 5 * MILLI ||
        (at <= g->now.last_arrived + 5 * MILLI && (double)(at - g->now.last_arrived) < (double)(sent_at - g->now.last_sent) &&
         at < g->now.last_arrived + 100 * MILLI)) {
        if (sent_at > g->now.last_sent) g->now.last_sent = sent_at;
        if (at > g->now.last_arrived) g->now.last_arrived = at;
        return;
    }
    if (g->before.is_open)
        detect(g, (double)(g->now.last_sent - g->before.last_sent) / 1e6, (double)(g->now.last_arrived - g->before.last_arrived) / 1e6, at);
    g->before = g->now;
    g->now = (group){sent_at, sent_at, at, 1};
}

static void adapt_to_delay(gcc *g, uint64_t now) {
    double arrived = throughput(g), seconds = (double)(now - g->changed) / 1e9;
    if (seconds > 1) seconds = 1;
    if (g->usage > 0) {
        double pause = g->round_trip < 0.01 ? 0.01 : g->round_trip > 0.2 ? 0.2 : g->round_trip;
        if (arrived <= 0 || (double)(now - g->decreased) / 1e9 < pause) return;
        /* The estimate of the capacity: mean and relative variance of the throughput at decreases. */
        if (g->capacity <= 0) g->capacity = arrived;
        else {
            double error = (g->capacity - arrived) / 1000, norm = g->capacity / 1000 > 1 ? g->capacity / 1000 : 1;
            g->capacity = 0.95 * g->capacity + 0.05 * arrived;
            g->variance = 0.95 * g->variance + 0.05 * error * error / norm;
            if (g->variance < 0.4) g->variance = 0.4;
            if (g->variance > 2.5) g->variance = 2.5;
        }
        if (0.85 * arrived < g->delay_rate) g->delay_rate = 0.85 * arrived;
        g->decreased = now;
        g->is_increasing = 0;
    } else if (g->usage < 0) {
        g->is_increasing = 0;
    } else if (!g->is_increasing) {
        g->is_increasing = 1;
    } else {
        double deviation = 3 * sqrt(g->variance * g->capacity / 1000) * 1000, most = 1.5 * arrived + 10000, grown;
        if (g->capacity > 0 && arrived > g->capacity + deviation) g->capacity = 0;
        if (g->capacity > 0) {
            double packet = 8.0 * PACKET, added = packet / (2 * (g->round_trip + 0.1));
            grown = g->delay_rate + (added > 4000 ? added : 4000) * seconds;
        } else {
            grown = g->delay_rate * pow(1.08, seconds);
        }
        if (grown > most && arrived > 0) grown = most;
        if (grown > g->delay_rate) g->delay_rate = grown;
    }
    g->changed = now;
    g->delay_rate = limited(g, g->delay_rate);
}

static void adapt_to_loss(gcc *g, uint64_t now) {
    double loss;
    if (now < g->loss_began + SECOND || g->packets < 20) return;
    loss = (double)g->lost / g->packets;
    g->loss_began = now;
    g->packets = g->lost = 0;
    if (loss <= 0.02) g->loss_rate = g->loss_rate * 1.08 + 1000;
    else if (loss > 0.1) g->loss_rate *= 1 - 0.5 * loss;
    /* It never exceeds the other by more than it needs to follow. */
    if (g->loss_rate > 1.08 * g->delay_rate) g->loss_rate = 1.08 * g->delay_rate;
    g->loss_rate = limited(g, g->loss_rate);
}

static void message(void *state, uint64_t now, const uint8_t *bytes, uint32_t length) {
    gcc *g = state;
    arrivals_message m;
    uint32_t place;
    if (bytes[0] != MESSAGE_ARRIVALS || length < offsetof(arrivals_message, one)) return;
    memset(&m, 0, sizeof m);
    memcpy(&m, bytes, length < sizeof m ? length : sizeof m);
    if (m.count > ARRIVALS) return;
    for (place = 0; place < m.count; place++) {
        departure *d = &g->sent[m.one[place].sequence % SENT];
        uint64_t at = m.base + 1000ull * m.one[place].after;
        if (!d->is_open || (uint32_t)d->sequence != m.one[place].sequence) continue;
        d->is_open = 0;
        g->packets += 1;
        acknowledge(g, at, d->bytes);
        observe(g, d->at, at);
        g->round_trip = 0.875 * g->round_trip + 0.125 * (double)(now - d->at) / 1e9;
    }
    while (g->lowest <= m.highest) {
        departure *d = &g->sent[g->lowest % SENT];
        if (d->is_open && d->sequence == g->lowest) {
            d->is_open = 0;
            g->packets += 1;
            g->lost += 1;
        }
        g->lowest += 1;
    }
    adapt_to_delay(g, now);
    adapt_to_loss(g, now);
}

static uint64_t bitrate(void *state, uint64_t now, uint64_t *next) {
    (void)now;
    *next = UINT64_MAX;
    return (uint64_t)rate(state);
}

static void figures(void *state, char *text, size_t room) {
    (void)state;
    if (room > 0) text[0] = 0;
}

const rule rule_gcc = {"gcc", make, frame, allowed, sent, message, bitrate, figures};

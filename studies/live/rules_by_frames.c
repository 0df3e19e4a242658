/* Rules that send each frame at once and judge whole frames, or losses, once a second: ALVR, NeSt-VR, Moonlight (vplus), and none.
 *
 * | rule | source |
 * |---|---|
 * | ALVR, `Adaptive` | alvr/server_core/src/bitrate.rs: averages of 256 frames, 0.95 of bits a frame over latency, once a second |
 * | NeSt-VR, `Generic` | arXiv 2502.14947: steps of 10 Mb/s, frame ratio 0.95, RTT of two intervals, 0.25, 0.9 of the capacity |
 * | Moonlight | moonlight-vplus, pull request 275: -30 % above 5 %, -10 % above 2 % for 2 s, -5 % above 0.5 % for 4 s, +3.5 % after 4 s |
 */
#include "stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY 256
/* Frames whose size is remembered. */
#define FRAMES 1024

/* A mean over the last HISTORY samples, of which the first is given. */
typedef struct {
    double sample[HISTORY], sum;
    uint32_t count, place;
} window;

typedef struct {
    rule_config config;
    double bps;
    uint64_t next;
    window bits, latency, interval, capacity;
    uint32_t number[FRAMES], bytes[FRAMES];
    uint64_t random;
    /* Of Moonlight: packets of this second, and seconds in a row. */
    uint32_t expected, received, above_2, above_half, clean;
} ends;

static void add(window *w, double sample) {
    if (w->count == HISTORY) w->sum -= w->sample[w->place];
    else w->count += 1;
    w->sample[w->place] = sample;
    w->sum += sample;
    w->place = (w->place + 1) % HISTORY;
}

static double mean(const window *w) { return w->sum / w->count; }

static double unit(ends *e) {
    e->random = e->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(e->random >> 11) / 9007199254740992.0;
}

static void *make(const rule_config *config, uint32_t stream, uint64_t now) {
    ends *e = calloc(1, sizeof *e);
    e->config = *config;
    e->bps = (double)config->start;
    e->next = now + SECOND;
    e->random = config->seed * 0x9e3779b97f4a7c15u + stream;
    add(&e->bits, 8.0 * 50000);
    add(&e->latency, 0.005);
    add(&e->interval, 1.0 / config->fps);
    add(&e->capacity, 300e6);
    return e;
}

static void frame(void *state, uint64_t now, uint32_t number, uint32_t bytes, uint32_t packets) {
    ends *e = state;
    (void)now, (void)packets;
    e->number[number % FRAMES] = number;
    e->bytes[number % FRAMES] = bytes;
}

static uint32_t allowed(void *state, uint64_t now, uint32_t waiting, uint64_t *next) {
    (void)state, (void)now;
    *next = UINT64_MAX;
    return waiting;
}

static void sent(void *state, uint64_t now, uint64_t sequence, uint32_t packets, uint32_t bytes) {
    (void)state, (void)now, (void)sequence, (void)packets, (void)bytes;
}

static void message(void *state, uint64_t now, const uint8_t *bytes, uint32_t length) {
    ends *e = state;
    (void)now;
    if (bytes[0] == MESSAGE_FRAME && length >= sizeof(frame_message)) {
        frame_message m;
        memcpy(&m, bytes, sizeof m);
        if (e->number[m.frame % FRAMES] != m.frame) return;
        add(&e->bits, 8.0 * e->bytes[m.frame % FRAMES]);
        add(&e->latency, (double)m.latency / 1e9);
        if (m.interval) add(&e->interval, (double)m.interval / 1e9);
        if (m.bits_per_second) add(&e->capacity, (double)m.bits_per_second);
    } else if (bytes[0] == MESSAGE_LOSS && length >= sizeof(loss_message)) {
        loss_message m;
        memcpy(&m, bytes, sizeof m);
        e->expected += m.expected;
        e->received += m.received;
    }
}

static double limited(const ends *e, double bps) {
    if (bps < (double)e->config.least) return (double)e->config.least;
    return bps > (double)e->config.most ? (double)e->config.most : bps;
}

static double alvr(ends *e) { return mean(&e->bits) * 0.95 / mean(&e->latency); }

static double nest_vr(ends *e) {
    const double step = 10e6, start = (double)e->config.start, draw = unit(e);
    double bps = e->bps, most = 0.9 * mean(&e->capacity);
    if (1 / mean(&e->interval) < 0.95 * e->config.fps) bps -= step;
    else if (mean(&e->latency) > 2.0 / e->config.fps) bps -= draw >= 0.25 ? step : 0;
    else bps += draw <= 0.25 ? step : 0;
    bps = limited(e, bps);
    if (bps > most) bps = most;
    /* To the next lower step counted from the start. */
    return start + step * floor((bps - start) / step);
}

static double moonlight(ends *e) {
    double loss = e->expected > 0 ? 1 - (double)e->received / e->expected : 0;
    e->expected = e->received = 0;
    e->above_2 = loss > 0.02 ? e->above_2 + 1 : 0;
    e->above_half = loss > 0.005 ? e->above_half + 1 : 0;
    e->clean = loss > 0 ? 0 : e->clean + 1;
    if (loss > 0.05) return e->bps * 0.7;
    if (e->above_2 >= 2) {
        e->above_2 = 0;
        return e->bps * 0.9;
    }
    if (e->above_half >= 4) {
        e->above_half = 0;
        return e->bps * 0.95;
    }
    if (e->clean >= 4) {
        e->clean = 0;
        return e->bps * 1.035;
    }
    return e->bps;
}

static uint64_t decided(ends *e, uint64_t now, uint64_t *next, double (*decide)(ends *)) {
    if (now >= e->next) {
        e->next += SECOND;
        e->bps = limited(e, decide(e));
    }
    *next = e->next;
    return (uint64_t)e->bps;
}

static uint64_t alvr_bitrate(void *state, uint64_t now, uint64_t *next) { return decided(state, now, next, alvr); }
static uint64_t nest_vr_bitrate(void *state, uint64_t now, uint64_t *next) { return decided(state, now, next, nest_vr); }
static uint64_t moonlight_bitrate(void *state, uint64_t now, uint64_t *next) { return decided(state, now, next, moonlight); }

static uint64_t fixed_bitrate(void *state, uint64_t now, uint64_t *next) {
    (void)now;
    *next = UINT64_MAX;
    return ((ends *)state)->config.start;
}

static void figures(void *state, char *text, size_t room) {
    (void)state;
    if (room > 0) text[0] = 0;
}

const rule rule_alvr = {"alvr", make, frame, allowed, sent, message, alvr_bitrate, figures};
const rule rule_nest_vr = {"nest-vr", make, frame, allowed, sent, message, nest_vr_bitrate, figures};
const rule rule_moonlight = {"moonlight", make, frame, allowed, sent, message, moonlight_bitrate, figures};
const rule rule_fixed = {"fixed", make, frame, allowed, sent, message, fixed_bitrate, figures};

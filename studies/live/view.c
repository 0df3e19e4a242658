/* The receiving end: frames become whole, and messages go back for all rules that want them. */
#include "options.h"
#include "stream.h"

#include "airbound.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 65536u
#define DELAYS 8000000u

typedef struct {
    uint16_t parts, got;
    uint64_t made, first_sent, first_at, last_at;
    double latency_ms; /* once it is whole */
} picture;

typedef struct {
    const options *o;
    airbound_receiver *receiver;
    picture *pictures;
    uint32_t lowest, highest, is_begun;
    uint64_t begun, last_whole, next_feedback, next_loss, next_arrivals;
    uint64_t first, last, packets, told_last, told_packets;
    double *delays;
    size_t delay_count;
    uint64_t delay_bytes, delay_first, delay_last;
    arrivals_message arrivals;
    FILE *log;
} viewer;

static void check(airbound_status status) {
    if (status < 0) world_fail(airbound_last_message());
}

static int is_rule(const viewer *v, const char *name) { return !strcmp(v->o->rule, name); }

/* Whether the library listens: under its own rule, and for a log of what it senses under any. */
static int senses(const viewer *v) { return is_rule(v, "airbound") || v->log; }

static uint32_t number(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void on_whole(viewer *v, picture *p, uint32_t frame) {
    frame_message m = {MESSAGE_FRAME, {0}, frame, p->last_at - p->first_sent, v->last_whole ? p->last_at - v->last_whole : 0, 0};
    p->latency_ms = (double)(p->last_at - p->made) / 1e6;
    if (p->parts > 1 && p->last_at > p->first_at) m.bits_per_second = (uint64_t)(8.0 * PACKET * p->parts * 1e9 / (double)(p->last_at - p->first_at));
    v->last_whole = p->last_at;
    if (is_rule(v, "alvr") || is_rule(v, "nest-vr")) world_send(0, &m, sizeof m, sizeof m);
}

static void flush_arrivals(viewer *v) {
    size_t length = offsetof(arrivals_message, one) + v->arrivals.count * sizeof v->arrivals.one[0];
    if (v->arrivals.count == 0) return;
    v->arrivals.kind = MESSAGE_ARRIVALS;
    world_send(0, &v->arrivals, (uint32_t)length, (uint32_t)length);
    v->arrivals.count = 0;
}

static void on_packet(viewer *v, const world_packet *packet, uint64_t now) {
    media_head h;
    picture *p;
    memcpy(&h, packet->content, sizeof h);
    if (h.frame >= FRAMES || h.parts == 0) return;
    if (!v->is_begun) {
        v->is_begun = 1;
        v->begun = now;
        v->lowest = h.frame;
        v->first = h.sequence;
        v->told_last = h.sequence - 1;
        v->next_loss = now + SECOND / 10;
        v->next_arrivals = now + SECOND / 20;
    }
    if (h.frame > v->highest) v->highest = h.frame;
    if (h.sequence > v->last) v->last = h.sequence;
    v->packets += 1;
    if (now >= v->begun + (uint64_t)(v->o->skip * 1e9) && v->delay_count < DELAYS) {
        v->delays[v->delay_count++] = (double)(packet->at - h.sent) / 1e6;
        v->delay_bytes += packet->size;
        if (!v->delay_first) v->delay_first = packet->at;
        v->delay_last = packet->at;
    }
    p = &v->pictures[h.frame];
    if (p->got == 0) {
        p->parts = h.parts;
        p->made = h.made;
        p->first_sent = h.sent;
        p->first_at = packet->at;
    }
    if (h.sent < p->first_sent) p->first_sent = h.sent;
    if (packet->at > p->last_at) p->last_at = packet->at;
    if (++p->got == p->parts) on_whole(v, p, h.frame);
    if (is_rule(v, "gcc")) {
        if (v->arrivals.count == 0) v->arrivals.base = packet->at;
        if (packet->at < v->arrivals.base || v->arrivals.count == ARRIVALS) flush_arrivals(v);
        if (v->arrivals.count == 0) v->arrivals.base = packet->at;
        v->arrivals.one[v->arrivals.count].sequence = (uint32_t)h.sequence;
        v->arrivals.one[v->arrivals.count].after = (uint32_t)((packet->at - v->arrivals.base) / 1000);
        v->arrivals.count += 1;
        if (h.sequence > v->arrivals.highest) v->arrivals.highest = h.sequence;
    }
    if (v->log) fprintf(v->log, "P %llu %llu\n", (unsigned long long)packet->at, (unsigned long long)h.sequence);
}

/* Packets of one stamp and of sequence numbers in a row are one arrival. */
static void on_batch(viewer *v, const world_packet *batch, uint32_t count, uint64_t now) {
    airbound_arrival arrivals[WORLD_BATCH];
    uint32_t place, used = 0;
    for (place = 0; place < count; place++) {
        media_head h;
        if (batch[place].head < sizeof h || batch[place].size != PACKET) continue;
        memcpy(&h, batch[place].content, sizeof h);
        arrivals[used++] = (airbound_arrival){batch[place].at, h.sequence, batch[place].size, 1, 0};
        on_packet(v, &batch[place], now);
    }
    if (used == 0 || !senses(v)) return;
    check(airbound_receiver_phy_rate(v->receiver, world_phy_rate()));
    check(airbound_receiver_arrived(v->receiver, now, 0, arrivals, used));
    /* A poll after each batch says when feedback is due. */
    v->next_feedback = 0;
}

static uint64_t talk(viewer *v, uint64_t now) {
    uint64_t next = UINT64_MAX;
    if (!v->is_begun) return next;
    if (senses(v)) {
        if (now >= v->next_feedback) {
            uint8_t message[1 + AIRBOUND_FEEDBACK_MAX] = {MESSAGE_AIRBOUND};
            size_t length = 0;
            airbound_status status = airbound_receiver_poll(v->receiver, now, message + 1, AIRBOUND_FEEDBACK_MAX, &length, &v->next_feedback);
            check(status);
            if (status == AIRBOUND_OK && is_rule(v, "airbound")) world_send(0, message, (uint32_t)length + 1, (uint32_t)length + 1);
            /* Frames and transmissions of the report (crates/senders/src/stream/feedback.rs). */
            if (status == AIRBOUND_OK && v->log) fprintf(v->log, "F %u %u\n", number(message + 13), number(message + 27));
        }
        next = v->next_feedback;
    }
    if (is_rule(v, "moonlight")) {
        if (now >= v->next_loss) {
            loss_message m = {MESSAGE_LOSS, {0}, (uint32_t)(v->last - v->told_last), (uint32_t)(v->packets - v->told_packets)};
            v->told_last = v->last;
            v->told_packets = v->packets;
            v->next_loss = now + SECOND / 10;
            world_send(0, &m, sizeof m, sizeof m);
        }
        if (v->next_loss < next) next = v->next_loss;
    } else if (is_rule(v, "gcc")) {
        if (now >= v->next_arrivals) {
            flush_arrivals(v);
            v->next_arrivals = now + SECOND / 20;
        }
        if (v->next_arrivals < next) next = v->next_arrivals;
    }
    return next;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t count, double share) {
    return count ? sorted[(size_t)(share * (double)(count - 1))] : 0;
}

/* Figures of frames: a frame that never became whole has a latency of 10 s. */
static void print(viewer *v) {
    const options *o = v->o;
    uint32_t from = v->lowest + (uint32_t)(o->skip * o->fps), to = v->highest > o->fps / 2 ? v->highest - o->fps / 2 : 0, frame;
    double *latencies = calloc(FRAMES, sizeof *latencies), bytes = 0, sum = 0, stalled = 0;
    uint32_t count = 0, late = 0, missing = 0, stalls = 0;
    uint64_t shown = 0;
    char line[1024];
    size_t place;
    for (frame = from; frame < to && frame < FRAMES; frame++) {
        const picture *p = &v->pictures[frame];
        int whole = p->parts > 0 && p->got >= p->parts;
        double latency = whole ? p->latency_ms : 10000;
        missing += !whole;
        late += latency > o->late_ms;
        latencies[count++] = latency;
        if (!whole) continue;
        bytes += (double)p->parts * PACKET;
        /* A stall: more than 100 ms without a new picture. */
        if (shown && p->last_at > shown + 100 * MILLI) {
            stalls += 1;
            stalled += (double)(p->last_at - shown) / 1e6;
        }
        if (p->last_at > shown) shown = p->last_at;
    }
    qsort(latencies, count, sizeof *latencies, ascending);
    qsort(v->delays, v->delay_count, sizeof *v->delays, ascending);
    for (place = 0; place < v->delay_count; place++) sum += v->delays[place];
    snprintf(line, sizeof line,
             "{\"role\": \"viewer\", \"station\": %u, \"frames\": %u, \"missing\": %u, \"late\": %u, \"stalls\": %u, \"stalled_ms\": %.1f, "
             "\"frame_ms\": {\"p50\": %.2f, \"p95\": %.2f, \"p99\": %.2f}, \"bitrate_mbps\": %.3f, \"packets\": %llu, \"lost\": %llu, "
             "\"packet_ms\": {\"mean\": %.3f, \"p50\": %.3f, \"p95\": %.3f, \"p99\": %.3f}, \"goodput_mbps\": %.3f}",
             o->station, count, missing, late, stalls, stalled, quantile(latencies, count, 0.5), quantile(latencies, count, 0.95),
             quantile(latencies, count, 0.99), count ? bytes * 8 * o->fps / count / 1e6 : 0, (unsigned long long)v->packets,
             (unsigned long long)(v->is_begun ? v->last - v->first + 1 - v->packets : 0), v->delay_count ? sum / (double)v->delay_count : 0,
             quantile(v->delays, v->delay_count, 0.5), quantile(v->delays, v->delay_count, 0.95), quantile(v->delays, v->delay_count, 0.99),
             v->delay_last > v->delay_first ? 8e3 * (double)v->delay_bytes / (double)(v->delay_last - v->delay_first) : 0);
    world_result(line);
    free(latencies);
}

int view(const options *o) {
    static world_packet batch[WORLD_BATCH];
    static viewer v;
    airbound_receiver_config config;
    v.o = o;
    v.pictures = calloc(FRAMES, sizeof *v.pictures);
    v.delays = malloc(DELAYS * sizeof *v.delays);
    if (!v.pictures || !v.delays) world_fail("no memory");
    if (o->log && !(v.log = fopen(o->log, "w"))) world_fail("the log cannot be written");
    check(airbound_receiver_defaults(&config, sizeof config));
    config.receiver = o->station;
    config.interval_ns = (uint64_t)(o->interval_ms * 1e6);
    check(airbound_receiver_new(&config, &v.receiver));
    world_join(o->host, o->port, o->station);
    while (!world_is_over()) {
        uint64_t now = world_now(), next = talk(&v, now), until = now + SECOND / 2;
        uint32_t count;
        if (v.is_begun && now >= v.begun + (uint64_t)(o->seconds * 1e9)) break;
        count = world_wait(next < until ? next : until, batch);
        if (count > 0) on_batch(&v, batch, count, world_now());
    }
    print(&v);
    if (v.log) fclose(v.log);
    airbound_receiver_free(v.receiver);
    return 0;
}

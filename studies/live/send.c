/* The sending end: encoder, rule, packets. */
#include "options.h"
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frames that wait for the rule's leave. */
#define WAITING 256

typedef struct {
    uint32_t number, packets;
    uint64_t made;
} waiting_frame;

typedef struct {
    void *state;
    encoder *source;
    waiting_frame queue[WAITING];
    uint32_t first, count, part, packets; /* frames that wait; packets of the first one that are sent; packets that wait */
    uint32_t number;
    uint64_t sequence, next_frame, next_rate, next_packet;
    uint64_t bps;
    double asked, made_bytes;
    uint32_t asked_frames, refused;
} stream;

static const rule *const rules[] = {&rule_airbound, &rule_alvr, &rule_nest_vr, &rule_moonlight, &rule_gcc, &rule_fixed};

static const rule *find(const char *name) {
    size_t place;
    for (place = 0; place < sizeof rules / sizeof *rules; place++)
        if (!strcmp(rules[place]->name, name)) return rules[place];
    world_fail("allowed rules are airbound, alvr, nest-vr, moonlight, gcc, fixed");
    return NULL;
}

static void make_frame(stream *s, const rule *r, const options *o, uint64_t now, int counts) {
    uint32_t bytes = encoder_next(s->source, s->bps), packets = (bytes + PACKET - 1) / PACKET;
    if (counts) {
        s->asked += (double)s->bps;
        s->made_bytes += bytes;
        s->asked_frames += 1;
    }
    if (s->count == WAITING || s->packets + packets > 60000) {
        s->refused += 1;
        s->number += 1;
        return;
    }
    s->queue[(s->first + s->count) % WAITING] = (waiting_frame){s->number, packets, now};
    s->count += 1;
    s->packets += packets;
    s->number += 1;
    s->next_packet = 0;
    r->frame(s->state, now, s->number - 1, packets * PACKET, packets);
    (void)o;
}

static void send_allowed(stream *s, uint32_t peer, const rule *r, uint64_t now) {
    uint32_t allowed, place;
    if (s->packets == 0 || now < s->next_packet) return;
    allowed = r->allowed(s->state, now, s->packets, &s->next_packet);
    for (place = 0; place < allowed; place++) {
        waiting_frame *f = &s->queue[s->first % WAITING];
        media_head head = {s->sequence + place, f->made, world_now(), f->number, (uint16_t)s->part, (uint16_t)f->packets};
        world_send(peer, &head, sizeof head, PACKET);
        if (++s->part == f->packets) {
            s->part = 0;
            s->first += 1;
            s->count -= 1;
        }
    }
    s->packets -= allowed;
    if (allowed > 0) r->sent(s->state, now, s->sequence, allowed, allowed * PACKET);
    s->sequence += allowed;
}

int send_streams(const options *o) {
    static world_packet batch[WORLD_BATCH];
    const rule *r = find(o->rule);
    rule_config config = {.streams = o->stations, .fps = o->fps, .start = (uint64_t)(o->start_mbps * 1e6),
                          .least = (uint64_t)(o->least_mbps * 1e6), .most = (uint64_t)(o->most_mbps * 1e6), .target = o->target, .latency = (uint64_t)(o->latency_ms * 1e6),
                          .spread = o->spread, .interval = (uint64_t)(o->interval_ms * 1e6), .seed = o->seed};
    stream *all = calloc(o->stations, sizeof *all);
    uint64_t begin, end, counted;
    uint32_t number;
    world_serve(o->port, o->stations);
    begin = world_now();
    end = begin + (uint64_t)(o->seconds * 1e9);
    counted = begin + (uint64_t)(o->skip * 1e9);
    for (number = 0; number < o->stations; number++) {
        stream *s = &all[number];
        s->state = r->make(&config, number, begin);
        s->bps = config.start;
        s->source = encoder_new(o->encoder, o->fps, config.start, o->seed * 100 + number);
        /* Streams have phases of their own. */
        s->next_frame = begin + SECOND / o->fps * number / o->stations;
    }
    while (!world_is_over()) {
        uint64_t now = world_now(), next = end;
        uint32_t count, place;
        if (now >= end) break;
        for (number = 0; number < o->stations; number++) {
            stream *s = &all[number];
            if (now >= s->next_rate) s->bps = r->bitrate(s->state, now, &s->next_rate);
            if (now >= s->next_frame) {
                s->bps = r->bitrate(s->state, now, &s->next_rate);
                make_frame(s, r, o, now, now >= counted);
                s->next_frame += SECOND / o->fps;
            }
            send_allowed(s, number, r, now);
            if (s->packets > 0 && s->next_packet < next) next = s->next_packet;
            if (s->next_rate < next) next = s->next_rate;
            if (s->next_frame < next) next = s->next_frame;
        }
        count = world_wait(next, batch);
        for (place = 0; place < count; place++) {
            stream *s = &all[batch[place].peer];
            r->message(s->state, world_now(), batch[place].content, batch[place].head);
            s->next_rate = 0;
            s->next_packet = 0;
        }
    }
    for (number = 0; number < o->stations; number++) {
        stream *s = &all[number];
        char line[1024], figures[700];
        double frames = s->asked_frames ? s->asked_frames : 1;
        r->figures(s->state, figures, sizeof figures);
        snprintf(line, sizeof line,
                 "{\"role\": \"sender\", \"station\": %u, \"rule\": \"%s\", \"asked_mbps\": %.3f, \"encoded_mbps\": %.3f, \"frames\": %u, "
                 "\"refused\": %u, \"packets\": %llu%s}",
                 number, r->name, s->asked / frames / 1e6, s->made_bytes * 8 * o->fps / frames / 1e6, s->number, s->refused,
                 (unsigned long long)s->sequence, figures);
        world_result(line);
    }
    return 0;
}

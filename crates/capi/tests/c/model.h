/* A stream over a model of the air: one queue behind an access point that sends what waits as one frame of up to 64 packets. */
#ifndef MODEL_H
#define MODEL_H

#include "airbound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: %s; %s\n", __FILE__, __LINE__, #condition,                 \
                    airbound_last_message());                                                  \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

#define MS 1000000ull
#define SECOND (1000 * MS)
#define PACKET 1200u
#define STEP (100000ull)
#define REALTIME (1700000000 * SECOND)

typedef struct {
    airbound_sender *sender;
    airbound_receiver *receiver;
    uint32_t id;
    uint64_t now, next_frame, next_poll, air_free;
    uint64_t sequence, delivered; /* packets handed to the access point, and those that have left it */
    uint64_t phy_bps;
    uint64_t sender_ahead, stamps_ahead; /* clocks that differ */
    int deaf;                            /* feedback is lost */
    int tolerant;                        /* feedback may be refused */
    int eager;                           /* polls for each packet */
    airbound_decision decision;
    uint64_t arrived, polls;
    uint8_t feedback[AIRBOUND_FEEDBACK_MAX]; /* the last one */
    size_t length;
} model;

static void model_start(model *m, uint32_t id, uint64_t phy_bps) {
    uint8_t key[16] = {1, 2, 3};
    airbound_sender_config sends;
    airbound_receiver_config receives;
    memset(m, 0, sizeof *m);
    m->id = id;
    m->now = SECOND;
    m->phy_bps = phy_bps;
    m->stamps_ahead = REALTIME;
    m->decision.size = sizeof m->decision;
    CHECK(airbound_abi() == AIRBOUND_ABI);
    CHECK(airbound_sender_defaults(&sends, sizeof sends) == AIRBOUND_OK);
    CHECK(airbound_receiver_defaults(&receives, sizeof receives) == AIRBOUND_OK);
    receives.receiver = id;
    memcpy(receives.key, key, sizeof key);
    CHECK(airbound_sender_new(&sends, &m->sender) == AIRBOUND_OK);
    CHECK(airbound_receiver_new(&receives, &m->receiver) == AIRBOUND_OK);
    CHECK(airbound_sender_join(m->sender, m->now, id, key) == AIRBOUND_OK);
    CHECK(airbound_receiver_phy_rate(m->receiver, phy_bps) == AIRBOUND_OK);
}

static void model_stop(model *m) {
    airbound_sender_free(m->sender);
    airbound_receiver_free(m->receiver);
}

static void model_send(model *m) {
    uint64_t now = m->now + m->sender_ahead, next = 0;
    uint32_t packets = 0;
    if (m->now >= m->next_poll || m->eager) {
        CHECK(airbound_sender_poll(m->sender, now, m->id, &m->decision) == AIRBOUND_OK);
        CHECK(m->decision.next_ns > now);
        m->next_poll = m->now + (m->decision.next_ns - now);
        m->polls += 1;
    }
    if (m->now >= m->next_frame) {
        uint64_t bytes = m->decision.encoder_bps / 8 / 60;
        uint32_t count = (uint32_t)((bytes + PACKET - 1) / PACKET);
        int status = airbound_sender_frame(m->sender, now, m->id, bytes, count, 0);
        CHECK(status == AIRBOUND_OK || status == AIRBOUND_FULL);
        m->next_frame = m->now + SECOND / 60;
    }
    if (airbound_sender_allowed(m->sender, now, m->id, &packets, &next) == AIRBOUND_OK) {
        CHECK(packets > 0 && next > now);
        CHECK(airbound_sender_sent(m->sender, now, m->id, packets, (uint64_t)packets * PACKET) == AIRBOUND_OK);
        m->sequence += packets;
        for (; m->eager && packets > 0; packets--) {
            CHECK(airbound_sender_poll(m->sender, now, m->id, &m->decision) == AIRBOUND_OK);
            m->polls += 1;
        }
    }
}

static void model_serve(model *m) {
    while (m->air_free <= m->now && m->sequence > m->delivered) {
        airbound_arrival batch[64];
        uint64_t waiting = m->sequence - m->delivered, end, called;
        size_t count = waiting < 64 ? (size_t)waiting : 64, place;
        if (m->air_free + STEP < m->now) {
            m->air_free = m->now;
        }
        end = m->air_free + 214000 + count * (PACKET + 74) * 8 * SECOND / m->phy_bps;
        memset(batch, 0, sizeof batch);
        for (place = 0; place < count; place++) {
            batch[place].stamp_ns = end + place * 2000 + m->stamps_ahead;
            batch[place].sequence = m->delivered + place;
            batch[place].bytes = PACKET;
            batch[place].packets = 1;
        }
        called = end + MS;
        CHECK(airbound_receiver_arrived(m->receiver, called, called + m->stamps_ahead, batch, count) == AIRBOUND_OK);
        m->delivered += count;
        m->arrived += count;
        m->air_free = end;
    }
}

static void model_tell(model *m) {
    uint64_t next = 0;
    size_t length = 0;
    if (airbound_receiver_poll(m->receiver, m->now + MS, m->feedback, sizeof m->feedback, &length, &next) == AIRBOUND_OK) {
        CHECK(length > 0 && length <= AIRBOUND_FEEDBACK_MAX);
        m->length = length;
        if (!m->deaf) {
            int status = airbound_sender_report(m->sender, m->now + m->sender_ahead, m->feedback, m->length);
            CHECK(status == AIRBOUND_OK || (m->tolerant && status == AIRBOUND_REFUSED));
        }
    }
}

static void model_run(model *m, uint64_t time) {
    uint64_t end = m->now + time;
    while (m->now < end) {
        m->now += STEP;
        model_send(m);
        model_serve(m);
        model_tell(m);
    }
}

#endif

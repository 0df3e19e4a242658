/* Bad input and faults: each has one status, and none has another effect. */
#include "model.h"

static const uint8_t KEY[16] = {1, 2, 3};

/* A message that its sender does not believe is counted, and changes nothing. */
static void refused(model *m, const uint8_t *bytes, size_t length, const char *why) {
    airbound_decision before = m->decision, after;
    memset(&after, 0, sizeof after);
    before.size = after.size = sizeof after;
    CHECK(airbound_sender_poll(m->sender, m->now, m->id, &before) == AIRBOUND_OK);
    CHECK(airbound_sender_report(m->sender, m->now, bytes, length) == AIRBOUND_REFUSED);
    CHECK(strstr(airbound_last_message(), why) != NULL);
    CHECK(airbound_sender_poll(m->sender, m->now, m->id, &after) == AIRBOUND_OK);
    CHECK(before.rate_bps == after.rate_bps && before.reports == after.reports);
}

/* Feedback of a receiver with this number and key that received `packets` in each of 100 frames. */
static size_t made_up(uint8_t *bytes, uint32_t id, const uint8_t *key, uint16_t packets) {
    airbound_receiver_config config;
    airbound_receiver *receiver = NULL;
    airbound_arrival arrival = {0, 0, 0, 0, 0};
    uint64_t next = 0;
    size_t length = 0;
    int frame;
    CHECK(airbound_receiver_defaults(&config, sizeof config) == AIRBOUND_OK);
    config.receiver = id;
    memcpy(config.key, key, 16);
    CHECK(airbound_receiver_new(&config, &receiver) == AIRBOUND_OK);
    for (frame = 0; frame < 400; frame++) {
        arrival.stamp_ns = SECOND + (uint64_t)frame * MS;
        arrival.packets = packets;
        arrival.bytes = packets * PACKET;
        CHECK(airbound_receiver_arrived(receiver, arrival.stamp_ns, 0, &arrival, 1) == AIRBOUND_OK);
        arrival.sequence += packets;
        CHECK(airbound_receiver_poll(receiver, arrival.stamp_ns, bytes, AIRBOUND_FEEDBACK_MAX, &length, &next) >= 0);
    }
    CHECK(airbound_receiver_poll(receiver, 5 * SECOND, bytes, AIRBOUND_FEEDBACK_MAX, &length, &next) == AIRBOUND_OK);
    airbound_receiver_free(receiver);
    return length;
}

static void reports_that_lie(void) {
    model m;
    uint8_t bytes[AIRBOUND_FEEDBACK_MAX], long_one[4096], other[16] = {9};
    size_t length, bit;
    model_start(&m, 7, 390000000);
    model_run(&m, 3 * SECOND);
    memcpy(bytes, m.feedback, m.length);
    length = m.length;
    refused(&m, bytes, length, "not newer");
    model_run(&m, SECOND);
    refused(&m, bytes, length, "not newer");
    for (bit = 0; bit < length * 8; bit++) {
        memcpy(bytes, m.feedback, length);
        bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ (1u << (bit % 8)));
        CHECK(airbound_sender_report(m.sender, m.now, bytes, length) == AIRBOUND_REFUSED);
    }
    refused(&m, bytes, length - 1, "64 bytes");
    refused(&m, bytes, 0, "64 bytes");
    memset(long_one, 2, sizeof long_one);
    refused(&m, long_one, sizeof long_one, "64 bytes");
    memset(bytes, 0, sizeof bytes);
    refused(&m, bytes, length, "version");
    length = made_up(bytes, 8, KEY, 32);
    refused(&m, bytes, length, "has not joined");
    length = made_up(bytes, 7, other, 32);
    refused(&m, bytes, length, "key of its receiver");
    /* Right number and key, absurd levels: it begins anew, which no network can do for it. */
    CHECK(airbound_sender_join(m.sender, m.now, 7, KEY) == AIRBOUND_OK);
    length = made_up(bytes, 7, KEY, 1024);
    refused(&m, bytes, length, "than were sent");
    model_stop(&m);
}

static void clocks_that_jump(void) {
    model m;
    uint64_t before;
    int jump;
    model_start(&m, 7, 390000000);
    model_run(&m, 5 * SECOND);
    before = m.decision.rate_bps;
    for (jump = 0; jump < 4; jump++) {
        uint64_t hour = 3600 * SECOND;
        m.sender_ahead = jump == 0 || jump == 2 ? hour : 0;
        m.stamps_ahead = jump == 1 ? REALTIME + hour : jump == 2 ? 0 : REALTIME - hour;
        model_run(&m, 3 * SECOND);
        CHECK(m.decision.rate_bps > before / 10 * 7);
    }
    model_stop(&m);
}

static void a_receiver_that_falls_silent(void) {
    const uint64_t silences[] = {1, 5, 30};
    size_t place;
    for (place = 0; place < 3; place++) {
        model m;
        uint64_t before;
        model_start(&m, 7, 390000000);
        model_run(&m, 6 * SECOND);
        before = m.decision.rate_bps;
        m.deaf = 1;
        model_run(&m, SECOND);
        CHECK(m.decision.rate_bps == 1000000);
        CHECK(m.decision.reason == AIRBOUND_NO_FEEDBACK);
        model_run(&m, (silences[place] - 1) * SECOND);
        m.deaf = 0;
        model_run(&m, 2 * SECOND);
        CHECK(m.decision.rate_bps > before / 10 * 8);
        model_stop(&m);
    }
}

/* A receiver that was restarted counts from the beginning: that is a replay until it joins again. */
static void a_receiver_that_was_restarted(void) {
    airbound_receiver_config config;
    model m;
    model_start(&m, 7, 390000000);
    model_run(&m, 3 * SECOND);
    airbound_receiver_free(m.receiver);
    CHECK(airbound_receiver_defaults(&config, sizeof config) == AIRBOUND_OK);
    config.receiver = 7;
    memcpy(config.key, KEY, sizeof KEY);
    CHECK(airbound_receiver_new(&config, &m.receiver) == AIRBOUND_OK);
    CHECK(airbound_receiver_phy_rate(m.receiver, m.phy_bps) == AIRBOUND_OK);
    m.deaf = 1;
    model_run(&m, 300 * MS);
    refused(&m, m.feedback, m.length, "not newer");
    CHECK(airbound_sender_join(m.sender, m.now, 7, KEY) == AIRBOUND_OK);
    m.deaf = 0;
    /* Packets sent before are not those of the new lane. */
    m.tolerant = 1;
    model_run(&m, 500 * MS);
    m.tolerant = 0;
    model_run(&m, 5 * SECOND);
    CHECK(m.decision.rate_bps > 200000000);
    model_stop(&m);
}

static void frames_without_end_and_sizes(void) {
    const uint64_t half = 1ull << 31;
    airbound_arrival arrival = {SECOND, 0, 0, 1, 0}, batch[2];
    uint64_t next;
    uint32_t packets;
    size_t length = 1;
    int frame;
    model m;
    model_start(&m, 7, 390000000);
    CHECK(airbound_sender_frame(m.sender, m.now, 7, 0, 1, 0) == AIRBOUND_RANGE);
    CHECK(airbound_sender_frame(m.sender, m.now, 7, 1, 0, 0) == AIRBOUND_RANGE);
    CHECK(airbound_sender_frame(m.sender, m.now, 7, half, 65536, 0) == AIRBOUND_RANGE);
    CHECK(airbound_sender_frame(m.sender, m.now, 7, UINT64_MAX, UINT32_MAX, 0) == AIRBOUND_RANGE);
    CHECK(airbound_sender_frame(m.sender, m.now, 7, 65536, 1, 0) == AIRBOUND_RANGE);
    CHECK(airbound_sender_sent(m.sender, m.now, 7, 0, 0) == AIRBOUND_RANGE);
    CHECK(airbound_sender_sent(m.sender, m.now, 7, 1u << 31, half) == AIRBOUND_RANGE);
    CHECK(airbound_sender_allowed(m.sender, m.now, 7, &packets, &next) == AIRBOUND_NOTHING);
    CHECK(packets == 0 && next == UINT64_MAX);
    for (frame = 0; frame < 64; frame++) {
        CHECK(airbound_sender_frame(m.sender, m.now, 7, 1024 * PACKET, 1024, 0) == AIRBOUND_OK);
    }
    for (frame = 0; frame < 100000; frame++) {
        CHECK(airbound_sender_frame(m.sender, m.now, 7, PACKET, 1, 0) == AIRBOUND_FULL);
    }
    CHECK(airbound_receiver_arrived(m.receiver, SECOND, 0, &arrival, 1) == AIRBOUND_RANGE);
    arrival.bytes = (uint32_t)half;
    CHECK(airbound_receiver_arrived(m.receiver, SECOND, 0, &arrival, 1) == AIRBOUND_RANGE);
    arrival.bytes = PACKET;
    arrival.packets = 0;
    CHECK(airbound_receiver_arrived(m.receiver, SECOND, 0, &arrival, 1) == AIRBOUND_RANGE);
    arrival.packets = 1;
    arrival.flags = 2;
    CHECK(airbound_receiver_arrived(m.receiver, SECOND, 0, &arrival, 1) == AIRBOUND_RANGE);
    arrival.flags = 0;
    batch[0] = batch[1] = arrival;
    batch[1].bytes = 0;
    CHECK(airbound_receiver_arrived(m.receiver, SECOND, 0, batch, 2) == AIRBOUND_RANGE);
    CHECK(airbound_receiver_arrived(m.receiver, SECOND, 0, batch, (size_t)half) == AIRBOUND_RANGE);
    CHECK(airbound_receiver_poll(m.receiver, SECOND, m.feedback, sizeof m.feedback, &length, &next) == AIRBOUND_NOTHING);
    CHECK(length == 0 && next == UINT64_MAX); /* none of those was taken */
    CHECK(airbound_receiver_poll(m.receiver, SECOND, m.feedback, 57, &length, &next) == AIRBOUND_SIZE);
    CHECK(airbound_receiver_phy_rate(m.receiver, 5) == AIRBOUND_RANGE);
    CHECK(airbound_receiver_phy_rate(m.receiver, half * half) == AIRBOUND_RANGE);
    CHECK(airbound_receiver_phy_rate(m.receiver, 0) == AIRBOUND_OK);
    CHECK(airbound_receiver_arrived(m.receiver, SECOND, 0, NULL, 0) == AIRBOUND_OK);
    model_stop(&m);
}

static void pointers_structs_and_numbers(void) {
    union {
        airbound_sender_config config;
        uint8_t bytes[sizeof(airbound_sender_config) + 64];
    } newer;
    airbound_sender_config config;
    airbound_receiver_config receives;
    airbound_decision decision;
    airbound_sender *sender = NULL;
    airbound_receiver *receiver = NULL;
    uint32_t packets, id;
    uint64_t next;
    CHECK(airbound_sender_defaults(NULL, sizeof config) == AIRBOUND_NULL);
    CHECK(airbound_sender_defaults(&config, 8) == AIRBOUND_SIZE);
    CHECK(airbound_sender_defaults(&config, sizeof config) == AIRBOUND_OK && config.size == sizeof config);
    CHECK(airbound_sender_new(NULL, &sender) == AIRBOUND_NULL);
    CHECK(airbound_sender_new(&config, NULL) == AIRBOUND_NULL);
    config.size = 0;
    CHECK(airbound_sender_new(&config, &sender) == AIRBOUND_SIZE);
    config.size = sizeof config;
    config.spread = 2;
    CHECK(airbound_sender_new(&config, &sender) == AIRBOUND_RANGE && strstr(airbound_last_message(), "spread"));
    config.spread = 0.8;
    config.reserved = 1;
    CHECK(airbound_sender_new(&config, &sender) == AIRBOUND_RANGE);
    config.reserved = 0;
    /* A caller with a later header: fields that are zero may be ignored, others may not. */
    memset(&newer, 0, sizeof newer);
    newer.config = config;
    newer.config.size = sizeof newer;
    CHECK(airbound_sender_new(&newer.config, &sender) == AIRBOUND_OK);
    airbound_sender_free(sender);
    sender = NULL;
    newer.bytes[sizeof newer - 1] = 1;
    CHECK(airbound_sender_new(&newer.config, &sender) == AIRBOUND_SIZE && sender == NULL);
    config.receivers = 2;
    CHECK(airbound_sender_new(&config, &sender) == AIRBOUND_OK);
    CHECK(airbound_sender_poll(sender, 0, 0, &decision) == AIRBOUND_UNKNOWN);
    CHECK(airbound_sender_join(sender, 0, 65536, KEY) == AIRBOUND_RANGE);
    CHECK(airbound_sender_join(sender, 0, 1, NULL) == AIRBOUND_NULL);
    for (id = 0; id < 2; id++) {
        CHECK(airbound_sender_join(sender, 0, id, KEY) == AIRBOUND_OK);
    }
    CHECK(airbound_sender_join(sender, 0, 2, KEY) == AIRBOUND_FULL);
    CHECK(airbound_sender_join(sender, 0, 1, KEY) == AIRBOUND_OK);
    CHECK(airbound_sender_leave(sender, 0, 2) == AIRBOUND_UNKNOWN);
    CHECK(airbound_sender_leave(sender, 0, 1) == AIRBOUND_OK);
    decision.size = 4;
    CHECK(airbound_sender_poll(sender, 0, 0, &decision) == AIRBOUND_SIZE);
    decision.size = sizeof decision;
    CHECK(airbound_sender_poll(sender, 0, 0, NULL) == AIRBOUND_NULL);
    CHECK(airbound_sender_poll(NULL, 0, 0, &decision) == AIRBOUND_NULL);
    CHECK(airbound_sender_poll(sender, UINT64_MAX, 0, &decision) == AIRBOUND_OK);
    CHECK(airbound_sender_poll(sender, 0, 0, &decision) == AIRBOUND_OK);
    CHECK(decision.reason == AIRBOUND_NO_FEEDBACK && decision.level == -1 && decision.loss == -1);
    CHECK(airbound_sender_allowed(sender, 0, 0, NULL, &next) == AIRBOUND_NULL);
    CHECK(airbound_sender_allowed(sender, 0, 0, &packets, NULL) == AIRBOUND_NULL);
    CHECK(airbound_sender_report(sender, 0, NULL, 58) == AIRBOUND_NULL);
    airbound_sender_free(sender);
    airbound_sender_free(NULL);
    CHECK(airbound_receiver_defaults(&receives, sizeof receives) == AIRBOUND_OK);
    receives.stamps = 7;
    CHECK(airbound_receiver_new(&receives, &receiver) == AIRBOUND_RANGE);
    receives.stamps = AIRBOUND_STAMPS_CARD;
    receives.interval_ns = 0;
    CHECK(airbound_receiver_new(&receives, &receiver) == AIRBOUND_RANGE && receiver == NULL);
    CHECK(airbound_receiver_arrived(NULL, 0, 0, NULL, 0) == AIRBOUND_NULL);
    airbound_receiver_free(NULL);
    CHECK(strcmp(airbound_reason_text(-5), "unknown reason") == 0);
}

int main(void) {
    reports_that_lie();
    clocks_that_jump();
    a_receiver_that_falls_silent();
    a_receiver_that_was_restarted();
    frames_without_end_and_sizes();
    pointers_structs_and_numbers();
    puts("faults: all as documented");
    return 0;
}

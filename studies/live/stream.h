/* Messages between streamer and viewer, and the interface of a bitrate rule. Numbers are in the order of the machine. */
#ifndef STREAM_H
#define STREAM_H

#include "world.h"

#define PACKET 1200u

/* The head of a media packet. */
typedef struct {
    uint64_t sequence;
    uint64_t made; /* when the encoder gave the frame */
    uint64_t sent;
    uint32_t frame;
    uint16_t part, parts;
} media_head;

/* Messages of the viewer, by their first byte. */
enum { MESSAGE_AIRBOUND = 1, MESSAGE_FRAME, MESSAGE_LOSS, MESSAGE_ARRIVALS };

/* A frame is complete. */
typedef struct {
    uint8_t kind, none[3];
    uint32_t frame;
    uint64_t latency;  /* from its first packet sent to its last one received */
    uint64_t interval; /* since the completion of the frame before */
    uint64_t bits_per_second; /* from its first packet received to its last one; 0 for one packet */
} frame_message;

/* Packets since the message before. */
typedef struct {
    uint8_t kind, none[3];
    uint32_t expected, received;
} loss_message;

/* Arrivals of packets in the order of their sequence numbers, those that are missing left out. */
#define ARRIVALS 140
typedef struct {
    uint8_t kind, none[3];
    uint32_t count;
    uint64_t highest; /* all up to this one that are in no message are lost */
    uint64_t base;    /* time */
    struct {
        uint32_t sequence; /* the lower 32 bits */
        uint32_t after;    /* us after `base` */
    } one[ARRIVALS];
} arrivals_message;

/* Parameters of all rules. */
typedef struct {
    uint32_t streams, fps;
    uint64_t start, least, most; /* bit/s of the encoder */
    double target, spread;
    uint64_t latency; /* ns; 0: none */
    uint64_t interval;
    uint64_t seed;
} rule_config;

/* A rule for the bitrate and the pace of one stream. `state` is of its own. */
typedef struct {
    const char *name;
    void *(*make)(const rule_config *config, uint32_t stream, uint64_t now);
    /* A frame is to be sent. */
    void (*frame)(void *state, uint64_t now, uint32_t frame, uint32_t bytes, uint32_t packets);
    /* How many of `waiting` packets may be sent now, and when to ask again (UINT64_MAX: with the next frame). */
    uint32_t (*allowed)(void *state, uint64_t now, uint32_t waiting, uint64_t *next);
    /* Packets were sent, of which `sequence` is the first. */
    void (*sent)(void *state, uint64_t now, uint64_t sequence, uint32_t packets, uint32_t bytes);
    void (*message)(void *state, uint64_t now, const uint8_t *bytes, uint32_t length);
    /* The encoder's bitrate, and when to ask again. */
    uint64_t (*bitrate)(void *state, uint64_t now, uint64_t *next);
    /* Figures of its own, as members of a JSON object, each after a comma. */
    void (*figures)(void *state, char *text, size_t room);
} rule;

extern const rule rule_airbound, rule_alvr, rule_nest_vr, rule_moonlight, rule_gcc, rule_fixed;

/* A source of frames at a bitrate: an encoder of libavcodec, or sizes that follow it. */
typedef struct encoder encoder;
encoder *encoder_new(const char *kind, uint32_t fps, uint64_t bps, uint64_t seed);
/* The size of the next frame in bytes. */
uint32_t encoder_next(encoder *e, uint64_t bps);

#endif

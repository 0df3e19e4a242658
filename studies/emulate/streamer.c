/* A stream over libairbound: frames of a source that follows the rate, one sender, many receivers.
 *
 *     streamer send PORT RECEIVERS SECONDS [FPS [greedy]]
 *     streamer receive HOST PORT NUMBER SECONDS PHY_MBPS
 *
 * The sender waits for all receivers, then streams to each. Each prints one line of JSON in the end. `greedy` ignores the rate: frames of
 * the largest rate, unpaced, for comparison.
 *
 * A packet: receiver (4 B), frame (4 B), sequence number (8 B), time of sending on CLOCK_MONOTONIC in ns (8 B), the rest is filling.
 * Numbers are in the order of the machine, since both ends run on one. */
#define _GNU_SOURCE
#include "airbound.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#define SECOND 1000000000ull
#define MOST 64
#define PACKET 1400u
#define HEAD 24u
#define BATCH 64

typedef struct {
    uint32_t receiver, frame;
    uint64_t sequence, sent;
} head;

static void fail(const char *what) {
    fprintf(stderr, "streamer: %s: %s\n", what, errno ? strerror(errno) : airbound_last_message());
    exit(1);
}

static void check(airbound_status status, const char *what) {
    if (status < 0) {
        errno = 0;
        fail(what);
    }
}

static uint64_t clock_of(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static uint64_t monotonic(void) { return clock_of(CLOCK_MONOTONIC); }

/* Waits for a packet, at most until `until`. */
static void wait_until(int fd, uint64_t until) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    uint64_t now = monotonic(), left = until > now ? until - now : 0;
    struct timespec time;
    if (left > SECOND / 20) left = SECOND / 20;
    time.tv_sec = 0;
    time.tv_nsec = (long)left;
    ppoll(&one, 1, &time, NULL);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *sorted, size_t count, double q) {
    return count ? sorted[(size_t)(q * (double)(count - 1))] : 0;
}

/* ---- the sending end ---- */

typedef struct {
    struct sockaddr_storage address;
    socklen_t length;
    airbound_decision decision;
    uint64_t sequence, frames, next_poll, next_frame, allowed_at, bytes;
    uint32_t owed; /* packets of frames that wait, without the library's leave */
    double level, rate;
    uint64_t samples;
    int is_known;
} viewer;

static viewer viewers[MOST];

static void send_packets(int fd, viewer *to, uint32_t number, uint32_t count) {
    static unsigned char packet[PACKET];
    uint32_t place;
    for (place = 0; place < count; place++) {
        head h = {number, (uint32_t)to->frames, to->sequence++, monotonic()};
        memcpy(packet, &h, sizeof h);
        if (sendto(fd, packet, PACKET, 0, (struct sockaddr *)&to->address, to->length) > 0) to->bytes += PACKET;
    }
}

static int send_streams(int argc, char **argv) {
    uint32_t receivers = (uint32_t)atoi(argv[3]), number, known = 0;
    uint64_t seconds = (uint64_t)atoi(argv[4]), fps = argc > 5 ? (uint64_t)atoi(argv[5]) : 60;
    int greedy = argc > 6, on = 1 << 22;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    airbound_sender_config config;
    airbound_sender *sender;
    const uint8_t key[16] = {0};
    uint64_t begin = 0, end = UINT64_MAX, half = UINT64_MAX;
    if (receivers < 1 || receivers > MOST || fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof here)) fail("the socket");
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &on, sizeof on);
    check(airbound_sender_defaults(&config, sizeof config), "defaults");
    config.receivers = receivers;
    config.packet_bytes = PACKET;
    config.frame_interval_ns = SECOND / fps;
    config.encoder_share = 1.0;
    if (getenv("SPREAD")) config.spread = atof(getenv("SPREAD"));
    if (getenv("INTERVAL_MS")) config.interval_ns = (uint64_t)atoi(getenv("INTERVAL_MS")) * 1000000;
    check(airbound_sender_new(&config, &sender), "the sender");
    for (;;) {
        unsigned char message[256];
        struct sockaddr_storage from;
        socklen_t length = sizeof from;
        ssize_t got;
        uint64_t now = monotonic(), next = now + SECOND / 20;
        if (now >= end) break;
        while ((got = recvfrom(fd, message, sizeof message, 0, (struct sockaddr *)&from, &length)) > 0) {
            memcpy(&number, message, 4);
            if (got == 4 && number < receivers && !viewers[number].is_known) {
                viewer *v = &viewers[number];
                v->address = from;
                v->length = length;
                v->is_known = 1;
                v->decision.size = sizeof v->decision;
                check(airbound_sender_join(sender, now, number, key), "join");
                if (++known == receivers) {
                    begin = now;
                    half = now + seconds * SECOND / 2;
                    end = now + seconds * SECOND;
                }
            } else if (got > 4) {
                airbound_sender_report(sender, now, message, (size_t)got);
            }
            length = sizeof from;
        }
        for (number = 0; known == receivers && number < receivers; number++) {
            viewer *v = &viewers[number];
            if (now >= v->next_poll) {
                check(airbound_sender_poll(sender, now, number, &v->decision), "poll");
                v->next_poll = v->decision.next_ns;
                if (now >= half && v->decision.level >= 0) {
                    v->level += v->decision.level;
                    v->rate += (double)v->decision.rate_bps / 1e6;
                    v->samples += 1;
                }
            }
            if (now >= v->next_frame) {
                uint64_t bps = greedy ? config.most_bps : v->decision.encoder_bps;
                uint32_t packets = (uint32_t)((bps / 8 / fps + PACKET - 1) / PACKET);
                if (packets == 0) packets = 1;
                v->next_frame = (v->next_frame ? v->next_frame : begin) + SECOND / fps;
                v->frames += 1;
                if (greedy) send_packets(fd, v, number, packets);
                else check(airbound_sender_frame(sender, now, number, (uint64_t)packets * PACKET, packets, 0), "frame");
            }
            if (!greedy) {
                uint32_t packets = 0;
                if (airbound_sender_allowed(sender, now, number, &packets, &v->allowed_at) == AIRBOUND_OK && packets > 0) {
                    uint64_t before = v->bytes;
                    send_packets(fd, v, number, packets);
                    check(airbound_sender_sent(sender, now, number, packets, (uint64_t)packets * PACKET), "sent");
                    (void)before;
                }
                if (v->allowed_at < next) next = v->allowed_at;
            }
            if (v->next_poll < next) next = v->next_poll;
            if (v->next_frame < next) next = v->next_frame;
        }
        wait_until(fd, next);
    }
    for (number = 0; number < receivers; number++) {
        viewer *v = &viewers[number];
        double n = v->samples ? (double)v->samples : 1;
        printf("{\"role\": \"sender\", \"receiver\": %u, \"level\": %.2f, \"rate_mbps\": %.2f, \"sent_packets\": %llu, \"reports\": %u, "
               "\"reason\": \"%s\"}\n",
               number, v->level / n, v->rate / n, (unsigned long long)v->sequence, v->decision.reports,
               airbound_reason_text(v->decision.reason));
    }
    airbound_sender_free(sender);
    return 0;
}

/* ---- the receiving end ---- */

static uint64_t stamp_of(struct msghdr *message, uint64_t otherwise) {
    struct cmsghdr *c;
    for (c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec at;
            memcpy(&at, CMSG_DATA(c), sizeof at);
            return (uint64_t)at.tv_sec * SECOND + (uint64_t)at.tv_nsec;
        }
    }
    return otherwise;
}

static int receive(char **argv) {
    static unsigned char room[BATCH][2048];
    static double delays[4000000];
    uint32_t number = (uint32_t)atoi(argv[4]);
    uint64_t seconds = (uint64_t)atoi(argv[5]), begin = 0, next = 0, told = 0, packets = 0, last = 0, first = 0, bytes = 0;
    size_t count = 0;
    int on = 1, size = 1 << 22;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found;
    airbound_receiver_config config;
    airbound_receiver *receiver;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (getaddrinfo(argv[2], argv[3], &hints, &found)) fail("the sender's name");
    if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen)) fail("the socket");
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    check(airbound_receiver_defaults(&config, sizeof config), "defaults");
    config.receiver = number;
    if (getenv("INTERVAL_MS")) config.interval_ns = (uint64_t)atoi(getenv("INTERVAL_MS")) * 1000000;
    check(airbound_receiver_new(&config, &receiver), "the receiver");
    check(airbound_receiver_phy_rate(receiver, (uint64_t)atoi(argv[6]) * 1000000), "the PHY rate");
    while (!begin || monotonic() < begin + seconds * SECOND) {
        struct mmsghdr batch[BATCH];
        struct iovec parts[BATCH];
        static char control[BATCH][64];
        airbound_arrival arrivals[BATCH];
        uint8_t feedback[AIRBOUND_FEEDBACK_MAX];
        size_t length = 0;
        int got, place, seen = 0;
        uint64_t now = monotonic();
        if (!begin && now > told + SECOND / 5) {
            send(fd, &number, 4, 0);
            told = now;
        }
        wait_until(fd, next && next < now + SECOND / 20 ? next : now + SECOND / 20);
        for (place = 0; place < BATCH; place++) {
            parts[place] = (struct iovec){room[place], sizeof room[place]};
            batch[place] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[place], .msg_iovlen = 1, .msg_control = control[place],
                                                        .msg_controllen = sizeof control[place]}};
        }
        got = recvmmsg(fd, batch, BATCH, 0, NULL);
        now = monotonic();
        for (place = 0; place < got; place++) {
            uint64_t realtime = clock_of(CLOCK_REALTIME), stamp = stamp_of(&batch[place].msg_hdr, realtime);
            head h;
            if (batch[place].msg_len != PACKET) continue;
            memcpy(&h, room[place], sizeof h);
            if (!begin) {
                begin = now;
                first = h.sequence;
            }
            if (now > begin + seconds * SECOND / 2 && count < sizeof delays / sizeof *delays)
                delays[count++] = ((double)now - (double)h.sent - (double)(realtime - stamp)) / 1e6;
            if (now > begin + seconds * SECOND / 2) bytes += PACKET;
            if (h.sequence > last) last = h.sequence;
            packets += 1;
            arrivals[seen++] = (airbound_arrival){stamp, h.sequence, PACKET, 1, 0};
        }
        if (seen) check(airbound_receiver_arrived(receiver, now, clock_of(CLOCK_REALTIME), arrivals, (size_t)seen), "arrived");
        if (airbound_receiver_poll(receiver, now, feedback, sizeof feedback, &length, &next) == AIRBOUND_OK) send(fd, feedback, length, 0);
    }
    qsort(delays, count, sizeof *delays, by_value);
    printf("{\"role\": \"receiver\", \"receiver\": %u, \"goodput_mbps\": %.2f, \"packets\": %llu, \"lost\": %llu, \"delay_ms\": "
           "{\"p50\": %.2f, \"p95\": %.2f, \"p99\": %.2f}}\n",
           number, (double)bytes * 8 / ((double)seconds / 2) / 1e6, (unsigned long long)packets,
           (unsigned long long)(last - first + 1 - packets), quantile(delays, count, 0.5), quantile(delays, count, 0.95),
           quantile(delays, count, 0.99));
    airbound_receiver_free(receiver);
    return 0;
}

int main(int argc, char **argv) {
    prctl(PR_SET_TIMERSLACK, 1000ul);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc >= 5 && !strcmp(argv[1], "send")) return send_streams(argc, argv);
    if (argc >= 7 && !strcmp(argv[1], "receive")) return receive(argv);
    fprintf(stderr, "streamer: allowed are: send PORT RECEIVERS SECONDS [FPS [greedy]], receive HOST PORT NUMBER SECONDS PHY_MBPS\n");
    return 2;
}

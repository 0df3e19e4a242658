/* Sockets of the system, with the kernel's receive stamps. Both ends run on one machine, as in `airbound emulate` and `airbound lab exec`. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

static int fd = -1;
static uint32_t peers;
static struct sockaddr_storage addresses[WORLD_MOST];
static socklen_t lengths[WORLD_MOST];
/* On a station: the message that names it. */
static uint32_t own;
static int is_station;

void world_fail(const char *what) {
    fprintf(stderr, "live: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t clock_of(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

uint64_t world_now(void) { return clock_of(CLOCK_MONOTONIC); }
int world_is_over(void) { return 0; }

uint64_t world_phy_rate(void) {
    const char *given = getenv("PHY_MBPS");
    return given ? strtoull(given, NULL, 10) * 1000000 : 0;
}

static void open_socket(void) {
    int on = 1, room = 1 << 22;
    prctl(PR_SET_TIMERSLACK, 1000ul);
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (fd < 0) world_fail("socket");
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
}

static void wait_readable(uint64_t until) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    uint64_t now = world_now(), left = until > now ? until - now : 0;
    struct timespec time;
    if (left > SECOND / 20) left = SECOND / 20;
    time.tv_sec = 0;
    time.tv_nsec = (long)left;
    ppoll(&one, 1, &time, NULL);
}

void world_serve(const char *port, uint32_t stations) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    uint32_t known = 0;
    open_socket();
    if (bind(fd, (struct sockaddr *)&here, sizeof here)) world_fail("bind");
    while (known < stations) {
        struct sockaddr_storage from;
        socklen_t length = sizeof from;
        uint32_t number;
        wait_readable(world_now() + SECOND);
        if (recvfrom(fd, &number, sizeof number, 0, (struct sockaddr *)&from, &length) != sizeof number) continue;
        if (number >= stations || lengths[number]) continue;
        addresses[number] = from;
        lengths[number] = length;
        known += 1;
    }
    peers = stations;
}

void world_join(const char *host, const char *port, uint32_t station) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found;
    if (getaddrinfo(host, port, &hints, &found)) world_fail("the server's name");
    open_socket();
    memcpy(&addresses[0], found->ai_addr, found->ai_addrlen);
    lengths[0] = found->ai_addrlen;
    peers = 1;
    own = station;
    is_station = 1;
    freeaddrinfo(found);
    send(fd, &own, sizeof own, 0);
}

void world_send(uint32_t peer, const void *head, uint32_t length, uint32_t size) {
    uint8_t packet[2048] = {0};
    if (peer >= peers || length > size || size > sizeof packet) return;
    memcpy(packet, head, length);
    /* A full socket buffer loses it, as a network would. */
    (void)!sendto(fd, packet, size, 0, (struct sockaddr *)&addresses[peer], lengths[peer]);
}

static uint32_t peer_of(const struct sockaddr_storage *from) {
    const struct sockaddr_in *one = (const struct sockaddr_in *)from;
    uint32_t place;
    for (place = 0; place < peers; place++) {
        const struct sockaddr_in *known = (const struct sockaddr_in *)&addresses[place];
        if (known->sin_addr.s_addr == one->sin_addr.s_addr && known->sin_port == one->sin_port) return place;
    }
    return WORLD_MOST;
}

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

uint32_t world_wait(uint64_t until, world_packet *batch) {
    static uint8_t room[WORLD_BATCH][2048];
    static char control[WORLD_BATCH][64];
    static struct sockaddr_storage from[WORLD_BATCH];
    static uint64_t said;
    struct mmsghdr messages[WORLD_BATCH];
    struct iovec parts[WORLD_BATCH];
    uint32_t count = 0;
    int got, place;
    uint64_t realtime, now;
    /* A station repeats its hello until packets come. */
    if (is_station && said != UINT64_MAX && world_now() > said + SECOND / 5) {
        sendto(fd, &own, sizeof own, 0, (struct sockaddr *)&addresses[0], lengths[0]);
        said = world_now();
    }
    wait_readable(until);
    for (place = 0; place < WORLD_BATCH; place++) {
        parts[place] = (struct iovec){room[place], sizeof room[place]};
        messages[place] = (struct mmsghdr){.msg_hdr = {.msg_name = &from[place], .msg_namelen = sizeof from[place], .msg_iov = &parts[place],
                                                       .msg_iovlen = 1, .msg_control = control[place], .msg_controllen = sizeof control[place]}};
    }
    got = recvmmsg(fd, messages, WORLD_BATCH, 0, NULL);
    realtime = clock_of(CLOCK_REALTIME);
    now = world_now();
    for (place = 0; place < got; place++) {
        uint64_t stamp = stamp_of(&messages[place].msg_hdr, realtime);
        uint32_t length = messages[place].msg_len, peer = peer_of(&from[place]);
        world_packet *one = &batch[count];
        if (peer >= peers || length <= sizeof own) continue;
        said = UINT64_MAX;
        one->at = stamp < realtime ? now - (realtime - stamp) : now;
        one->peer = peer;
        one->size = length;
        one->head = length < WORLD_HEAD ? length : WORLD_HEAD;
        memcpy(one->content, room[place], one->head);
        count += 1;
    }
    return count;
}

void world_result(const char *line) {
    printf("%s\n", line);
    fflush(stdout);
}

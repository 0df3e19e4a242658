/* The simulated air in virtual time: messages to the program `lockstep` over standard input and output. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t now, phy;
static int over;

void world_fail(const char *what) {
    fprintf(stderr, "live: %s\n", what);
    exit(1);
}

static int take(void *room, size_t length) {
    if (length > 0 && fread(room, 1, length, stdin) != length) over = 1;
    return !over;
}

static void put(const void *bytes, size_t length) {
    if (fwrite(bytes, 1, length, stdout) != length) over = 1;
}

void world_serve(const char *port, uint32_t stations) {
    (void)port, (void)stations;
    world_wait(0, NULL);
}

void world_join(const char *host, const char *port, uint32_t station) {
    (void)host, (void)port, (void)station;
    world_wait(0, NULL);
}

uint64_t world_now(void) { return now; }
uint64_t world_phy_rate(void) { return phy; }
int world_is_over(void) { return over; }

void world_send(uint32_t peer, const void *head, uint32_t length, uint32_t size) {
    const uint8_t operation = 'S';
    const uint32_t numbers[3] = {peer, length, size};
    put(&operation, 1);
    put(numbers, sizeof numbers);
    put(head, length);
}

uint32_t world_wait(uint64_t until, world_packet *batch) {
    const uint8_t operation = 'W';
    uint32_t count = 0, place;
    put(&operation, 1);
    put(&until, sizeof until);
    fflush(stdout);
    if (!take(&now, sizeof now) || !take(&phy, sizeof phy) || !take(&count, sizeof count)) return 0;
    if (count > (batch ? WORLD_BATCH : 0)) world_fail("more packets than places");
    for (place = 0; place < count; place++) {
        world_packet *one = &batch[place];
        uint32_t numbers[3];
        if (!take(&one->at, sizeof one->at) || !take(numbers, sizeof numbers)) return 0;
        one->peer = numbers[0];
        one->head = numbers[1];
        one->size = numbers[2];
        if (one->head > WORLD_HEAD) world_fail("a head is too long");
        if (!take(one->content, one->head)) return 0;
    }
    return count;
}

void world_result(const char *line) {
    const uint8_t operation = 'R';
    const uint32_t length = (uint32_t)strlen(line);
    over = 0;
    put(&operation, 1);
    put(&length, sizeof length);
    put(line, length);
    fflush(stdout);
}

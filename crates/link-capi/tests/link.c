/* Packets through two places, each error, and nothing left behind. */
#include "airbound_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(holds)                                                                                  \
    do {                                                                                              \
        if (!(holds)) {                                                                               \
            fprintf(stderr, "%d: %s: %s\n", __LINE__, #holds, airbound_link_last_message());          \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

static const uint64_t MS = 1000000;

int main(void) {
    airbound_link *link = NULL;
    airbound_link_arrival arrival;
    airbound_link_counts counts;
    uint8_t bytes[AIRBOUND_LINK_LARGEST];
    uint64_t now, next, number, taken = 0;

    CHECK(airbound_link_new("my-flt", NULL, 0, 1, &link) == AIRBOUND_LINK_UNKNOWN && link == NULL);
    CHECK(strstr(airbound_link_last_message(), "did you mean my-flat?") != NULL);
    CHECK(airbound_link_new("my-flat", "codle", 0, 1, &link) == AIRBOUND_LINK_UNKNOWN && link == NULL);
    CHECK(airbound_link_new(NULL, NULL, 0, 1, &link) == AIRBOUND_LINK_NULL && link == NULL);
    CHECK(airbound_link_new(airbound_link_place(2), "codel", 0, 7, &link) == AIRBOUND_LINK_OK);
    CHECK(airbound_link_next(link, &next) == AIRBOUND_LINK_NOTHING && next == UINT64_MAX);
    for (number = 0; number < 100; number++) {
        memset(bytes, (int)number, sizeof bytes);
        CHECK(airbound_link_push(link, number * MS, AIRBOUND_LINK_DOWN, bytes, 1000) == AIRBOUND_LINK_OK);
    }
    CHECK(airbound_link_push(link, 98 * MS, AIRBOUND_LINK_UP, bytes, 1) == AIRBOUND_LINK_TIME);
    CHECK(airbound_link_push(link, 99 * MS, AIRBOUND_LINK_UP, bytes, 1473) == AIRBOUND_LINK_SIZE);
    CHECK(airbound_link_push(link, 99 * MS, 2, bytes, 1) == AIRBOUND_LINK_UNKNOWN);
    CHECK(airbound_link_push(link, 99 * MS, AIRBOUND_LINK_UP, NULL, 1) == AIRBOUND_LINK_NULL);
    now = 60 * MS;
    CHECK(airbound_link_take(link, now, bytes, &arrival) == AIRBOUND_LINK_TIME);
    while (airbound_link_next(link, &next) == AIRBOUND_LINK_OK) {
        while (airbound_link_take(link, next, bytes, &arrival) == AIRBOUND_LINK_OK) {
            CHECK(arrival.length == 1000 && arrival.direction == AIRBOUND_LINK_DOWN);
            CHECK(arrival.at_ns >= arrival.sent_ns + 8 * MS && arrival.at_ns <= next);
            CHECK(bytes[0] == (uint8_t)(arrival.sent_ns / MS) && bytes[999] == bytes[0]);
            taken++;
        }
    }
    CHECK(airbound_link_count(link, AIRBOUND_LINK_DOWN, &counts) == AIRBOUND_LINK_OK);
    CHECK(counts.pushed == 100 && counts.arrived == taken && taken + counts.lost == 100 && taken > 50);
    CHECK(airbound_link_count(link, AIRBOUND_LINK_UP, NULL) == AIRBOUND_LINK_NULL);
    airbound_link_free(link);
    airbound_link_free(NULL);
    return 0;
}

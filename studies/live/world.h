/* Clock and packets of a program: sockets of the system, or a simulated air in virtual time (lockstep).
 *
 * One end is a server with up to WORLD_MOST peers, the others are stations with one peer, the server. All ends have one clock. A packet has
 * a head, which is content, and a size; what is between them is filling. */
#ifndef WORLD_H
#define WORLD_H

#include <stddef.h>
#include <stdint.h>

#define SECOND 1000000000ull
#define MILLI 1000000ull
#define WORLD_MOST 64
#define WORLD_HEAD 1200
#define WORLD_BATCH 64

/* A received packet. */
typedef struct {
    uint64_t at; /* receive stamp on the clock of world_now() */
    uint32_t peer, size, head;
    uint8_t content[WORLD_HEAD];
} world_packet;

/* Opens the server's end: port, and the number of stations. Returns once all stations have said hello. */
void world_serve(const char *port, uint32_t stations);
/* Opens a station's end: the server's name and port, and the number of the station. */
void world_join(const char *host, const char *port, uint32_t station);
/* The time in ns. */
uint64_t world_now(void);
/* Time on the clock of receive stamps, less world_now(); stamps are already on the clock of world_now(). */
void world_send(uint32_t peer, const void *head, uint32_t length, uint32_t size);
/* Waits until a packet comes, or until a time. Returns the number of packets written to `batch`, of WORLD_BATCH places. */
uint32_t world_wait(uint64_t until, world_packet *batch);
/* The PHY rate of the last frame received, in bit/s; 0 if it is not known. */
uint64_t world_phy_rate(void);
/* Whether the simulation is over. Always 0 with sockets. */
int world_is_over(void);
/* Prints a line of the results. */
void world_result(const char *line);
/* Ends the program with a sentence. */
void world_fail(const char *what);

#endif

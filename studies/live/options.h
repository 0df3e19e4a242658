/* Options of the program: key=value. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>

typedef struct {
    const char *rule, *encoder, *host, *port, *log;
    uint32_t stations, station, fps;
    double seconds, skip, target, latency_ms, spread, late_ms;
    double start_mbps, least_mbps, most_mbps;
    double interval_ms;
    uint64_t seed;
} options;

int send_streams(const options *o);
int view(const options *o);

#endif

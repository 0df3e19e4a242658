/* A stream of frames whose bitrate follows a rule, and its viewer.
 *
 *     live send rule=airbound encoder=x264 stations=1 fps=90 seconds=20 …
 *     live view station=0 host=server …
 *
 * Both ends have the same options. Each prints one line of JSON in the end. */
#include "options.h"

#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int take(options *o, const char *key, const char *value) {
    const struct {
        const char *name;
        double *place;
    } numbers[] = {
        {"seconds", &o->seconds},       {"skip", &o->skip},   {"target", &o->target}, {"latency-ms", &o->latency_ms}, {"spread", &o->spread}, {"late-ms", &o->late_ms},
        {"start", &o->start_mbps},      {"least", &o->least_mbps}, {"most", &o->most_mbps}, {"interval-ms", &o->interval_ms},
    };
    const struct {
        const char *name;
        uint32_t *place;
    } counts[] = {{"stations", &o->stations}, {"station", &o->station}, {"fps", &o->fps}};
    const struct {
        const char *name, **place;
    } texts[] = {{"rule", &o->rule}, {"encoder", &o->encoder}, {"host", &o->host}, {"port", &o->port}, {"log", &o->log}};
    size_t place;
    for (place = 0; place < sizeof numbers / sizeof *numbers; place++)
        if (!strcmp(key, numbers[place].name)) return *numbers[place].place = atof(value), 1;
    for (place = 0; place < sizeof counts / sizeof *counts; place++)
        if (!strcmp(key, counts[place].name)) return *counts[place].place = (uint32_t)atoi(value), 1;
    for (place = 0; place < sizeof texts / sizeof *texts; place++)
        if (!strcmp(key, texts[place].name)) return *texts[place].place = value, 1;
    if (!strcmp(key, "seed")) return o->seed = strtoull(value, NULL, 10), 1;
    return 0;
}

int main(int argc, char **argv) {
    options o = {.rule = "airbound", .encoder = "sizes", .host = "server", .port = "5000", .stations = 1, .fps = 60, .seconds = 10, .skip = 2,
                 .target = 32, .spread = 0.8, .late_ms = 50, .start_mbps = 10, .least_mbps = 1, .most_mbps = 1000, .interval_ms = 100, .seed = 1};
    int place;
    for (place = 2; place < argc; place++) {
        char *equals = strchr(argv[place], '=');
        if (equals) *equals = 0;
        if (!equals || !take(&o, argv[place], equals + 1)) {
            fprintf(stderr, "live: %s is no option of the form key=value\n", argv[place]);
            return 2;
        }
    }
    if (o.stations < 1 || o.stations > WORLD_MOST || o.station >= WORLD_MOST || o.fps < 1 || o.fps > 1000 || o.seconds <= o.skip) {
        fprintf(stderr, "live: allowed are 1 to %d stations, 1 to 1000 frames a second, and more seconds than are skipped\n", WORLD_MOST);
        return 2;
    }
    if (argc > 1 && !strcmp(argv[1], "send")) return send_streams(&o);
    if (argc > 1 && !strcmp(argv[1], "view")) return view(&o);
    fprintf(stderr, "live: allowed are send and view\n");
    return 2;
}

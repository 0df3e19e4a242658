/* Frames: of x264 through libavcodec, over a picture of texture that moves, or sizes that follow a bitrate. */
#include "stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_AVCODEC
#include <libavcodec/avcodec.h>
#include <libavutil/opt.h>
#endif

struct encoder {
    uint32_t fps, number;
    uint64_t bps, random;
    double spread; /* relative deviation of sizes */
#ifdef WITH_AVCODEC
    AVCodecContext *codec;
    AVFrame *picture;
    AVPacket *packet;
    uint8_t *texture;
#endif
};

static double unit(encoder *e) {
    e->random = e->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(e->random >> 11) / 9007199254740992.0;
}

#ifdef WITH_AVCODEC
enum { WIDTH = 640, HEIGHT = 360, TEXTURE = 1024 };

static void set_rate(encoder *e, uint64_t bps) {
    e->bps = bps;
    e->codec->bit_rate = (int64_t)bps;
    e->codec->rc_max_rate = (int64_t)bps;
    /* The buffer of one and a half frames keeps each near its share. */
    e->codec->rc_buffer_size = (int)(1.5 * (double)bps / e->fps);
}

static void open_codec(encoder *e, uint64_t bps) {
    const AVCodec *codec = avcodec_find_encoder_by_name("libx264");
    int place;
    if (!codec) world_fail("libavcodec has no libx264");
    e->codec = avcodec_alloc_context3(codec);
    e->codec->width = WIDTH;
    e->codec->height = HEIGHT;
    e->codec->pix_fmt = AV_PIX_FMT_YUV420P;
    e->codec->time_base = (AVRational){1, (int)e->fps};
    e->codec->framerate = (AVRational){(int)e->fps, 1};
    e->codec->gop_size = 1 << 20;
    e->codec->max_b_frames = 0;
    e->codec->thread_count = 1;
    set_rate(e, bps);
    av_opt_set(e->codec->priv_data, "preset", "ultrafast", 0);
    av_opt_set(e->codec->priv_data, "tune", "zerolatency", 0);
    av_opt_set(e->codec->priv_data, "x264-params", "intra-refresh=1:scenecut=0:log=-1:qpmin=1", 0);
    if (avcodec_open2(e->codec, codec, NULL) < 0) world_fail("the encoder does not open");
    e->packet = av_packet_alloc();
    e->picture = av_frame_alloc();
    e->picture->format = AV_PIX_FMT_YUV420P;
    e->picture->width = WIDTH;
    e->picture->height = HEIGHT;
    if (av_frame_get_buffer(e->picture, 0) < 0) world_fail("no memory for a picture");
    e->texture = malloc(TEXTURE * TEXTURE);
    for (place = 0; place < TEXTURE * TEXTURE; place++) e->texture[place] = (uint8_t)(16 + 219 * unit(e));
}

/* A window on the texture, turned and shaken as a head is, so that motion vectors do not take all. */
static void draw(encoder *e) {
    double time = (double)e->number / e->fps;
    int x = (int)(200 * sin(1.1 * time) + 300), y = (int)(120 * sin(1.7 * time) + 200), row, column, plane;
    av_frame_make_writable(e->picture);
    for (row = 0; row < HEIGHT; row++) {
        uint8_t *line = e->picture->data[0] + row * e->picture->linesize[0];
        const uint8_t *from = e->texture + ((y + row) % TEXTURE) * TEXTURE;
        memcpy(line, from + x, WIDTH);
        /* Every sixth line is new in each picture: leaves in the wind. */
        if ((row + (int)e->number) % 6 == 0)
            for (column = 0; column < WIDTH; column++) line[column] = (uint8_t)(from[(x + column) % TEXTURE] ^ (e->number * 37 + column * 11));
    }
    for (plane = 1; plane < 3; plane++)
        for (row = 0; row < HEIGHT / 2; row++)
            memset(e->picture->data[plane] + row * e->picture->linesize[plane], 128 + ((row + (int)e->number) >> 3) % 16, WIDTH / 2);
    e->picture->pts = e->number;
}

static uint32_t encode(encoder *e, uint64_t bps) {
    uint32_t bytes = 0;
    /* The encoder takes new rates with the next picture. */
    if (bps != e->bps) set_rate(e, bps);
    draw(e);
    if (avcodec_send_frame(e->codec, e->picture) < 0) world_fail("the encoder takes no picture");
    while (avcodec_receive_packet(e->codec, e->packet) == 0) {
        bytes += (uint32_t)e->packet->size;
        av_packet_unref(e->packet);
    }
    return bytes;
}
#endif

encoder *encoder_new(const char *kind, uint32_t fps, uint64_t bps, uint64_t seed) {
    encoder *e = calloc(1, sizeof *e);
    e->fps = fps;
    e->random = seed * 0x9e3779b97f4a7c15u + 1;
    if (!strcmp(kind, "even")) return e;
    if (!strcmp(kind, "sizes")) {
        e->spread = 0.1;
        return e;
    }
#ifdef WITH_AVCODEC
    if (!strcmp(kind, "x264")) {
        open_codec(e, bps);
        return e;
    }
#endif
    (void)bps;
    world_fail("allowed encoders are even, sizes and, where libavcodec was there, x264");
    return NULL;
}

uint32_t encoder_next(encoder *e, uint64_t bps) {
    double bytes = (double)bps / 8 / e->fps;
    e->number += 1;
#ifdef WITH_AVCODEC
    if (e->codec) return encode(e, bps);
#endif
    if (e->spread > 0) bytes *= 1 + e->spread * sqrt(12.0) * (unit(e) + unit(e) - 1) / sqrt(2.0);
    return bytes < 1 ? 1 : (uint32_t)bytes;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The channel between the radios and the medium: the character device /dev/airbound-radio.
 *
 * The medium is a program in user space that decides when each frame is on the air, which radios receive it and whether
 * it is acknowledged. Frames stay in the kernel: the medium gets the first bytes of each and refers to it by its cookie.
 *
 * read() waits for an event or the alarm, and returns a LAB_TIME event with the time of the call, then the events in
 * order of time. write() takes whole commands. The byte order is the machine's; crates/lab/src/channel.rs is the user
 * space end. One program at a time may open the device.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, the clock of the packets' timestamps in user space; it cannot be set.
 */
#ifndef AIRBOUND_CHANNEL_H
#define AIRBOUND_CHANNEL_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define LAB_HEAD 84	/* bytes of a frame in an event */
#define LAB_RATES 4	/* steps of a rate chain */

/* Flags of a rate. */
#define LAB_RATE_HT	0x01	/* index is an HT MCS, 0 to 31 */
#define LAB_RATE_VHT	0x02	/* index is a VHT MCS in the low four bits, streams less one above */
#define LAB_RATE_SHORT	0x04	/* short guard interval */
#define LAB_RATE_40	0x08	/* 40 MHz */
#define LAB_RATE_80	0x10	/* 80 MHz */
#define LAB_RATE_RTS	0x20	/* preceded by RTS and CTS */

/* One step of a rate chain; without HT or VHT the index is that of 6, 9, 12, 18, 24, 36, 48, 54 Mb/s. */
struct lab_rate {
	__s8 index;	/* -1: end of the chain */
	__u8 tries;
	__u8 flags;
	__u8 pad;
};

enum lab_event_kind {
	LAB_TIME = 0,	/* the time of the read, in at */
	LAB_FRAME = 1,	/* a frame was handed to a radio */
	LAB_EDCA = 2,	/* the contention parameters of a category changed: head[0..2] aifsn, cw_min, cw_max, txop (u16 each) */
	LAB_ENTRY = 3,	/* a packet came from the wire: waited its bytes, length those of its segments' payload, head from IP on */
	LAB_TUNED = 4,	/* a radio moved to another channel: length is its centre frequency in MHz */
};

/* Flags of a frame. */
#define LAB_FRAME_AMPDU	0x01	/* may share an A-MPDU */
#define LAB_FRAME_NOACK	0x02	/* not acknowledged */
#define LAB_FRAME_BEACON 0x04	/* precedes all other frames, after PIFS */
#define LAB_FRAME_PROBE	0x08	/* rate control's probe: sent without aggregation */

struct lab_event {
	__u8 kind;
	__u8 radio;
	__u8 category;	/* 0 voice, 1 video, 2 best effort, 3 background, as mac80211 numbers them */
	__u8 flags;
	__u32 cookie;
	__u64 at;	/* when the driver dequeued the frame */
	__u32 waited;	/* time in mac80211's queues, units of 1024 ns */
	__u16 length;	/* of the MPDU, with frame check sequence */
	__u8 most_tries; /* limit of transmissions; 0: the medium's */
	__u8 pad;
	struct lab_rate rates[LAB_RATES];
	__u8 head[LAB_HEAD];
	__u32 pad2;
};

enum lab_command_kind {
	LAB_ALARM = 0,		/* read() returns at the time in value, even without an event */
	LAB_DELIVER = 1,	/* the radios of the mask in value receive the frame cookie of radio, at signal and rates[0] */
	LAB_DONE = 2,		/* the frame is acknowledged or dropped: flags, and rates with the tries made */
	LAB_PPDU = 3,		/* a PPDU of radio to peer ended: value is its airtime in us; mpdus, acked and rates for rate control */
	LAB_SURVEY = 4,		/* totals in us: channel busy for radio (value), own transmissions (cookie) */
};

#define LAB_DONE_ACKED	0x01
#define LAB_PPDU_AMPDU	0x01

struct lab_command {
	__u8 kind;
	__u8 radio;
	__u8 flags;
	__s8 signal;	/* dBm */
	__u32 cookie;
	__u64 value;
	__u8 peer[6];
	__u8 tid;
	__u8 pad;
	__u16 mpdus;
	__u16 acked;
	struct lab_rate rates[LAB_RATES];
	__u32 ampdu;	/* of a frame delivered: the number of its A-MPDU; 0: none */
};

static_assert(sizeof(struct lab_event) == 128);
static_assert(sizeof(struct lab_command) == 48);

#endif

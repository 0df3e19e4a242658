/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The channel between the radios and the medium: the character device /dev/airbound-radio.
 *
 * The medium is a program in user space that decides when each frame is on the air, who hears it and whether it is
 * acknowledged. Frames stay in the kernel: the medium sees the first bytes of each and names it by its cookie.
 *
 * read() waits until there is an event or the alarm is due, and returns a LAB_TIME event with the time of the call, then
 * the events in the order in which they happened. write() takes whole commands. Everything is in the byte order of the
 * machine; crates/lab/src/channel.rs is the other end. One program at a time may open the device.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC: programs in user space stamp packets with the same clock, which nobody can set.
 */
#ifndef AIRBOUND_CHANNEL_H
#define AIRBOUND_CHANNEL_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define LAB_HEAD 84	/* bytes of a frame that the medium sees */
#define LAB_RATES 4	/* steps of a rate chain */

/* Flags of a rate. */
#define LAB_RATE_HT	0x01	/* index is an HT MCS, 0 to 31 */
#define LAB_RATE_VHT	0x02	/* index is a VHT MCS in the low four bits, streams less one above */
#define LAB_RATE_SHORT	0x04	/* short guard interval */
#define LAB_RATE_40	0x08	/* 40 MHz */
#define LAB_RATE_80	0x10	/* 80 MHz */
#define LAB_RATE_RTS	0x20	/* RTS and CTS go first */

/* One step of a rate chain; without HT or VHT the index counts 6, 9, 12, 18, 24, 36, 48, 54 Mb/s. */
struct lab_rate {
	__s8 index;	/* -1: no such step */
	__u8 tries;
	__u8 flags;
	__u8 pad;
};

enum lab_event_kind {
	LAB_TIME = 0,	/* the time of the read, in at */
	LAB_FRAME = 1,	/* a frame was handed to a radio */
	LAB_EDCA = 2,	/* the contention parameters of a category changed: head[0..2] aifsn, cw_min, cw_max, txop (u16 each) */
};

/* Flags of a frame. */
#define LAB_FRAME_AMPDU	0x01	/* may share an A-MPDU */
#define LAB_FRAME_NOACK	0x02	/* nobody acknowledges it */
#define LAB_FRAME_BEACON 0x04	/* goes before everything else, after PIFS */
#define LAB_FRAME_PROBE	0x08	/* rate control tries a rate with it: it goes alone */

struct lab_event {
	__u8 kind;
	__u8 radio;
	__u8 category;	/* 0 voice, 1 video, 2 best effort, 3 background, as mac80211 numbers them */
	__u8 flags;
	__u32 cookie;
	__u64 at;	/* when the driver took the frame */
	__u32 waited;	/* before that in mac80211's queues, units of 1024 ns */
	__u16 length;	/* of the MPDU, with its frame check sequence */
	__u8 most_tries; /* transmissions after which it is given up; 0: as the medium does by itself */
	__u8 pad;
	struct lab_rate rates[LAB_RATES];
	__u8 head[LAB_HEAD];
	__u32 pad2;
};

enum lab_command_kind {
	LAB_ALARM = 0,		/* read() returns at the time in value, even without an event */
	LAB_DELIVER = 1,	/* the radios of the mask in value hear the frame cookie of radio, at signal and rates[0] */
	LAB_DONE = 2,		/* the frame left the air for good: flags, and rates with the tries made */
	LAB_PPDU = 3,		/* a PPDU of radio to peer ended: value is its airtime in us; mpdus, acked and rates for rate control */
	LAB_SURVEY = 4,		/* microseconds that radio found the channel busy (value) and transmitted itself (cookie), so far */
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
	__u32 pad2;
};

static_assert(sizeof(struct lab_event) == 128);
static_assert(sizeof(struct lab_command) == 48);

#endif

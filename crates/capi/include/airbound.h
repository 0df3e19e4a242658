#ifndef AIRBOUND_H
#define AIRBOUND_H

#include <stddef.h>
#include <stdint.h>

/* Low-delay rate allocation for real-time senders over Wi-Fi.
 *
 * A receiver senses how many packets the access point sends in one frame; a sender holds that number at a target, which keeps rates high
 * and queues short, and gets a bit rate for its encoder, a pace for its packets and a reason.
 *
 * Contract of all functions:
 *  - No I/O, no threads, no clock. The caller sends, receives and waits. Times are in ns of any steady clock of the caller (CLOCK_MONOTONIC,
 *    QueryPerformanceCounter); both ends have their own. A clock that is set is followed, at the price of a moment of wrong rates.
 *  - Memory: only airbound_sender_new() and airbound_receiver_new() allocate, only the functions `_free` release. What is passed by pointer
 *    is read or written during the call only.
 *  - Threads: one object is used by one thread at a time; different objects are independent. A lock is the caller's.
 *  - Errors: negative, and nothing has happened. airbound_last_message() says which value is wrong and what is allowed.
 *  - A fault of the library never crosses: the call returns AIRBOUND_BROKEN, and so do all later calls with that object but `_free`.
 *  - Structs with a field `size` may grow: the caller sets it to sizeof, as its header has it.
 */


/*
 Version of this interface. A function or a field is added within a version; none is removed or changed.
 */
#define AIRBOUND_ABI 1

/*
 Largest feedback in bytes, of this and later versions: the room that airbound_receiver_poll() needs.
 */
#define AIRBOUND_FEEDBACK_MAX 64

/*
 Flag of an arrival: packets of another flow of this device, as far as known. `sequence` has no meaning.
 */
#define AIRBOUND_COMPANION 1

/*
 Result of a call. Zero or more: it had its effect, or none was due.
 */
enum airbound_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /*
     Done.
     */
    AIRBOUND_OK = 0,
    /*
     Nothing is due yet.
     */
    AIRBOUND_NOTHING = 1,
    /*
     Feedback that is not believed: damaged, forged, replayed, of another receiver, or of packets that were not sent. It is counted, and
     has no other effect.
     */
    AIRBOUND_REFUSED = 2,
    /*
     A pointer is NULL or not aligned.
     */
    AIRBOUND_NULL = -1,
    /*
     A value is out of range.
     */
    AIRBOUND_RANGE = -2,
    /*
     `size` of a struct is not one that this version knows, or a buffer is too small.
     */
    AIRBOUND_SIZE = -3,
    /*
     The receiver has not joined.
     */
    AIRBOUND_UNKNOWN = -4,
    /*
     As many receivers have joined as were configured, or too many packets wait.
     */
    AIRBOUND_FULL = -5,
    /*
     A fault of the library, in this call or an earlier one with this object.
     */
    AIRBOUND_BROKEN = -6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum airbound_status airbound_status;
#else
typedef int32_t airbound_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 The part of the path that limits a rate.
 */
enum airbound_reason
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /*
     Nothing: frames hold fewer packets than the target, and the rate rises.
     */
    AIRBOUND_RISING = 0,
    /*
     The air: frames hold as many packets as they should.
     */
    AIRBOUND_AIR_FULL = 1,
    /*
     Frames hold more packets than they should: the rate falls until the queue has drained.
     */
    AIRBOUND_LEVEL_ABOVE_TARGET = 2,
    /*
     The receiver's radio leaves the channel at intervals (scans, a direct link). No rate helps.
     */
    AIRBOUND_RADIO_AWAY = 3,
    /*
     The application sends less than it may.
     */
    AIRBOUND_APPLICATION = 4,
    /*
     No feedback: before the first, or for longer than three intervals.
     */
    AIRBOUND_NO_FEEDBACK = 5,
    /*
     The network in front of the access point is the bottleneck.
     */
    AIRBOUND_WIRE = 6,
    /*
     The access point sends each packet by itself though the air is full.
     */
    AIRBOUND_NOT_AGGREGATING = 7,
    /*
     The highest configured rate.
     */
    AIRBOUND_MOST = 8,
    /*
     The latency that was asked for.
     */
    AIRBOUND_LATENCY = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum airbound_reason airbound_reason;
#else
typedef int32_t airbound_reason;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 Precision of receive stamps.
 */
enum airbound_stamps
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /*
     Of a kernel (SO_TIMESTAMPNS), or taken by a thread that does nothing but receive.
     */
    AIRBOUND_STAMPS_KERNEL = 0,
    /*
     Of a card or monitor interface: equal for all packets of a frame.
     */
    AIRBOUND_STAMPS_CARD = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum airbound_stamps airbound_stamps;
#else
typedef int32_t airbound_stamps;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 The receiving end. Made by airbound_receiver_new(), released by airbound_receiver_free().
 */
typedef struct airbound_receiver airbound_receiver;

/*
 The sending end. Made by airbound_sender_new(), released by airbound_sender_free().
 */
typedef struct airbound_sender airbound_sender;

/*
 Parameters of a receiver. airbound_receiver_defaults() fills it.
 */
typedef struct {
    /*
     sizeof of this struct.
     */
    uint32_t size;
    /*
     The number under which it joins the sender: 0 to 65535; 0.
     */
    uint32_t receiver;
    /*
     Interval of feedback in ns, the same at both ends: 20 ms to 200 ms; 100 ms.
     */
    uint64_t interval_ns;
    /*
     Precision of the receive stamps (airbound_stamps): AIRBOUND_STAMPS_KERNEL.
     */
    int32_t stamps;
    /*
     Zero.
     */
    uint32_t reserved;
    /*
     Key of its feedback, as given to airbound_sender_join(); zeros protect from accidents only.
     */
    uint8_t key[16];
} airbound_receiver_config;

/*
 Packets that arrived: one, or several that the kernel handed over as one (GRO). Its layout is fixed.
 */
typedef struct {
    /*
     The receive stamp in ns, on the clock of stamps.
     */
    uint64_t stamp_ns;
    /*
     Sequence number of the first packet: ascending by one from packet to packet, error correction and repetitions included.
     */
    uint64_t sequence;
    /*
     Payload of all of them in bytes: 1 to 65535 a packet.
     */
    uint32_t bytes;
    /*
     Number of packets: 1 to 1024.
     */
    uint16_t packets;
    /*
     0, or AIRBOUND_COMPANION.
     */
    uint16_t flags;
} airbound_arrival;

/*
 Parameters of a sender. airbound_sender_defaults() fills it.
 */
typedef struct {
    /*
     sizeof of this struct.
     */
    uint32_t size;
    /*
     Upper limit on receivers that share the air behind one access point: 1 to 256; 1.
     */
    uint32_t receivers;
    /*
     Rate before the first feedback in bit/s of payload: least_bps to most_bps; 5 Mbit/s.
     */
    uint64_t start_bps;
    /*
     Lowest rate in bit/s, that of a silent receiver: 20 kbit/s to 1 Gbit/s; 1 Mbit/s.
     */
    uint64_t least_bps;
    /*
     Highest rate in bit/s that the application can use: least_bps to 100 Gbit/s; 1 Gbit/s.
     */
    uint64_t most_bps;
    /*
     Interval of feedback in ns, the same at both ends: 20 ms to 200 ms; 100 ms.
     */
    uint64_t interval_ns;
    /*
     Time between two frames in ns until it is learnt from them: 1 ms to 1 s; 1/60 s.
     */
    uint64_t frame_interval_ns;
    /*
     Number of packets in a frame of the air to hold: 1 to 256; 32.
     */
    double target;
    /*
     Share of a frame's interval over which its packets are sent: 0.1 to 1; 0.8.
     */
    double spread;
    /*
     Share of the rate for the encoder; the rest is for error correction, headers and overshoot: 0.1 to 1; 0.9.
     */
    double encoder_share;
    /*
     Usual payload of a packet in bytes: 12 to 1472; 1200.
     */
    uint32_t packet_bytes;
    /*
     Zero.
     */
    uint32_t reserved;
    /*
     Latency to keep in ns, from a frame to the arrival of its packets beyond the least delay of the path: 0 for none, 1 ms to 1 s; 0.
     The target is lowered where more than one message in twenty tells of a later packet. Sequence numbers have to count from 0 since
     airbound_sender_join().
     */
    uint64_t latency_ns;
} airbound_sender_config;

/*
 Rates and reason for one receiver.
 */
typedef struct {
    /*
     sizeof of this struct, set by the caller.
     */
    uint32_t size;
    /*
     The part of the path that limits the rate (airbound_reason).
     */
    int32_t reason;
    /*
     Rate for the encoder in bit/s.
     */
    uint64_t encoder_bps;
    /*
     Rate of all payload in bit/s, error correction and headers of the application included.
     */
    uint64_t rate_bps;
    /*
     Packets of a frame leave no faster than this, in bit/s.
     */
    uint64_t pacing_bps;
    /*
     Time between two packets of the usual size at that pace, in ns.
     */
    uint64_t pacing_interval_ns;
    /*
     Largest frame in bytes that is sent within its interval.
     */
    uint64_t largest_frame_bytes;
    /*
     Time at which to poll again if nothing happens before, in ns.
     */
    uint64_t next_ns;
    /*
     Period of the radio's absences in ns; 0 if there are none.
     */
    uint64_t absence_period_ns;
    /*
     Their mean length in ns; 0 if there are none.
     */
    uint64_t absence_ns;
    /*
     Packets in a frame of the air, of the last feedback with frames; -1 before.
     */
    double level;
    /*
     Share of packets lost in a queue or on the wire, of the last feedback; -1 before.
     */
    double loss;
    /*
     Feedback taken.
     */
    uint32_t reports;
    /*
     Feedback refused that named this receiver.
     */
    uint32_t refused;
    /*
     Packets in a frame of the air that are held now: target, or less for a low PHY rate or for latency_ns.
     */
    double target;
} airbound_decision;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Fills a configuration of `size` bytes (sizeof of the struct) with the defaults.

 AIRBOUND_NULL, AIRBOUND_SIZE. Any thread.
 */
airbound_status airbound_receiver_defaults(airbound_receiver_config *config, uint32_t size);

/*
 Makes a receiver that has received nothing and writes it to `made`. Allocates all of its memory.

 AIRBOUND_NULL, AIRBOUND_SIZE; AIRBOUND_RANGE for a value of the configuration. `made` is not written then.
 */
airbound_status airbound_receiver_new(const airbound_receiver_config *config, airbound_receiver **made);

/*
 Releases a receiver. NULL has no effect. No other call with it may follow.
 */
void airbound_receiver_free(airbound_receiver *receiver);

/*
 Hands in a batch of `count` arrivals (up to 1048576) in the order of their stamps. `now_ns` is the time of the call; `stamp_now_ns` is
 the same moment on the clock of stamps (CLOCK_REALTIME for SO_TIMESTAMPNS), or 0 if stamps are on the clock of `now_ns`.

 AIRBOUND_NULL; AIRBOUND_RANGE for a value of any arrival: then none is taken.
 */
airbound_status airbound_receiver_arrived(airbound_receiver *receiver,
                                          uint64_t now_ns,
                                          uint64_t stamp_now_ns,
                                          const airbound_arrival *arrivals,
                                          size_t count);

/*
 Sets the PHY rate in bit/s at which packets arrive from now on: 1 Mbit/s to 100 Gbit/s, or 0 if it is not known. Sources: rx bitrate of
 nl80211, WifiInfo.getRxLinkSpeedMbps(), ulRxRate of WLAN_ASSOCIATION_ATTRIBUTES; about once each interval of feedback.

 AIRBOUND_NULL, AIRBOUND_RANGE.
 */
airbound_status airbound_receiver_phy_rate(airbound_receiver *receiver,
                                           uint64_t bps);

/*
 Writes feedback to `feedback`, of `room` bytes (at least AIRBOUND_FEEDBACK_MAX), and its length to `length`, if it is due: the caller
 sends it to the sender once, on whatever channel there is. Writes to `next_ns` when to poll again; UINT64_MAX before the first arrival.

 AIRBOUND_NULL, AIRBOUND_SIZE; AIRBOUND_NOTHING if no feedback is due: `length` is 0 then.
 */
airbound_status airbound_receiver_poll(airbound_receiver *receiver,
                                       uint64_t now_ns,
                                       uint8_t *feedback,
                                       size_t room,
                                       size_t *length,
                                       uint64_t *next_ns);

/*
 Fills a configuration of `size` bytes (sizeof of the struct) with the defaults.

 AIRBOUND_NULL, AIRBOUND_SIZE. Any thread.
 */
airbound_status airbound_sender_defaults(airbound_sender_config *config, uint32_t size);

/*
 Makes a sender without receivers and writes it to `made`. Allocates all of its memory.

 AIRBOUND_NULL, AIRBOUND_SIZE; AIRBOUND_RANGE for a value of the configuration. `made` is not written then.
 */
airbound_status airbound_sender_new(const airbound_sender_config *config, airbound_sender **made);

/*
 Releases a sender. NULL has no effect. No other call with it may follow.
 */
void airbound_sender_free(airbound_sender *sender);

/*
 Adds a receiver, a number of 0 to 65535, with the 16 bytes of the key of its feedback. A known receiver begins anew: also to be called
 when the receiver was restarted. It joins the allocation: all receivers of a sender share the air fairly.

 AIRBOUND_NULL, AIRBOUND_RANGE, AIRBOUND_FULL.
 */
airbound_status airbound_sender_join(airbound_sender *sender,
                                     uint64_t now_ns,
                                     uint32_t receiver,
                                     const uint8_t *key);

/*
 Removes a receiver; the others share its rate.

 AIRBOUND_NULL, AIRBOUND_RANGE, AIRBOUND_UNKNOWN.
 */
airbound_status airbound_sender_leave(airbound_sender *sender, uint64_t now_ns, uint32_t receiver);

/*
 Hands in a frame of `bytes` (1 to 64 MiB) in `packets` (1 to 65536) that is to be sent by `deadline_ns`; 0: within the usual interval of
 frames. airbound_sender_allowed() spreads its packets.

 AIRBOUND_NULL, AIRBOUND_RANGE, AIRBOUND_UNKNOWN; AIRBOUND_FULL if more than 65536 packets would wait. The frame is not taken then.
 */
airbound_status airbound_sender_frame(airbound_sender *sender,
                                      uint64_t now_ns,
                                      uint32_t receiver,
                                      uint64_t bytes,
                                      uint32_t packets,
                                      uint64_t deadline_ns);

/*
 Writes to `packets` how many packets may be sent now, and to `next_ns` when the next one may: the caller waits, or hands that time to
 SO_TXTIME. UINT64_MAX: nothing waits after these.

 AIRBOUND_NULL, AIRBOUND_RANGE, AIRBOUND_UNKNOWN; AIRBOUND_NOTHING if no packet may be sent now.
 */
airbound_status airbound_sender_allowed(airbound_sender *sender,
                                        uint64_t now_ns,
                                        uint32_t receiver,
                                        uint32_t *packets,
                                        uint64_t *next_ns);

/*
 Notes `packets` (1 to 65536) of `bytes` of payload in all (1 to 64 MiB) that were handed to the network: each that has a sequence
 number, error correction and repetitions included. Feedback of packets that were not noted is refused.

 AIRBOUND_NULL, AIRBOUND_RANGE, AIRBOUND_UNKNOWN. Nothing is noted then.
 */
airbound_status airbound_sender_sent(airbound_sender *sender,
                                     uint64_t now_ns,
                                     uint32_t receiver,
                                     uint32_t packets,
                                     uint64_t bytes);

/*
 Hands in the feedback of a receiver, as it came from the network: `length` bytes, from anybody. It names its receiver by itself.

 AIRBOUND_NULL; AIRBOUND_REFUSED for feedback that is not believed.
 */
airbound_status airbound_sender_report(airbound_sender *sender,
                                       uint64_t now_ns,
                                       const uint8_t *feedback,
                                       size_t length);

/*
 Decides if it is due, and writes rates and reason for a receiver to `decision`, of which the caller has set `size`. To be called for
 each receiver at `next_ns`, and after feedback.

 AIRBOUND_NULL, AIRBOUND_SIZE, AIRBOUND_RANGE, AIRBOUND_UNKNOWN.
 */
airbound_status airbound_sender_poll(airbound_sender *sender,
                                     uint64_t now_ns,
                                     uint32_t receiver,
                                     airbound_decision *decision);

/*
 The version of the interface of the loaded library: AIRBOUND_ABI of the header it was built with. Any thread, no errors.
 */
uint32_t airbound_abi(void);

/*
 A sentence in English about the last call of this thread that returned neither AIRBOUND_OK nor AIRBOUND_NOTHING; empty before. Valid
 until the thread's next call of this library; never NULL.
 */
const char *airbound_last_message(void);

/*
 A sentence in English that names a reason (airbound_reason) for users. Static, never NULL, also for unknown numbers. Any thread.
 */
const char *airbound_reason_text(int32_t reason);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* AIRBOUND_H */

#ifndef AIRBOUND_LINK_H
#define AIRBOUND_LINK_H

#include <stddef.h>
#include <stdint.h>

/* A simulated Wi-Fi network as a link for the packets of a test: docs/use/link.md.
 *
 *  - No I/O, no threads, no clock. Times are the caller's, in ns since the start, and never decrease. The same calls and seed give the
 *    same packets on every machine.
 *  - One object is used by one thread at a time; different objects are independent.
 *  - A negative result: nothing has happened, and airbound_link_last_message() says what is wrong and what is allowed. A fault of the
 *    library returns AIRBOUND_LINK_BROKEN, and so do all later calls with that object but airbound_link_free().
 */


/*
 The largest packet in bytes: the payload of a UDP datagram.
 */
#define AIRBOUND_LINK_LARGEST 1472

/*
 Result of a call.
 */
enum airbound_link_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /*
     Done.
     */
    AIRBOUND_LINK_OK = 0,
    /*
     No packet has arrived, or no more is on its way.
     */
    AIRBOUND_LINK_NOTHING = 1,
    /*
     A pointer is NULL or not aligned, or a text is not UTF-8.
     */
    AIRBOUND_LINK_NULL = -1,
    /*
     Unknown place, scheme or direction, or a wrong demand.
     */
    AIRBOUND_LINK_UNKNOWN = -2,
    /*
     Time runs backwards, or is after the end of the link.
     */
    AIRBOUND_LINK_TIME = -3,
    /*
     A packet is larger than AIRBOUND_LINK_LARGEST.
     */
    AIRBOUND_LINK_SIZE = -4,
    /*
     A fault of the library, in this call or an earlier one with this object.
     */
    AIRBOUND_LINK_BROKEN = -5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum airbound_link_status airbound_link_status;
#else
typedef int32_t airbound_link_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 Direction of a packet.
 */
enum airbound_link_direction
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /*
     From the server to the station.
     */
    AIRBOUND_LINK_DOWN = 0,
    /*
     From the station to the server.
     */
    AIRBOUND_LINK_UP = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum airbound_link_direction airbound_link_direction;
#else
typedef int32_t airbound_link_direction;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 A link. Made by airbound_link_new(), released by airbound_link_free().
 */
typedef struct airbound_link airbound_link;

/*
 A packet that has arrived.
 */
typedef struct {
    /*
     The time at which it was pushed, ns.
     */
    uint64_t sent_ns;
    /*
     The time at which it arrived, ns.
     */
    uint64_t at_ns;
    /*
     Its length in bytes.
     */
    uint32_t length;
    /*
     Its direction (airbound_link_direction).
     */
    int32_t direction;
} airbound_link_arrival;

/*
 Packets of one direction so far. Those neither arrived nor lost are in the network.
 */
typedef struct {
    /*
     Pushed.
     */
    uint64_t pushed;
    /*
     Arrived, taken or not.
     */
    uint64_t arrived;
    /*
     Dropped by a queue, given up after the last retry, or lost on the wire.
     */
    uint64_t lost;
} airbound_link_counts;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Name of a place by its number from 0; NULL after the last. Static.
 */
const char *airbound_link_place(size_t number);

/*
 A sentence in English about the last call of this thread that failed; empty before. Valid until the thread's next call of this
 library; never NULL.
 */
const char *airbound_link_last_message(void);

/*
 Makes a link in a place and writes it to `made`. `scheme` is that of the access point by name, NULL for that of the place;
 `demand_ns` the latency in which packets to the station are to arrive, 0 for none.

 AIRBOUND_LINK_NULL, AIRBOUND_LINK_UNKNOWN. `made` is not written then.
 */
airbound_link_status airbound_link_new(const char *place,
                                       const char *scheme,
                                       uint64_t demand_ns,
                                       uint64_t seed,
                                       airbound_link **made);

/*
 Releases a link. NULL has no effect.
 */
void airbound_link_free(airbound_link *link);

/*
 Sends a packet of `length` bytes at `now_ns`, in a direction (airbound_link_direction).

 AIRBOUND_LINK_NULL, AIRBOUND_LINK_UNKNOWN, AIRBOUND_LINK_TIME, AIRBOUND_LINK_SIZE.
 */
airbound_link_status airbound_link_push(airbound_link *link,
                                        uint64_t now_ns,
                                        int32_t direction,
                                        const uint8_t *bytes,
                                        size_t length);

/*
 Writes to `next_ns` the next time at which airbound_link_take() may return a packet.

 AIRBOUND_LINK_NULL; AIRBOUND_LINK_NOTHING while none is on its way: UINT64_MAX is written then.
 */
airbound_link_status airbound_link_next(airbound_link *link, uint64_t *next_ns);

/*
 Advances to `now_ns` and writes the first packet that has arrived and was not taken to `bytes`, which has AIRBOUND_LINK_LARGEST, and
 to `arrival`. Called until there is nothing.

 AIRBOUND_LINK_NULL, AIRBOUND_LINK_TIME; AIRBOUND_LINK_NOTHING if no packet is left.
 */
airbound_link_status airbound_link_take(airbound_link *link,
                                        uint64_t now_ns,
                                        uint8_t *bytes,
                                        airbound_link_arrival *arrival);

/*
 Writes the packets of a direction (airbound_link_direction) so far to `counts`.

 AIRBOUND_LINK_NULL, AIRBOUND_LINK_UNKNOWN.
 */
airbound_link_status airbound_link_count(airbound_link *link,
                                         int32_t direction,
                                         airbound_link_counts *counts);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* AIRBOUND_LINK_H */

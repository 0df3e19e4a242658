//! Nothing allocates memory after construction. A program of its own, since its allocator counts.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

use airbound::*;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const OK: airbound_status = airbound_status::AIRBOUND_OK;
const RECEIVERS: u32 = 64;

#[test]
fn no_call_but_construction_and_release_allocates() {
    // SAFETY: all pointers are those of places on the stack, and the handles are released once.
    unsafe {
        let mut config: airbound_sender_config = std::mem::zeroed();
        assert_eq!(airbound_sender_defaults(&raw mut config, size_of_val(&config) as u32), OK);
        config.receivers = RECEIVERS;
        config.latency_ns = 20_000_000;
        let mut sender = null_mut();
        assert_eq!(airbound_sender_new(&raw const config, &raw mut sender), OK);
        let mut receivers = [null_mut(); RECEIVERS as usize];
        for (id, receiver) in (0..).zip(&mut receivers) {
            let mut config: airbound_receiver_config = std::mem::zeroed();
            assert_eq!(airbound_receiver_defaults(&raw mut config, size_of_val(&config) as u32), OK);
            config.receiver = id;
            assert_eq!(airbound_receiver_new(&raw const config, receiver), OK);
        }
        let before = ALLOCATIONS.with(Cell::get);
        assert!(before > 0, "construction allocates");
        let mut sequence = 0;
        for round in 0..2000_u64 {
            let now = 1_000_000_000 + round * 1_000_000;
            for (id, receiver) in (0..).zip(receivers) {
                // All leave and come back now and then.
                if round % 700 == 0 {
                    airbound_sender_leave(sender, now, id);
                    assert_eq!(airbound_sender_join(sender, now, id, [0; 16].as_ptr()), OK);
                }
                let _ = airbound_sender_frame(sender, now, id, 12_000, 10, 0);
                let (mut packets, mut next, mut length, mut room) = (0, 0, 0, [0; AIRBOUND_FEEDBACK_MAX]);
                airbound_sender_allowed(sender, now, id, &raw mut packets, &raw mut next);
                airbound_sender_sent(sender, now, id, 10, 12_000);
                // Holes, other rates, companions, disorder and a jump.
                airbound_receiver_phy_rate(receiver, (100 + round % 300) * 1_000_000);
                sequence += if round == 1500 { 60_000 } else { 11 };
                let arrival = |place: u64| airbound_arrival {
                    stamp_ns: now + place * 1000,
                    sequence: sequence + 10 - place,
                    bytes: 1200,
                    packets: 1,
                    flags: u16::from(place == 3),
                };
                let batch: [airbound_arrival; 10] = std::array::from_fn(|place| arrival(place as u64));
                assert_eq!(airbound_receiver_arrived(receiver, now, 0, batch.as_ptr(), 10), OK);
                let polled = airbound_receiver_poll(
                    receiver,
                    now,
                    room.as_mut_ptr(),
                    room.len(),
                    &raw mut length,
                    &raw mut next,
                );
                if polled == OK && round % 900 < 600 {
                    airbound_sender_report(sender, now, room.as_ptr(), length);
                }
                airbound_sender_report(sender, now, room.as_ptr(), 3);
                let mut decision: airbound_decision = std::mem::zeroed();
                decision.size = size_of_val(&decision) as u32;
                assert_eq!(airbound_sender_poll(sender, now, id, &raw mut decision), OK);
            }
        }
        let after = ALLOCATIONS.with(Cell::get);
        let mut decision: airbound_decision = std::mem::zeroed();
        decision.size = size_of_val(&decision) as u32;
        airbound_sender_poll(sender, 3_000_000_000, 0, &raw mut decision);
        assert!(decision.reports > 0 && decision.rate_bps > 0, "{decision:?}");
        receivers.into_iter().for_each(|receiver| airbound_receiver_free(receiver));
        airbound_sender_free(sender);
        assert_eq!(after, before, "calls allocated or released memory");
    }
}

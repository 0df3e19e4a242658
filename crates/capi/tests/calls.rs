//! Any calls in any order with any arguments: each has a status, and rates stay within their limits.
#![allow(unsafe_code)]

use std::ptr::{null, null_mut};

use airbound::*;
use bolero::TypeGenerator;

const LEAST: u64 = 1_000_000;
const MOST: u64 = 1_000_000_000;

#[derive(Debug, Clone, TypeGenerator)]
enum Op {
    Wait(u32),
    Back(u32),
    At(u64),
    Join(u32),
    Leave(u32),
    Frame(u32, u64, u32, u64),
    /// A usual frame.
    Video(u16),
    Allowed(u32),
    Sent(u32, u32, u64),
    Report(Vec<u8>),
    Poll(u32),
    Arrived {
        stamp_now: u64,
        batch: Vec<(u64, u64, u32, u16, u16)>,
    },
    /// A usual frame of the air.
    Ampdu(u8),
    PhyRate(u64),
    /// Feedback from receiver to sender, unless it is lost.
    Feedback(bool),
    Null(u8),
    Restart(u64, u64, f64),
}

struct Ends {
    sender: *mut airbound_sender,
    receiver: *mut airbound_receiver,
    now: u64,
    sequence: u64,
}

fn known(status: airbound_status) -> airbound_status {
    let number = status as i32;
    assert!((-5..=2).contains(&number), "{status:?}");
    status
}

impl Ends {
    fn new() -> Self {
        let mut ends = Self { sender: null_mut(), receiver: null_mut(), now: 0, sequence: 0 };
        // SAFETY: places on the stack.
        unsafe {
            let mut config: airbound_sender_config = std::mem::zeroed();
            airbound_sender_defaults(&raw mut config, size_of_val(&config) as u32);
            config.receivers = 3;
            config.latency_ns = 20_000_000;
            assert_eq!(
                airbound_sender_new(&raw const config, &raw mut ends.sender),
                airbound_status::AIRBOUND_OK
            );
            let mut config: airbound_receiver_config = std::mem::zeroed();
            airbound_receiver_defaults(&raw mut config, size_of_val(&config) as u32);
            let made = airbound_receiver_new(&raw const config, &raw mut ends.receiver);
            assert_eq!(made, airbound_status::AIRBOUND_OK);
            airbound_sender_join(ends.sender, 0, 0, [0; 16].as_ptr());
        }
        ends
    }

    fn decide(&self, id: u32) {
        // SAFETY: a place on the stack, and a handle that is not released.
        unsafe {
            let mut decision: airbound_decision = std::mem::zeroed();
            decision.size = size_of_val(&decision) as u32;
            if known(airbound_sender_poll(self.sender, self.now, id, &raw mut decision))
                == airbound_status::AIRBOUND_OK
            {
                assert!((LEAST..=MOST).contains(&decision.rate_bps), "{decision:?}");
                assert!(
                    decision.encoder_bps <= decision.rate_bps && decision.rate_bps <= decision.pacing_bps
                );
                assert!((0..=9).contains(&decision.reason), "{decision:?}");
                assert!((2.0..=32.0).contains(&decision.target), "{decision:?}");
                assert!(decision.level >= -1.0 && (-1.0..=1.0).contains(&decision.loss), "{decision:?}");
            }
        }
    }

    fn apply(&mut self, op: &Op) {
        let (sender, receiver) = (self.sender, self.receiver);
        // SAFETY: handles that are not released, places on the stack, and slices with their lengths.
        unsafe {
            match op {
                Op::Wait(micros) => self.now = self.now.saturating_add(u64::from(*micros) * 1000),
                Op::Back(micros) => self.now = self.now.saturating_sub(u64::from(*micros) * 1000),
                Op::At(now) => self.now = *now,
                Op::Join(id) => drop(known(airbound_sender_join(sender, self.now, id % 5, [0; 16].as_ptr()))),
                Op::Leave(id) => drop(known(airbound_sender_leave(sender, self.now, id % 5))),
                Op::Frame(id, bytes, packets, deadline) => {
                    known(airbound_sender_frame(sender, self.now, *id, *bytes, *packets, *deadline));
                }
                Op::Video(packets) => {
                    let packets = u32::from(*packets % 500) + 1;
                    known(airbound_sender_frame(sender, self.now, 0, u64::from(packets) * 1200, packets, 0));
                    known(airbound_sender_sent(sender, self.now, 0, packets, u64::from(packets) * 1200));
                }
                Op::Allowed(id) => {
                    let (mut packets, mut next) = (0, 0);
                    known(airbound_sender_allowed(sender, self.now, id % 5, &raw mut packets, &raw mut next));
                    assert!(packets <= 32, "{packets}");
                }
                Op::Sent(id, packets, bytes) => {
                    known(airbound_sender_sent(sender, self.now, *id, *packets, *bytes));
                }
                Op::Report(bytes) => {
                    known(airbound_sender_report(sender, self.now, bytes.as_ptr(), bytes.len()));
                }
                Op::Poll(id) => self.decide(*id),
                Op::Arrived { stamp_now, batch } => {
                    let batch: Vec<airbound_arrival> = batch
                        .iter()
                        .map(|(stamp_ns, sequence, bytes, packets, flags)| airbound_arrival {
                            stamp_ns: *stamp_ns,
                            sequence: *sequence,
                            bytes: *bytes % 3000,
                            packets: *packets % 1030,
                            flags: *flags % 3,
                        })
                        .collect();
                    known(airbound_receiver_arrived(
                        receiver,
                        self.now,
                        *stamp_now,
                        batch.as_ptr(),
                        batch.len(),
                    ));
                }
                Op::Ampdu(packets) => {
                    let batch: Vec<airbound_arrival> = (0..u64::from(*packets))
                        .map(|place| airbound_arrival {
                            stamp_ns: self.now,
                            sequence: self.sequence + place,
                            bytes: 1200,
                            packets: 1,
                            flags: 0,
                        })
                        .collect();
                    self.sequence += batch.len() as u64;
                    known(airbound_receiver_arrived(receiver, self.now, 0, batch.as_ptr(), batch.len()));
                }
                Op::PhyRate(bps) => drop(known(airbound_receiver_phy_rate(receiver, *bps))),
                Op::Feedback(carried) => {
                    let (mut room, mut length, mut next) = ([0; AIRBOUND_FEEDBACK_MAX], 0, 0);
                    let polled = airbound_receiver_poll(
                        receiver,
                        self.now,
                        room.as_mut_ptr(),
                        room.len(),
                        &raw mut length,
                        &raw mut next,
                    );
                    if known(polled) == airbound_status::AIRBOUND_OK && *carried {
                        known(airbound_sender_report(sender, self.now, room.as_ptr(), length));
                    }
                }
                Op::Null(which) => {
                    let status = match which % 6 {
                        0 => airbound_sender_poll(sender, self.now, 0, null_mut()),
                        1 => airbound_sender_report(sender, self.now, null(), 58),
                        2 => airbound_receiver_arrived(receiver, self.now, 0, null(), 1),
                        3 => airbound_sender_join(sender, self.now, 0, null()),
                        4 => airbound_sender_frame(null_mut(), self.now, 0, 1200, 1, 0),
                        _ => airbound_receiver_phy_rate(null_mut(), 0),
                    };
                    assert_eq!(status, airbound_status::AIRBOUND_NULL);
                }
                Op::Restart(size, bps, share) => {
                    let mut config: airbound_sender_config = std::mem::zeroed();
                    airbound_sender_defaults(&raw mut config, size_of_val(&config) as u32);
                    // No more than there is.
                    config.size = (*size % (size_of_val(&config) as u64 + 1)) as u32;
                    (config.start_bps, config.spread) = (*bps, *share);
                    let mut made = null_mut();
                    if known(airbound_sender_new(&raw const config, &raw mut made))
                        == airbound_status::AIRBOUND_OK
                    {
                        airbound_sender_free(made);
                    } else {
                        assert!(made.is_null());
                    }
                }
            }
        }
        self.decide(0);
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        // SAFETY: made in `new`, released here only.
        unsafe {
            airbound_sender_free(self.sender);
            airbound_receiver_free(self.receiver);
        }
    }
}

#[test]
fn any_calls_have_a_status_and_leave_rates_within_limits() {
    airbound_corpus::check!(Vec<Op>, |ops| {
        let mut ends = Ends::new();
        ops.iter().for_each(|op| ends.apply(op));
    });
}

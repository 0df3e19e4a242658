//! Functions of the receiving end.

#![allow(unsafe_code)]
#![expect(clippy::missing_safety_doc, reason = "the contract of all functions stands in the header")]

use airbound_senders::allocation::{ReceiverId, Stamps};
use airbound_senders::stream::{Arrival, FEEDBACK_LENGTH, ReceiverConfig, StreamReceiver};
use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::handle::{Object, airbound_receiver, broken, guarded};
use crate::status::airbound_status::{self, *};
use crate::status::{airbound_stamps, failed, tell};
use crate::structs::{
    AIRBOUND_COMPANION, AIRBOUND_FEEDBACK_MAX, airbound_arrival, airbound_receiver_config, read, usable,
    write,
};

const _: () = assert!(FEEDBACK_LENGTH <= AIRBOUND_FEEDBACK_MAX);

/// Upper limit on the arrivals of a batch.
const MOST_ARRIVALS: usize = 1 << 20;

/// Fills a configuration of `size` bytes (sizeof of the struct) with the defaults.
///
/// AIRBOUND_NULL, AIRBOUND_SIZE. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_receiver_defaults(
    config: *mut airbound_receiver_config,
    size: u32,
) -> airbound_status {
    // SAFETY: the caller has `size` bytes at `config`.
    unsafe { write(config, size, defaults()) }.err().unwrap_or(AIRBOUND_OK)
}

/// Makes a receiver that has received nothing and writes it to `made`. Allocates all of its memory.
///
/// AIRBOUND_NULL, AIRBOUND_SIZE; AIRBOUND_RANGE for a value of the configuration. `made` is not written then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_receiver_new(
    config: *const airbound_receiver_config,
    made: *mut *mut airbound_receiver,
) -> airbound_status {
    let make = || {
        usable(made.cast_const())?;
        // SAFETY: the caller has a struct of the size that it says.
        let config = unsafe { read(config, defaults()) }?;
        let receiver = StreamReceiver::new(parameters(&config)?).map_err(failed)?;
        let receiver = Box::new(airbound_receiver(Object::new(receiver)));
        // SAFETY: the caller has a writable pointer.
        unsafe { made.write(Box::into_raw(receiver)) };
        Ok(())
    };
    guarded(|| make().err().unwrap_or(AIRBOUND_OK)).unwrap_or_else(broken)
}

/// Releases a receiver. NULL has no effect. No other call with it may follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_receiver_free(receiver: *mut airbound_receiver) {
    if usable(receiver.cast_const()).is_ok() {
        // SAFETY: made by `Box::into_raw`, and not released before.
        let receiver = unsafe { Box::from_raw(receiver) };
        let _ = guarded(|| drop(receiver));
    }
}

/// Hands in a batch of `count` arrivals (up to 1048576) in the order of their stamps. `now_ns` is the time of the call; `stamp_now_ns` is
/// the same moment on the clock of stamps (CLOCK_REALTIME for SO_TIMESTAMPNS), or 0 if stamps are on the clock of `now_ns`.
///
/// AIRBOUND_NULL; AIRBOUND_RANGE for a value of any arrival: then none is taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_receiver_arrived(
    receiver: *mut airbound_receiver,
    now_ns: u64,
    stamp_now_ns: u64,
    arrivals: *const airbound_arrival,
    count: usize,
) -> airbound_status {
    if count == 0 {
        // SAFETY: the contract of the handle.
        return unsafe { with(receiver, |_| AIRBOUND_OK) };
    }
    if let Err(status) = usable(arrivals) {
        return status;
    }
    if count > MOST_ARRIVALS {
        return tell(AIRBOUND_RANGE, "count is out of range: 0 to 1048576");
    }
    // SAFETY: the caller has `count` arrivals.
    let batch = unsafe { std::slice::from_raw_parts(arrivals, count) };
    if batch.iter().any(|arrival| arrival.flags & !AIRBOUND_COMPANION != 0) {
        return tell(AIRBOUND_RANGE, "flags of an arrival is out of range: 0 or AIRBOUND_COMPANION");
    }
    let (now, stamp_now) =
        (Instant::from_nanos(now_ns), (stamp_now_ns != 0).then(|| Instant::from_nanos(stamp_now_ns)));
    // SAFETY: the contract of the handle.
    unsafe {
        with(receiver, |receiver| match receiver.arrived(now, stamp_now, batch.iter().map(arrival)) {
            Ok(()) => AIRBOUND_OK,
            Err(error) => failed(error),
        })
    }
}

/// Sets the PHY rate in bit/s at which packets arrive from now on: 1 Mbit/s to 100 Gbit/s, or 0 if it is not known. Sources: rx bitrate of
/// nl80211, WifiInfo.getRxLinkSpeedMbps(), ulRxRate of WLAN_ASSOCIATION_ATTRIBUTES; about once each interval of feedback.
///
/// AIRBOUND_NULL, AIRBOUND_RANGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_receiver_phy_rate(
    receiver: *mut airbound_receiver,
    bps: u64,
) -> airbound_status {
    let rate = (bps != 0).then(|| BitRate::from_bps(bps));
    // SAFETY: the contract of the handle.
    unsafe { with(receiver, |receiver| receiver.phy_rate(rate).err().map_or(AIRBOUND_OK, failed)) }
}

/// Writes feedback to `feedback`, of `room` bytes (at least AIRBOUND_FEEDBACK_MAX), and its length to `length`, if it is due: the caller
/// sends it to the sender once, on whatever channel there is. Writes to `next_ns` when to poll again; UINT64_MAX before the first arrival.
///
/// AIRBOUND_NULL, AIRBOUND_SIZE; AIRBOUND_NOTHING if no feedback is due: `length` is 0 then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_receiver_poll(
    receiver: *mut airbound_receiver,
    now_ns: u64,
    feedback: *mut u8,
    room: usize,
    length: *mut usize,
    next_ns: *mut u64,
) -> airbound_status {
    let pointers = usable(feedback.cast_const())
        .and_then(|()| usable(length.cast_const()))
        .and_then(|()| usable(next_ns.cast_const()));
    if let Err(status) = pointers {
        return status;
    }
    if room < AIRBOUND_FEEDBACK_MAX {
        return tell(AIRBOUND_SIZE, "room is out of range: at least AIRBOUND_FEEDBACK_MAX");
    }
    // SAFETY: the contract of the handle; the caller has `room` bytes and both places.
    unsafe {
        with(receiver, |receiver| {
            let made = receiver.poll(Instant::from_nanos(now_ns));
            next_ns.write(receiver.next_deadline().map_or(u64::MAX, Instant::as_nanos));
            length.write(made.map_or(0, |bytes| bytes.len()));
            made.map_or(AIRBOUND_NOTHING, |bytes| {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), feedback, bytes.len());
                AIRBOUND_OK
            })
        })
    }
}

fn arrival(given: &airbound_arrival) -> Arrival {
    Arrival {
        stamp: Instant::from_nanos(given.stamp_ns),
        sequence: given.sequence,
        packets: u32::from(given.packets),
        payload: ByteCount::new(u64::from(given.bytes)),
        companion: given.flags & AIRBOUND_COMPANION != 0,
    }
}

fn defaults() -> airbound_receiver_config {
    let usual = ReceiverConfig::default();
    airbound_receiver_config {
        size: 0,
        receiver: u32::from(usual.receiver.0),
        interval_ns: usual.interval.as_nanos(),
        stamps: airbound_stamps::AIRBOUND_STAMPS_KERNEL as i32,
        reserved: 0,
        key: usual.key,
    }
}

fn parameters(config: &airbound_receiver_config) -> Result<ReceiverConfig, airbound_status> {
    let stamps = match config.stamps {
        stamps if stamps == airbound_stamps::AIRBOUND_STAMPS_KERNEL as i32 => Stamps::Jittered,
        stamps if stamps == airbound_stamps::AIRBOUND_STAMPS_CARD as i32 => Stamps::Exact,
        _ => return Err(tell(AIRBOUND_RANGE, "stamps is out of range: a value of airbound_stamps")),
    };
    let Ok(receiver) = u16::try_from(config.receiver) else {
        return Err(tell(AIRBOUND_RANGE, "receiver is out of range: 0 to 65535"));
    };
    if config.reserved != 0 {
        return Err(tell(AIRBOUND_RANGE, "reserved is out of range: 0"));
    }
    let interval = Span::from_nanos(config.interval_ns);
    Ok(ReceiverConfig { receiver: ReceiverId(receiver), interval, stamps, key: config.key })
}

/// Calls `act` with the receiver.
///
/// # Safety
/// `receiver` is NULL, or was made by [`airbound_receiver_new`] and not released, and no other call uses it now.
unsafe fn with(
    receiver: *mut airbound_receiver,
    act: impl FnOnce(&mut StreamReceiver) -> airbound_status,
) -> airbound_status {
    if let Err(status) = usable(receiver.cast_const()) {
        return status;
    }
    // SAFETY: the caller's promise.
    unsafe { &mut *receiver }.0.call(act)
}

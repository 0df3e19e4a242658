//! Functions of the sending end.

#![allow(unsafe_code)]
#![expect(clippy::missing_safety_doc, reason = "the contract of all functions stands in the header")]

use airbound_senders::allocation::ReceiverId;
use airbound_senders::stream::{StreamConfig, StreamSender};
use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::handle::{Object, airbound_sender, broken, guarded};
use crate::status::airbound_status::{self, *};
use crate::status::{airbound_reason, failed, tell};
use crate::structs::{airbound_decision, airbound_sender_config, read, usable, write};

/// Fills a configuration of `size` bytes (sizeof of the struct) with the defaults.
///
/// AIRBOUND_NULL, AIRBOUND_SIZE. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_sender_defaults(
    config: *mut airbound_sender_config,
    size: u32,
) -> airbound_status {
    // SAFETY: the caller has `size` bytes at `config`.
    done(unsafe { write(config, size, defaults()) })
}

/// Makes a sender without receivers and writes it to `made`. Allocates all of its memory.
///
/// AIRBOUND_NULL, AIRBOUND_SIZE; AIRBOUND_RANGE for a value of the configuration. `made` is not written then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_sender_new(
    config: *const airbound_sender_config,
    made: *mut *mut airbound_sender,
) -> airbound_status {
    guarded(|| {
        done((|| {
            usable(made.cast_const())?;
            // SAFETY: the caller has a struct of the size that it says.
            let config = unsafe { read(config, defaults()) }?;
            let sender = StreamSender::new(parameters(&config)?).map_err(failed)?;
            let sender = Box::new(airbound_sender(Object::new(sender)));
            // SAFETY: the caller has a writable pointer.
            unsafe { made.write(Box::into_raw(sender)) };
            Ok(())
        })())
    })
    .unwrap_or_else(broken)
}

/// Releases a sender. NULL has no effect. No other call with it may follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_sender_free(sender: *mut airbound_sender) {
    if usable(sender.cast_const()).is_ok() {
        // SAFETY: made by `Box::into_raw`, and not released before.
        let sender = unsafe { Box::from_raw(sender) };
        let _ = guarded(|| drop(sender));
    }
}

/// Adds a receiver, a number of 0 to 65535, with the 16 bytes of the key of its feedback. A known receiver begins anew: also to be called
/// when the receiver was restarted. It joins the allocation: all receivers of a sender share the air fairly.
///
/// AIRBOUND_NULL, AIRBOUND_RANGE, AIRBOUND_FULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_sender_join(
    sender: *mut airbound_sender,
    now_ns: u64,
    receiver: u32,
    key: *const u8,
) -> airbound_status {
    if let Err(status) = usable(key) {
        return status;
    }
    // SAFETY: the caller has 16 bytes.
    let key = unsafe { key.cast::<[u8; 16]>().read() };
    // SAFETY: the contract of the handle.
    unsafe { call(sender, receiver, |sender, id| sender.join(at(now_ns), id, key)) }
}

/// Removes a receiver; the others share its rate.
///
/// AIRBOUND_NULL, AIRBOUND_RANGE, AIRBOUND_UNKNOWN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_sender_leave(
    sender: *mut airbound_sender,
    now_ns: u64,
    receiver: u32,
) -> airbound_status {
    // SAFETY: the contract of the handle.
    unsafe { call(sender, receiver, |sender, id| sender.leave(at(now_ns), id)) }
}

/// Hands in a frame of `bytes` (1 to 64 MiB) in `packets` (1 to 65536) that is to be sent by `deadline_ns`; 0: within the usual interval of
/// frames. airbound_sender_allowed() spreads its packets.
///
/// AIRBOUND_NULL, AIRBOUND_RANGE, AIRBOUND_UNKNOWN; AIRBOUND_FULL if more than 65536 packets would wait. The frame is not taken then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_sender_frame(
    sender: *mut airbound_sender,
    now_ns: u64,
    receiver: u32,
    bytes: u64,
    packets: u32,
    deadline_ns: u64,
) -> airbound_status {
    let deadline = (deadline_ns != 0).then(|| at(deadline_ns));
    // SAFETY: the contract of the handle.
    unsafe {
        call(sender, receiver, |sender, id| {
            sender.frame(id, at(now_ns), ByteCount::new(bytes), packets, deadline)
        })
    }
}

/// Writes to `packets` how many packets may be sent now, and to `next_ns` when the next one may: the caller waits, or hands that time to
/// SO_TXTIME. UINT64_MAX: nothing waits after these.
///
/// AIRBOUND_NULL, AIRBOUND_RANGE, AIRBOUND_UNKNOWN; AIRBOUND_NOTHING if no packet may be sent now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_sender_allowed(
    sender: *mut airbound_sender,
    now_ns: u64,
    receiver: u32,
    packets: *mut u32,
    next_ns: *mut u64,
) -> airbound_status {
    if let Err(status) = usable(packets.cast_const()).and_then(|()| usable(next_ns.cast_const())) {
        return status;
    }
    // SAFETY: the contract of the handle.
    unsafe {
        with(sender, receiver, |sender, id| match sender.allowed(id, at(now_ns)) {
            Ok(allowed) => {
                packets.write(allowed.packets);
                next_ns.write(allowed.next.map_or(u64::MAX, Instant::as_nanos));
                if allowed.packets > 0 { AIRBOUND_OK } else { AIRBOUND_NOTHING }
            }
            Err(error) => failed(error),
        })
    }
}

/// Notes `packets` (1 to 65536) of `bytes` of payload in all (1 to 64 MiB) that were handed to the network: each that has a sequence
/// number, error correction and repetitions included. Feedback of packets that were not noted is refused.
///
/// AIRBOUND_NULL, AIRBOUND_RANGE, AIRBOUND_UNKNOWN. Nothing is noted then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_sender_sent(
    sender: *mut airbound_sender,
    now_ns: u64,
    receiver: u32,
    packets: u32,
    bytes: u64,
) -> airbound_status {
    // SAFETY: the contract of the handle.
    unsafe {
        call(sender, receiver, |sender, id| sender.sent(id, at(now_ns), packets, ByteCount::new(bytes)))
    }
}

/// Hands in the feedback of a receiver, as it came from the network: `length` bytes, from anybody. It names its receiver by itself.
///
/// AIRBOUND_NULL; AIRBOUND_REFUSED for feedback that is not believed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_sender_report(
    sender: *mut airbound_sender,
    now_ns: u64,
    feedback: *const u8,
    length: usize,
) -> airbound_status {
    if let Err(status) = usable(feedback) {
        return status;
    }
    // Nothing behind the longest feedback is read, whatever the length.
    let length = length.min(crate::structs::AIRBOUND_FEEDBACK_MAX + 1);
    // SAFETY: the caller has `length` bytes.
    let bytes = unsafe { std::slice::from_raw_parts(feedback, length) };
    // SAFETY: the contract of the handle.
    unsafe {
        with(sender, 0, |sender, _| match sender.report(at(now_ns), bytes) {
            Ok(_) => AIRBOUND_OK,
            Err(error) => failed(error),
        })
    }
}

/// Decides if it is due, and writes rates and reason for a receiver to `decision`, of which the caller has set `size`. To be called for
/// each receiver at `next_ns`, and after feedback.
///
/// AIRBOUND_NULL, AIRBOUND_SIZE, AIRBOUND_RANGE, AIRBOUND_UNKNOWN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_sender_poll(
    sender: *mut airbound_sender,
    now_ns: u64,
    receiver: u32,
    decision: *mut airbound_decision,
) -> airbound_status {
    if let Err(status) = usable(decision.cast_const()) {
        return status;
    }
    // SAFETY: the caller has set the size.
    let size = unsafe { decision.cast::<u32>().read() };
    // SAFETY: the contract of the handle; the caller has `size` bytes.
    unsafe {
        with(sender, receiver, |sender, id| match sender.poll(id, at(now_ns)) {
            Ok(made) => done(write(decision, size, decided(&made))),
            Err(error) => failed(error),
        })
    }
}

fn decided(made: &airbound_senders::stream::Decision) -> airbound_decision {
    let absence =
        made.absence.map_or((0, 0), |absence| (absence.period.as_nanos(), absence.length.as_nanos()));
    airbound_decision {
        size: 0,
        reason: airbound_reason::from(made.reason) as i32,
        encoder_bps: made.encoder.as_bps(),
        rate_bps: made.rate.as_bps(),
        pacing_bps: made.pacing.as_bps(),
        pacing_interval_ns: made.pacing_interval.as_nanos(),
        largest_frame_bytes: made.largest_frame.as_u64(),
        next_ns: made.next.as_nanos(),
        absence_period_ns: absence.0,
        absence_ns: absence.1,
        level: made.level.unwrap_or(-1.0),
        loss: made.loss.unwrap_or(-1.0),
        reports: made.reports,
        refused: made.refused,
        target: made.target,
    }
}

fn defaults() -> airbound_sender_config {
    let usual = StreamConfig::default();
    airbound_sender_config {
        size: 0,
        receivers: u32::from(usual.receivers),
        start_bps: usual.start.as_bps(),
        least_bps: usual.least.as_bps(),
        most_bps: usual.most.as_bps(),
        interval_ns: usual.interval.as_nanos(),
        frame_interval_ns: usual.frame_interval.as_nanos(),
        target: usual.target,
        spread: usual.spread,
        encoder_share: usual.encoder_share,
        packet_bytes: usual.packet.as_u64() as u32,
        reserved: 0,
        latency_ns: usual.latency.map_or(0, Span::as_nanos),
    }
}

fn parameters(config: &airbound_sender_config) -> Result<StreamConfig, airbound_status> {
    if config.reserved != 0 {
        return Err(tell(AIRBOUND_RANGE, "reserved is out of range: 0"));
    }
    Ok(StreamConfig {
        // Too many are refused as 65,535 are.
        receivers: u16::try_from(config.receivers).unwrap_or(u16::MAX),
        start: BitRate::from_bps(config.start_bps),
        least: BitRate::from_bps(config.least_bps),
        most: BitRate::from_bps(config.most_bps),
        interval: Span::from_nanos(config.interval_ns),
        frame_interval: Span::from_nanos(config.frame_interval_ns),
        target: config.target,
        latency: (config.latency_ns > 0).then(|| Span::from_nanos(config.latency_ns)),
        packet: ByteCount::new(u64::from(config.packet_bytes)),
        spread: config.spread,
        encoder_share: config.encoder_share,
        ..StreamConfig::default()
    })
}

const fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn done(result: Result<(), airbound_status>) -> airbound_status {
    result.err().unwrap_or(AIRBOUND_OK)
}

/// Calls `act` with the sender and the number of a receiver.
///
/// # Safety
/// `sender` is NULL, or was made by [`airbound_sender_new`] and not released, and no other call uses it now.
unsafe fn with(
    sender: *mut airbound_sender,
    receiver: u32,
    act: impl FnOnce(&mut StreamSender, ReceiverId) -> airbound_status,
) -> airbound_status {
    if let Err(status) = usable(sender.cast_const()) {
        return status;
    }
    let Ok(receiver) = u16::try_from(receiver) else {
        return tell(AIRBOUND_RANGE, "receiver is out of range: 0 to 65535");
    };
    // SAFETY: the caller's promise.
    let sender = unsafe { &mut *sender };
    sender.0.call(|sender| act(sender, ReceiverId(receiver)))
}

/// As [`with`], for calls without a result.
///
/// # Safety
/// As that of [`with`].
unsafe fn call(
    sender: *mut airbound_sender,
    receiver: u32,
    act: impl FnOnce(&mut StreamSender, ReceiverId) -> Result<(), airbound_senders::stream::StreamError>,
) -> airbound_status {
    // SAFETY: the caller's promise.
    unsafe { with(sender, receiver, |sender, id| act(sender, id).err().map_or(AIRBOUND_OK, failed)) }
}

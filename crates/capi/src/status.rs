//! Results of calls.

// Names for the linker; no pointer is followed here.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_char};

use airbound_senders::stream::{Reason, StreamError};

/// Version of this interface. A function or a field is added within a version; none is removed or changed.
pub const AIRBOUND_ABI: u32 = 1;

/// Result of a call. Zero or more: it had its effect, or none was due.
#[expect(non_camel_case_types, reason = "a name of C")]
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum airbound_status {
    /// Done.
    AIRBOUND_OK = 0,
    /// Nothing is due yet.
    AIRBOUND_NOTHING = 1,
    /// Feedback that is not believed: damaged, forged, replayed, of another receiver, or of packets that were not sent. It is counted, and
    /// has no other effect.
    AIRBOUND_REFUSED = 2,
    /// A pointer is NULL or not aligned.
    AIRBOUND_NULL = -1,
    /// A value is out of range.
    AIRBOUND_RANGE = -2,
    /// `size` of a struct is not one that this version knows, or a buffer is too small.
    AIRBOUND_SIZE = -3,
    /// The receiver has not joined.
    AIRBOUND_UNKNOWN = -4,
    /// As many receivers have joined as were configured, or too many packets wait.
    AIRBOUND_FULL = -5,
    /// A fault of the library, in this call or an earlier one with this object.
    AIRBOUND_BROKEN = -6,
}
use airbound_status::*;

/// The part of the path that limits a rate.
#[expect(non_camel_case_types, reason = "a name of C")]
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum airbound_reason {
    /// Nothing: frames hold fewer packets than the target, and the rate rises.
    AIRBOUND_RISING = 0,
    /// The air: frames hold as many packets as they should.
    AIRBOUND_AIR_FULL = 1,
    /// Frames hold more packets than they should: the rate falls until the queue has drained.
    AIRBOUND_LEVEL_ABOVE_TARGET = 2,
    /// The receiver's radio leaves the channel at intervals (scans, a direct link). No rate helps.
    AIRBOUND_RADIO_AWAY = 3,
    /// The application sends less than it may.
    AIRBOUND_APPLICATION = 4,
    /// No feedback: before the first, or for longer than three intervals.
    AIRBOUND_NO_FEEDBACK = 5,
    /// The network in front of the access point is the bottleneck.
    AIRBOUND_WIRE = 6,
    /// The access point sends each packet by itself though the air is full.
    AIRBOUND_NOT_AGGREGATING = 7,
    /// The highest configured rate.
    AIRBOUND_MOST = 8,
    /// The latency that was asked for.
    AIRBOUND_LATENCY = 9,
}

impl From<Reason> for airbound_reason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::AirFull => Self::AIRBOUND_AIR_FULL,
            Reason::LevelAboveTarget => Self::AIRBOUND_LEVEL_ABOVE_TARGET,
            Reason::RadioAway => Self::AIRBOUND_RADIO_AWAY,
            Reason::Application => Self::AIRBOUND_APPLICATION,
            Reason::NoFeedback => Self::AIRBOUND_NO_FEEDBACK,
            Reason::Wire => Self::AIRBOUND_WIRE,
            Reason::NotAggregating => Self::AIRBOUND_NOT_AGGREGATING,
            Reason::Most => Self::AIRBOUND_MOST,
            Reason::Latency => Self::AIRBOUND_LATENCY,
            // Reasons are added together with their numbers here.
            _ => Self::AIRBOUND_RISING,
        }
    }
}

/// Precision of receive stamps.
#[expect(non_camel_case_types, reason = "a name of C")]
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum airbound_stamps {
    /// Of a kernel (SO_TIMESTAMPNS), or taken by a thread that does nothing but receive.
    AIRBOUND_STAMPS_KERNEL = 0,
    /// Of a card or monitor interface: equal for all packets of a frame.
    AIRBOUND_STAMPS_CARD = 1,
}

/// Longest message; longer ones are cut.
const ROOM: usize = 160;

thread_local! {
    /// The message of this thread's last call, ending in a zero.
    static MESSAGE: Cell<[u8; ROOM]> = const { Cell::new([0; ROOM]) };
}

/// Keeps a message for [`airbound_last_message`].
pub(crate) fn tell(status: airbound_status, message: &str) -> airbound_status {
    MESSAGE.with(|kept| {
        let mut room = [0; ROOM];
        let length = message.len().min(ROOM - 1);
        room[..length].copy_from_slice(&message.as_bytes()[..length]);
        kept.set(room);
    });
    status
}

/// The status of an error of the streams.
pub(crate) fn failed(error: StreamError) -> airbound_status {
    match error {
        StreamError::Range(sentence) => tell(AIRBOUND_RANGE, sentence),
        StreamError::Full(sentence) => tell(AIRBOUND_FULL, sentence),
        StreamError::Unknown => tell(AIRBOUND_UNKNOWN, "the receiver has not joined this sender"),
        StreamError::Refused(refusal) => tell(AIRBOUND_REFUSED, refusal.text()),
        _ => tell(AIRBOUND_RANGE, "the call was refused"),
    }
}

/// The version of the interface of the loaded library: AIRBOUND_ABI of the header it was built with. Any thread, no errors.
#[unsafe(no_mangle)]
pub extern "C" fn airbound_abi() -> u32 {
    AIRBOUND_ABI
}

/// A sentence in English about the last call of this thread that returned neither AIRBOUND_OK nor AIRBOUND_NOTHING; empty before. Valid
/// until the thread's next call of this library; never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn airbound_last_message() -> *const c_char {
    MESSAGE.with(|kept| kept.as_ptr().cast_const().cast())
}

/// A sentence in English that names a reason (airbound_reason) for users. Static, never NULL, also for unknown numbers. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn airbound_reason_text(reason: i32) -> *const c_char {
    const TEXTS: [&CStr; 10] = [
        c"nothing limits the rate, it rises",
        c"the air is full: frames hold as many packets as they should",
        c"frames hold more packets than they should: a queue drains",
        c"the receiver's radio leaves the channel at intervals; no rate helps",
        c"the application sends less than it may",
        c"no feedback from the receiver",
        c"the network in front of the access point is the bottleneck",
        c"the access point does not aggregate; latency cannot be seen in frames",
        c"the highest configured rate is reached",
        c"packets would come too late at a higher rate",
    ];
    let text = usize::try_from(reason).ok().and_then(|reason| TEXTS.get(reason));
    text.map_or(c"unknown reason", |text| text).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_reasons() {
        for reason in Reason::ALL {
            // SAFETY: the texts are static strings of C.
            let text = unsafe { CStr::from_ptr(airbound_reason_text(airbound_reason::from(reason) as i32)) };
            assert_eq!(text.to_str(), Ok(reason.text()));
        }
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(airbound_reason_text(-1)) };
        assert_eq!(text.to_str(), Ok("unknown reason"));
    }
}

//! Structs of the interface. They may grow at their ends; `size` says how much of one the caller knows.

#![allow(unsafe_code)]

use std::mem::size_of;

use crate::status::airbound_status::{self, *};
use crate::status::tell;

/// Largest feedback in bytes, of this and later versions: the room that airbound_receiver_poll() needs.
pub const AIRBOUND_FEEDBACK_MAX: usize = 64;

/// Parameters of a sender. airbound_sender_defaults() fills it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct airbound_sender_config {
    /// sizeof of this struct.
    pub size: u32,
    /// Upper limit on receivers that share the air behind one access point: 1 to 256; 1.
    pub receivers: u32,
    /// Rate before the first feedback in bit/s of payload: least_bps to most_bps; 5 Mbit/s.
    pub start_bps: u64,
    /// Lowest rate in bit/s, that of a silent receiver: 20 kbit/s to 1 Gbit/s; 1 Mbit/s.
    pub least_bps: u64,
    /// Highest rate in bit/s that the application can use: least_bps to 100 Gbit/s; 1 Gbit/s.
    pub most_bps: u64,
    /// Interval of feedback in ns, the same at both ends: 20 ms to 200 ms; 100 ms.
    pub interval_ns: u64,
    /// Time between two frames in ns until it is learnt from them: 1 ms to 1 s; 1/60 s.
    pub frame_interval_ns: u64,
    /// Number of packets in a frame of the air to hold: 1 to 256; 32.
    pub target: f64,
    /// Share of a frame's interval over which its packets are sent: 0.1 to 1; 0.8.
    pub spread: f64,
    /// Share of the rate for the encoder; the rest is for error correction, headers and overshoot: 0.1 to 1; 0.9.
    pub encoder_share: f64,
    /// Usual payload of a packet in bytes: 12 to 1472; 1200.
    pub packet_bytes: u32,
    /// Zero.
    pub reserved: u32,
    /// Latency to keep in ns, from a frame to the arrival of its packets beyond the least delay of the path: 0 for none, 1 ms to 1 s; 0.
    /// The target is lowered where more than one message in twenty tells of a later packet. Sequence numbers have to count from 0 since
    /// airbound_sender_join().
    pub latency_ns: u64,
}

/// Parameters of a receiver. airbound_receiver_defaults() fills it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct airbound_receiver_config {
    /// sizeof of this struct.
    pub size: u32,
    /// The number under which it joins the sender: 0 to 65535; 0.
    pub receiver: u32,
    /// Interval of feedback in ns, the same at both ends: 20 ms to 200 ms; 100 ms.
    pub interval_ns: u64,
    /// Precision of the receive stamps (airbound_stamps): AIRBOUND_STAMPS_KERNEL.
    pub stamps: i32,
    /// Zero.
    pub reserved: u32,
    /// Key of its feedback, as given to airbound_sender_join(); zeros protect from accidents only.
    pub key: [u8; 16],
}

/// Packets that arrived: one, or several that the kernel handed over as one (GRO). Its layout is fixed.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct airbound_arrival {
    /// The receive stamp in ns, on the clock of stamps.
    pub stamp_ns: u64,
    /// Sequence number of the first packet: ascending by one from packet to packet, error correction and repetitions included.
    pub sequence: u64,
    /// Payload of all of them in bytes: 1 to 65535 a packet.
    pub bytes: u32,
    /// Number of packets: 1 to 1024.
    pub packets: u16,
    /// 0, or AIRBOUND_COMPANION.
    pub flags: u16,
}

/// Flag of an arrival: packets of another flow of this device, as far as known. `sequence` has no meaning.
pub const AIRBOUND_COMPANION: u16 = 1;

/// Rates and reason for one receiver.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct airbound_decision {
    /// sizeof of this struct, set by the caller.
    pub size: u32,
    /// The part of the path that limits the rate (airbound_reason).
    pub reason: i32,
    /// Rate for the encoder in bit/s.
    pub encoder_bps: u64,
    /// Rate of all payload in bit/s, error correction and headers of the application included.
    pub rate_bps: u64,
    /// Packets of a frame leave no faster than this, in bit/s.
    pub pacing_bps: u64,
    /// Time between two packets of the usual size at that pace, in ns.
    pub pacing_interval_ns: u64,
    /// Largest frame in bytes that is sent within its interval.
    pub largest_frame_bytes: u64,
    /// Time at which to poll again if nothing happens before, in ns.
    pub next_ns: u64,
    /// Period of the radio's absences in ns; 0 if there are none.
    pub absence_period_ns: u64,
    /// Their mean length in ns; 0 if there are none.
    pub absence_ns: u64,
    /// Packets in a frame of the air, of the last feedback with frames; -1 before.
    pub level: f64,
    /// Share of packets lost in a queue or on the wire, of the last feedback; -1 before.
    pub loss: f64,
    /// Feedback taken.
    pub reports: u32,
    /// Feedback refused that named this receiver.
    pub refused: u32,
    /// Packets in a frame of the air that are held now: target, or less for a low PHY rate or for latency_ns.
    pub target: f64,
}

/// Structs of which the caller says the size.
///
/// # Safety
/// Any bytes are a value, the first field is the size as `u32`, and there is no padding.
pub(crate) unsafe trait Sized32: Copy {
    /// Size of its first version: no caller knows less.
    const FIRST: usize;
    fn size_mut(&mut self) -> &mut u32;
}

macro_rules! sized {
    ($name:ident, $first:literal) => {
        // SAFETY: integers, floats and arrays of bytes; the assertion excludes padding.
        unsafe impl Sized32 for $name {
            const FIRST: usize = $first;
            fn size_mut(&mut self) -> &mut u32 {
                &mut self.size
            }
        }
        const _: () = assert!(size_of::<$name>() >= $first && size_of::<$name>() % 8 == 0);
    };
}
sized!(airbound_sender_config, 80);
sized!(airbound_receiver_config, 40);
sized!(airbound_decision, 96);

/// Whether a pointer may be read or written: not NULL, and aligned.
pub(crate) fn usable<T>(pointer: *const T) -> Result<(), airbound_status> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(tell(AIRBOUND_NULL, "a pointer is NULL or not aligned"));
    }
    Ok(())
}

/// Reads a struct of which the caller knows `size` bytes; the rest is that of `defaults`.
///
/// # Errors
/// The status, for an unusable pointer, an impossible size, or fields that this version does not know and that are not zero.
///
/// # Safety
/// `from` points at as many readable bytes as its first field says, if it is not NULL.
pub(crate) unsafe fn read<T: Sized32>(from: *const T, defaults: T) -> Result<T, airbound_status> {
    usable(from)?;
    // SAFETY: the caller has at least the size.
    let size = unsafe { from.cast::<u32>().read() } as usize;
    check(size, T::FIRST)?;
    let known = size.min(size_of::<T>());
    // SAFETY: the caller has `size` readable bytes.
    let rest = unsafe { std::slice::from_raw_parts(from.cast::<u8>().add(known), size - known) };
    if rest.iter().any(|byte| *byte != 0) {
        return Err(tell(
            AIRBOUND_SIZE,
            "the struct has fields that this version of the library does not know",
        ));
    }
    let mut value = defaults;
    // SAFETY: both have `known` bytes, and any bytes are a value.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut value).cast::<u8>(), known) };
    Ok(value)
}

/// Writes as much of a struct as the caller knows, and to its first field how much that is.
///
/// # Errors
/// The status, for an unusable pointer or an impossible size.
///
/// # Safety
/// `to` points at `size` writable bytes, if it is not NULL.
pub(crate) unsafe fn write<T: Sized32>(to: *mut T, size: u32, mut value: T) -> Result<(), airbound_status> {
    usable(to)?;
    check(size as usize, T::FIRST)?;
    let known = (size as usize).min(size_of::<T>());
    *value.size_mut() = known as u32;
    // SAFETY: the caller has `size` writable bytes, of which `known` are written.
    unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), to.cast::<u8>(), known) };
    Ok(())
}

/// Largest size that is believed.
const LARGEST: usize = 4096;

fn check(size: usize, first: usize) -> Result<(), airbound_status> {
    if (first..=LARGEST).contains(&size) && size.is_multiple_of(8) {
        return Ok(());
    }
    Err(tell(AIRBOUND_SIZE, "size of a struct is none of this interface: set it to sizeof of the struct"))
}

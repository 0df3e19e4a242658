//! `libairboundlink`: Wi-Fi for tests in C and C++.
//!
//! A thin layer over the crate `airbound-link`: pointers and panics end here. The header `include/airbound_link.h` is generated from this file.

#![allow(unsafe_code)]
#![expect(non_camel_case_types, reason = "names of C")]
#![expect(clippy::missing_safety_doc, reason = "the contract of all functions stands in the header")]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use ::airbound_link::{Arrival, Counts, Direction, LARGEST, Link, LinkConfig, LinkError};

/// Result of a call.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum airbound_link_status {
    /// Done.
    AIRBOUND_LINK_OK = 0,
    /// No packet has arrived, or no more is on its way.
    AIRBOUND_LINK_NOTHING = 1,
    /// A pointer is NULL or not aligned, or a text is not UTF-8.
    AIRBOUND_LINK_NULL = -1,
    /// Unknown place, scheme or direction, or a wrong demand.
    AIRBOUND_LINK_UNKNOWN = -2,
    /// Time runs backwards, or is after the end of the link.
    AIRBOUND_LINK_TIME = -3,
    /// A packet is larger than AIRBOUND_LINK_LARGEST.
    AIRBOUND_LINK_SIZE = -4,
    /// A fault of the library, in this call or an earlier one with this object.
    AIRBOUND_LINK_BROKEN = -5,
}
use airbound_link_status::*;

/// Direction of a packet.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum airbound_link_direction {
    /// From the server to the station.
    AIRBOUND_LINK_DOWN = 0,
    /// From the station to the server.
    AIRBOUND_LINK_UP = 1,
}

/// The largest packet in bytes: the payload of a UDP datagram.
pub const AIRBOUND_LINK_LARGEST: usize = 1472;
const _: () = assert!(AIRBOUND_LINK_LARGEST == LARGEST);

/// A packet that has arrived.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct airbound_link_arrival {
    /// The time at which it was pushed, ns.
    pub sent_ns: u64,
    /// The time at which it arrived, ns.
    pub at_ns: u64,
    /// Its length in bytes.
    pub length: u32,
    /// Its direction (airbound_link_direction).
    pub direction: i32,
}

/// Packets of one direction so far. Those neither arrived nor lost are in the network.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct airbound_link_counts {
    /// Pushed.
    pub pushed: u64,
    /// Arrived, taken or not.
    pub arrived: u64,
    /// Dropped by a queue, given up after the last retry, or lost on the wire.
    pub lost: u64,
}

/// A link. Made by airbound_link_new(), released by airbound_link_free().
#[derive(Debug)]
pub struct airbound_link {
    link: Link,
    /// Packets that have arrived and were not taken, the first last.
    arrived: Vec<Arrival>,
    /// The latest time of the caller, ns.
    now_ns: u64,
    broken: bool,
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Keeps a message for [`airbound_link_last_message`].
fn tell(status: airbound_link_status, message: &str) -> airbound_link_status {
    MESSAGE.with(|kept| *kept.borrow_mut() = CString::new(message).unwrap_or_default());
    status
}

fn failed(error: &LinkError) -> airbound_link_status {
    let status = match error {
        LinkError::TimeRunsBackwards { .. } | LinkError::TooLate { .. } => AIRBOUND_LINK_TIME,
        LinkError::TooLarge { .. } => AIRBOUND_LINK_SIZE,
        _ => AIRBOUND_LINK_UNKNOWN,
    };
    tell(status, &error.to_string())
}

fn usable<T>(pointer: *const T) -> Result<(), airbound_link_status> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(tell(AIRBOUND_LINK_NULL, "a pointer is NULL or not aligned"));
    }
    Ok(())
}

/// The text at a pointer.
///
/// # Safety
/// A string of C, or NULL.
unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str, airbound_link_status> {
    usable(pointer)?;
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| tell(AIRBOUND_LINK_NULL, "a text is not UTF-8"))
}

fn guarded(act: impl FnOnce() -> Result<(), airbound_link_status>) -> Option<airbound_link_status> {
    catch_unwind(AssertUnwindSafe(act)).ok().map(|done| done.err().unwrap_or(AIRBOUND_LINK_OK))
}

fn broken() -> airbound_link_status {
    tell(AIRBOUND_LINK_BROKEN, "a fault of the library broke this object: release it, and report the fault")
}

/// Calls `act` with a link.
///
/// # Safety
/// NULL, or made by [`airbound_link_new`] and not released, and no other call uses it now.
unsafe fn with(
    link: *mut airbound_link,
    act: impl FnOnce(&mut airbound_link) -> Result<(), airbound_link_status>,
) -> airbound_link_status {
    if let Err(status) = usable(link.cast_const()) {
        return status;
    }
    // SAFETY: the caller's promise.
    let link = unsafe { &mut *link };
    if link.broken {
        return broken();
    }
    guarded(|| act(link)).unwrap_or_else(|| {
        link.broken = true;
        broken()
    })
}

/// Name of a place by its number from 0; NULL after the last. Static.
#[unsafe(no_mangle)]
pub extern "C" fn airbound_link_place(number: usize) -> *const c_char {
    const NAMES: [&CStr; 10] = [
        c"home-quiet",
        c"home-evening",
        c"my-flat",
        c"walking",
        c"mesh-hop",
        c"phone-asleep",
        c"microwave",
        c"crowded-office",
        c"hotel",
        c"headset-beside-downloads",
    ];
    NAMES.get(number).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// A sentence in English about the last call of this thread that failed; empty before. Valid until the thread's next call of this
/// library; never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn airbound_link_last_message() -> *const c_char {
    MESSAGE.with(|kept| kept.borrow().as_ptr())
}

/// Makes a link in a place and writes it to `made`. `scheme` is that of the access point by name, NULL for that of the place;
/// `demand_ns` the latency in which packets to the station are to arrive, 0 for none.
///
/// AIRBOUND_LINK_NULL, AIRBOUND_LINK_UNKNOWN. `made` is not written then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_link_new(
    place: *const c_char,
    scheme: *const c_char,
    demand_ns: u64,
    seed: u64,
    made: *mut *mut airbound_link,
) -> airbound_link_status {
    let make = || {
        usable(made.cast_const())?;
        // SAFETY: the caller has texts.
        let (place, scheme) =
            unsafe { (text(place)?, (!scheme.is_null()).then(|| text(scheme)).transpose()?) };
        let config = LinkConfig::named(place).map_err(|error| failed(&error))?.seed(seed);
        let config = scheme.into_iter().fold(config, LinkConfig::scheme);
        let demand = (demand_ns != 0).then(|| Duration::from_nanos(demand_ns));
        let link = Link::new(&demand.into_iter().fold(config, LinkConfig::demand))
            .map_err(|error| failed(&error))?;
        let link = Box::new(airbound_link { link, arrived: Vec::new(), now_ns: 0, broken: false });
        // SAFETY: the caller has a writable pointer.
        unsafe { made.write(Box::into_raw(link)) };
        Ok(())
    };
    guarded(make).unwrap_or_else(broken)
}

/// Releases a link. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_link_free(link: *mut airbound_link) {
    if usable(link.cast_const()).is_ok() {
        // SAFETY: made by `Box::into_raw`, and not released before.
        let link = unsafe { Box::from_raw(link) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(link)));
    }
}

/// Sends a packet of `length` bytes at `now_ns`, in a direction (airbound_link_direction).
///
/// AIRBOUND_LINK_NULL, AIRBOUND_LINK_UNKNOWN, AIRBOUND_LINK_TIME, AIRBOUND_LINK_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_link_push(
    link: *mut airbound_link,
    now_ns: u64,
    direction: i32,
    bytes: *const u8,
    length: usize,
) -> airbound_link_status {
    let push = |link: &mut airbound_link| {
        let direction = known(direction)?;
        if length > AIRBOUND_LINK_LARGEST {
            return Err(failed(&LinkError::TooLarge { size: length, largest: AIRBOUND_LINK_LARGEST }));
        }
        usable(bytes)?;
        // SAFETY: the caller has `length` bytes.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
        link.link.push(Duration::from_nanos(now_ns), direction, bytes).map_err(|error| failed(&error))?;
        link.now_ns = now_ns;
        Ok(())
    };
    // SAFETY: the contract of the handle.
    unsafe { with(link, push) }
}

/// Writes to `next_ns` the next time at which airbound_link_take() may return a packet.
///
/// AIRBOUND_LINK_NULL; AIRBOUND_LINK_NOTHING while none is on its way: UINT64_MAX is written then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_link_next(
    link: *mut airbound_link,
    next_ns: *mut u64,
) -> airbound_link_status {
    let next = |link: &mut airbound_link| {
        usable(next_ns.cast_const())?;
        let next =
            if link.arrived.is_empty() { link.link.next_event().map(nanos) } else { Some(link.now_ns) };
        // SAFETY: the caller has the place.
        unsafe { next_ns.write(next.unwrap_or(u64::MAX)) };
        next.map(|_| ()).ok_or(AIRBOUND_LINK_NOTHING)
    };
    // SAFETY: the contract of the handle.
    unsafe { with(link, next) }
}

/// Advances to `now_ns` and writes the first packet that has arrived and was not taken to `bytes`, which has AIRBOUND_LINK_LARGEST, and
/// to `arrival`. Called until there is nothing.
///
/// AIRBOUND_LINK_NULL, AIRBOUND_LINK_TIME; AIRBOUND_LINK_NOTHING if no packet is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_link_take(
    link: *mut airbound_link,
    now_ns: u64,
    bytes: *mut u8,
    arrival: *mut airbound_link_arrival,
) -> airbound_link_status {
    let take = |link: &mut airbound_link| {
        usable(bytes.cast_const()).and_then(|()| usable(arrival.cast_const()))?;
        let taken = link.link.take(Duration::from_nanos(now_ns)).map_err(|error| failed(&error))?;
        link.now_ns = now_ns;
        link.arrived.splice(0..0, taken.into_iter().rev());
        let first = link.arrived.pop().ok_or(AIRBOUND_LINK_NOTHING)?;
        let told = airbound_link_arrival {
            sent_ns: nanos(first.sent),
            at_ns: nanos(first.at),
            length: first.bytes.len() as u32,
            direction: first.direction as i32,
        };
        // SAFETY: the caller has the room and the struct.
        unsafe {
            std::ptr::copy_nonoverlapping(first.bytes.as_ptr(), bytes, first.bytes.len());
            arrival.write(told);
        }
        Ok(())
    };
    // SAFETY: the contract of the handle.
    unsafe { with(link, take) }
}

/// Writes the packets of a direction (airbound_link_direction) so far to `counts`.
///
/// AIRBOUND_LINK_NULL, AIRBOUND_LINK_UNKNOWN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airbound_link_count(
    link: *mut airbound_link,
    direction: i32,
    counts: *mut airbound_link_counts,
) -> airbound_link_status {
    let count = |link: &mut airbound_link| {
        usable(counts.cast_const())?;
        let Counts { pushed, arrived, lost } = link.link.counts(known(direction)?);
        // SAFETY: the caller has the struct.
        unsafe { counts.write(airbound_link_counts { pushed, arrived, lost }) };
        Ok(())
    };
    // SAFETY: the contract of the handle.
    unsafe { with(link, count) }
}

fn known(direction: i32) -> Result<Direction, airbound_link_status> {
    match direction {
        0 => Ok(Direction::Down),
        1 => Ok(Direction::Up),
        _ => Err(tell(AIRBOUND_LINK_UNKNOWN, "direction is unknown; allowed are 0 and 1")),
    }
}

/// Times of a link end within a day.
const fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::airbound_link::places;

    #[test]
    fn names_are_those_of_the_places() {
        for (number, place) in places().iter().enumerate() {
            // SAFETY: a static text of C.
            let name = unsafe { CStr::from_ptr(airbound_link_place(number)) };
            assert_eq!(name.to_str(), Ok(place.name));
        }
        assert!(airbound_link_place(places().len()).is_null());
    }
}

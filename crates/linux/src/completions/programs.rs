//! The four eBPF programs in mac80211.
//!
//! | function | program |
//! |---|---|
//! | entry of `ieee80211_queue_skb` | notes time and station of a frame queued for the watched radio |
//! | exit of `ieee80211_tx_dequeue` | notes when the driver dequeued it |
//! | entry of `ieee80211_tx_status_ext` | reports its fate, with both times |
//! | entry of `ieee80211_free_txskb` | reports that a noted frame was dropped |
//!
//! Notes are kept in an LRU map by the frame's address in memory, so that notes of frames without a report are evicted.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use airbound_units::{Instant, Span};

use super::record::{self, field};
use crate::bpf::assembler::{Assembler, Helper, Label, Register, When, Width};
use crate::bpf::ring::Ring;
use crate::bpf::types::Types;
use crate::sys::{self, Map, MapKind, Mapping, Tracing};

use Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, Stack};
use Width::{Byte, Double, Half, Word};

/// Capacity of the map of notes.
const NOTES: u32 = 16_384;
/// Offsets in a note: time queued, time dequeued, station.
mod note {
    pub(super) const QUEUED: i16 = 0;
    pub(super) const TAKEN: i16 = 8;
    pub(super) const STATION: i16 = 16;
    pub(super) const SIZE: u32 = 24;
}
/// Offsets in the state that the programs share with the reader: time of the last wake-up, frames reported, frames lost, whether the
/// reader waits for completions (0) or not (1), frames without a fate that were queued since a time, the number of them at which the reader
/// is woken, and that time.
mod state {
    pub(super) const WOKEN: i16 = 0;
    pub(super) const REPORTED: i16 = 8;
    pub(super) const LOST: i16 = 16;
    pub(super) const QUIET: i16 = 24;
    pub(super) const BELOW: i16 = 32;
    pub(super) const LIMIT: i16 = 40;
    pub(super) const SINCE: i16 = 48;
    pub(super) const SIZE: u32 = 56;
}
/// No limit of frames below.
const UNLIMITED: i32 = i32::MAX;
/// `BPF_RB_NO_WAKEUP`, `BPF_RB_FORCE_WAKEUP`.
const NO_WAKEUP: i32 = 1;
const WAKEUP: i32 = 2;
/// First byte of an 802.11 header: mask and value of type data, subtypes with data (IEEE 802.11-2020 table 9-1).
const TYPE_AND_NO_DATA: i32 = 0x4c;
const DATA: i32 = 0x08;

/// Offsets of fields in this kernel.
#[derive(Debug)]
struct Offsets {
    hw: i16,
    wiphy: i16,
    /// From the wiphy to the radio's number.
    number: i32,
    station_of_info: i16,
    station_address: i16,
    status_station: i16,
    status_info: i16,
    status_frame: i16,
    info_flags: i16,
    info_rates: i16,
    info_airtime: i16,
    frame_length: i16,
    frame_mark: i16,
    frame_priority: i16,
    frame_data: i16,
    /// Flag: the frame has an Ethernet header, the hardware adds the 802.11 header.
    encapsulated: i32,
    /// Flags: acknowledged, or sent without acknowledgement policy.
    acknowledged: i32,
}

fn missing(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("the kernel's type information has no {what}"))
}

impl Offsets {
    fn find(mac80211: &Types<'_>, cfg80211: &Types<'_>) -> io::Result<Self> {
        let at = |types: &Types<'_>, structure: &str, path: &[&str]| {
            types.offset(structure, path).ok_or_else(|| missing(&format!("{structure}.{}", path.join("."))))
        };
        let acknowledged =
            mac80211.constant("IEEE80211_TX_STAT_ACK").ok_or_else(|| missing("IEEE80211_TX_STAT_ACK"))?;
        let without = mac80211.constant("IEEE80211_TX_STAT_NOACK_TRANSMITTED").unwrap_or(0);
        let device = |member| at(cfg80211, "cfg80211_registered_device", &[member]).map(i32::from);
        Ok(Self {
            hw: at(mac80211, "ieee80211_local", &["hw"])?,
            wiphy: at(mac80211, "ieee80211_hw", &["wiphy"])?,
            number: device("wiphy_idx")? - device("wiphy")?,
            station_of_info: at(mac80211, "sta_info", &["sta"])?,
            station_address: at(mac80211, "ieee80211_sta", &["addr"])?,
            status_station: at(mac80211, "ieee80211_tx_status", &["sta"])?,
            status_info: at(mac80211, "ieee80211_tx_status", &["info"])?,
            status_frame: at(mac80211, "ieee80211_tx_status", &["skb"])?,
            info_flags: at(mac80211, "ieee80211_tx_info", &["flags"])?,
            info_rates: at(mac80211, "ieee80211_tx_info", &["status", "rates"])?,
            info_airtime: at(mac80211, "ieee80211_tx_info", &["status", "tx_time"])?,
            frame_length: at(mac80211, "sk_buff", &["len"])?,
            frame_mark: at(mac80211, "sk_buff", &["mark"])?,
            frame_priority: at(mac80211, "sk_buff", &["priority"])?,
            frame_data: at(mac80211, "sk_buff", &["data"])?,
            // Kernels before 5.8 have no such flag.
            encapsulated: mac80211.constant("IEEE80211_TX_CTL_HW_80211_ENCAP").unwrap_or(0).cast_signed(),
            acknowledged: (acknowledged | without).cast_signed(),
        })
    }
}

/// Parameters of the programs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) wiphy: u32,
    pub(super) interval: Span,
    /// The time after a wake-up in which even a record that finds all others read wakes nobody.
    pub(super) burst: Span,
    pub(super) gathered: u32,
    pub(super) buffer: u32,
}

/// The attached programs; dropping this detaches them.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) ring: Ring,
    state: Mapping,
    _state: Map,
    _notes: Map,
    /// In the order of attachment; closing a link detaches its program.
    _links: Vec<OwnedFd>,
}

/// The functions of mac80211 to which the programs are attached.
const QUEUED: &str = "ieee80211_queue_skb";
const TAKEN: &str = "ieee80211_tx_dequeue";
const STATUS: &str = "ieee80211_tx_status_ext";
const FREED: &str = "ieee80211_free_txskb";

impl Programs {
    /// Loads and attaches the programs.
    pub(super) fn load(settings: Settings) -> io::Result<Self> {
        let kernel = Types::load("vmlinux", None)?;
        // A built-in mac80211 has no file of its own.
        let mac80211 = Module::find("mac80211", &kernel)?;
        let cfg80211 = Module::find("cfg80211", &kernel)?;
        let places = Offsets::find(mac80211.types(&kernel), cfg80211.types(&kernel))?;
        let ring = Ring::new("airbound_ring", settings.buffer)?;
        let state = Map::new(MapKind::Array, "airbound_state", 4, state::SIZE, 1)?;
        let shared = Mapping::new(state.as_fd(), rustix::param::page_size(), 0, true)?;
        shared.store_u64(state::LIMIT as usize, UNLIMITED as u64);
        let notes = Map::new(MapKind::LruHash, "airbound_notes", 8, note::SIZE, NOTES)?;
        let writer = Writer { settings, places, ring: &ring, state: &state, notes: &notes };
        let types = mac80211.types(&kernel);
        let function = |name| match types.function(name) {
            Some(number) => Ok(Function { types, number }),
            None => Err(missing(name)),
        };
        let [queued, taken] = [function(QUEUED)?, function(TAKEN)?];
        let [status, freed] = [function(STATUS)?, function(FREED)?];
        // The consumers of notes are attached before their producers.
        let plan = [
            (STATUS, &status, false, writer.status(&status)?),
            (FREED, &freed, false, writer.freed(&freed)?),
            (TAKEN, &taken, true, writer.taken(&taken)?),
            (QUEUED, &queued, false, writer.queued(&queued)?),
        ];
        let mut links = Vec::new();
        for (name, function, at_exit, instructions) in &plan {
            let loaded = load(&Tracing {
                name: name.trim_start_matches("ieee80211_"),
                instructions,
                at_exit: *at_exit,
                function: function.number,
                module: mac80211.descriptor.as_ref().map(AsFd::as_fd),
            })?;
            links.push(sys::bpf_attach(loaded.as_fd())?);
        }
        Ok(Self { ring, state: shared, _state: state, _notes: notes, _links: links })
    }

    /// A number of the state, which lies within the mapping.
    fn number(&self, place: i16) -> u64 {
        self.state.load_u64(place as usize).unwrap_or(0)
    }

    /// Frames reported, and frames for which the ring had no room.
    pub(super) fn counted(&self) -> (u64, u64) {
        (self.number(state::REPORTED), self.number(state::LOST))
    }

    /// The time of the last wake-up.
    pub(super) fn woken(&self) -> Instant {
        Instant::from_nanos(self.number(state::WOKEN))
    }

    /// Wakes the reader for no completion but when the ring becomes full, or as the settings say.
    pub(super) fn set_quiet(&self, quiet: bool) {
        self.state.store_u64(state::QUIET as usize, quiet.into());
    }

    /// Counts frames below that are queued from a time on: those before may be of stations that sleep.
    pub(super) fn count_below(&self, since: Instant) {
        self.state.store_u64(state::SINCE as usize, since.as_nanos());
        self.state.store_u64(state::BELOW as usize, 0);
    }

    /// Wakes the reader once, when `limit` frames are below; `None`: no more.
    pub(super) fn set_limit(&self, limit: Option<u32>) {
        let limit = limit.map_or(UNLIMITED, |limit| i32::try_from(limit).unwrap_or(UNLIMITED));
        self.state.store_u64(state::LIMIT as usize, limit as u64);
    }

    /// Frames below, and whether no limit of them is set, as after it was reached.
    pub(super) fn below(&self) -> (i64, bool) {
        (self.number(state::BELOW).cast_signed(), self.number(state::LIMIT) == UNLIMITED as u64)
    }
}

/// Loads a program. An error includes the verifier's last lines.
fn load(program: &Tracing<'_>) -> io::Result<OwnedFd> {
    let first = match sys::bpf_load(program, &mut []) {
        Ok(loaded) => return Ok(loaded),
        Err(error) => error,
    };
    let mut log = vec![0; 1 << 18];
    let Err(error) = sys::bpf_load(program, &mut log) else { return Err(first) };
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let mut last: Vec<&str> =
        text.lines().rev().filter(|line| !line.starts_with("processed")).take(2).collect();
    last.reverse();
    let words = if last.is_empty() { String::new() } else { format!(": {}", last.join("; ")) };
    Err(io::Error::new(error.kind(), format!("the kernel refused to load {}: {error}{words}", program.name)))
}

/// Type information of a module; without its own if it is built in.
#[derive(Debug)]
struct Module<'k> {
    own: Option<Types<'k>>,
    descriptor: Option<OwnedFd>,
}

impl<'k> Module<'k> {
    fn find(name: &str, kernel: &'k Types<'k>) -> io::Result<Self> {
        match Types::load(name, Some(kernel)) {
            Ok(own) => Ok(Self { own: Some(own), descriptor: Some(sys::bpf_module_types(name)?) }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if kernel.function(STATUS).is_none() {
                    return Err(io::Error::new(
                        io::ErrorKind::Unsupported,
                        format!("no type information of {name} in /sys/kernel/btf"),
                    ));
                }
                Ok(Self { own: None, descriptor: None })
            }
            Err(error) => Err(error),
        }
    }

    fn types<'a>(&'a self, kernel: &'a Types<'k>) -> &'a Types<'k> {
        self.own.as_ref().unwrap_or(kernel)
    }
}

/// A function to which a program is attached.
#[derive(Debug)]
struct Function<'t> {
    types: &'t Types<'t>,
    number: u32,
}

impl Function<'_> {
    /// Offset in the context of the first argument that points to `structure`.
    fn argument(&self, structure: &str) -> io::Result<i16> {
        let found = self.types.argument(self.number, structure);
        let (_, Some(place)) = found.unwrap_or((0, None)) else {
            return Err(missing(&format!("argument {structure} of a traced function")));
        };
        Ok(place as i16 * 8)
    }

    /// Offset in the context of the result, at exit.
    fn result(&self) -> io::Result<i16> {
        let (count, _) = self.types.argument(self.number, "sk_buff").ok_or_else(|| missing("a prototype"))?;
        Ok(count as i16 * 8)
    }
}

/// Offsets on the stack.
mod stack {
    pub(super) const SCRATCH: i16 = -8;
    pub(super) const KEY: i16 = -16;
    pub(super) const NOTE: i16 = -40;
}

/// Writes the programs.
struct Writer<'a> {
    settings: Settings,
    places: Offsets,
    ring: &'a Ring,
    state: &'a Map,
    notes: &'a Map,
}

impl Writer<'_> {
    /// Notes a frame: R6 radio, R7 station, R8 frame.
    fn queued(&self, function: &Function<'_>) -> io::Result<Vec<u64>> {
        let mut program = Assembler::default();
        let out = program.label();
        program.load(Double, R6, R1, function.argument("ieee80211_local")?);
        program.load(Double, R7, R1, function.argument("sta_info")?);
        program.load(Double, R8, R1, function.argument("sk_buff")?);
        program.jump_if(R7, When::Equal, 0, out);
        self.leave_unless_watched(&mut program, R6, self.places.hw, out);
        program.call(Helper::Time);
        program.store(Double, Stack, stack::NOTE + note::QUEUED, R0);
        program.store_value(Double, Stack, stack::NOTE + note::TAKEN, 0);
        program.store_value(Double, Stack, stack::NOTE + note::STATION, 0);
        let address = i32::from(self.places.station_of_info) + i32::from(self.places.station_address);
        read_kernel(&mut program, Stack, stack::NOTE + note::STATION, 6, R7, address);
        program.store(Double, Stack, stack::KEY, R8);
        self.key(&mut program);
        program.copy(R3, Stack);
        program.add(R3, stack::NOTE.into());
        program.set(R4, 0);
        program.call(Helper::MapUpdate);
        self.add(&mut program, state::BELOW, 1);
        // A wake-up without a record, once.
        program.map_value(R6, self.state.as_fd());
        program.load(Double, R1, R6, state::BELOW);
        program.load(Double, R2, R6, state::LIMIT);
        program.subtract(R1, R2);
        program.jump_if(R1, When::SignedLess, 0, out);
        program.store_value(Double, R6, state::LIMIT, UNLIMITED);
        program.map(R1, self.ring.as_fd());
        program.set(R2, 8);
        program.set(R3, 0);
        program.call(Helper::RingReserve);
        program.jump_if(R0, When::Equal, 0, out);
        program.copy(R1, R0);
        program.set(R2, WAKEUP);
        program.call(Helper::RingDiscard);
        program.place(out);
        program.leave();
        Ok(program.finish())
    }

    /// Notes when the driver took a frame.
    fn taken(&self, function: &Function<'_>) -> io::Result<Vec<u64>> {
        let mut program = Assembler::default();
        let out = program.label();
        program.load(Double, R6, R1, function.result()?);
        program.jump_if(R6, When::Equal, 0, out);
        program.store(Double, Stack, stack::KEY, R6);
        self.key(&mut program);
        program.call(Helper::MapLookup);
        program.jump_if(R0, When::Equal, 0, out);
        program.copy(R7, R0);
        program.call(Helper::Time);
        program.store(Double, R7, note::TAKEN, R0);
        program.place(out);
        program.leave();
        Ok(program.finish())
    }

    /// Reports a frame's fate: R6 radio, then the record; R7 status, R8 station, R9 frame.
    fn status(&self, function: &Function<'_>) -> io::Result<Vec<u64>> {
        let places = &self.places;
        let mut program = Assembler::default();
        let (out, is_data) = (program.label(), program.label());
        program.load(Double, R6, R1, function.argument("ieee80211_hw")?);
        program.load(Double, R7, R1, function.argument("ieee80211_tx_status")?);
        self.leave_unless_watched(&mut program, R6, 0, out);
        program.load(Double, R8, R7, places.status_station);
        program.jump_if(R8, When::Equal, 0, out);
        program.load(Double, R9, R7, places.status_frame);
        program.jump_if(R9, When::Equal, 0, out);
        program.load(Double, R7, R7, places.status_info);
        program.jump_if(R7, When::Equal, 0, out);
        if places.encapsulated != 0 {
            program.load(Word, R1, R7, places.info_flags);
            program.jump_if(R1, When::AnyBitOf, places.encapsulated, is_data);
        }
        program.load(Double, R1, R9, places.frame_data);
        program.store_value(Double, Stack, stack::SCRATCH, 0);
        read_kernel(&mut program, Stack, stack::SCRATCH, 1, R1, 0);
        program.load(Byte, R1, Stack, stack::SCRATCH);
        program.and(R1, TYPE_AND_NO_DATA);
        program.jump_if(R1, When::NotEqual, DATA, out);
        program.place(is_data);

        // Frames that were not queued, or were queued before the programs were attached, have no note.
        let unknown = program.label();
        for at in [note::QUEUED, note::TAKEN, note::STATION] {
            program.store_value(Double, Stack, stack::NOTE + at, 0);
        }
        program.store(Double, Stack, stack::KEY, R9);
        self.take_note(&mut program, unknown);
        program.place(unknown);

        self.reserve(&mut program, out);
        self.put_frame(&mut program);
        let kind_set = program.label();
        program.store_value(Byte, R6, field::KIND, record::ACKNOWLEDGED.into());
        program.load(Word, R1, R7, places.info_flags);
        program.jump_if(R1, When::AnyBitOf, places.acknowledged, kind_set);
        program.store_value(Byte, R6, field::KIND, record::LOST.into());
        program.place(kind_set);
        read_kernel(&mut program, R6, field::STATION, 6, R8, places.station_address.into());
        read_kernel(&mut program, R6, field::RATES, 12, R7, places.info_rates.into());
        read_kernel(&mut program, R6, field::AIRTIME, 2, R7, places.info_airtime.into());
        self.submit(&mut program);
        program.place(out);
        program.leave();
        Ok(program.finish())
    }

    /// Reports that a noted frame was dropped: R6 radio, then the record; R9 frame.
    fn freed(&self, function: &Function<'_>) -> io::Result<Vec<u64>> {
        let mut program = Assembler::default();
        let out = program.label();
        program.load(Double, R6, R1, function.argument("ieee80211_hw")?);
        program.load(Double, R9, R1, function.argument("sk_buff")?);
        self.leave_unless_watched(&mut program, R6, 0, out);
        program.store(Double, Stack, stack::KEY, R9);
        self.take_note(&mut program, out);
        self.reserve(&mut program, out);
        program.store_value(Byte, R6, field::KIND, record::DROPPED.into());
        self.put_frame(&mut program);
        program.store_value(Half, R6, field::AIRTIME, 0);
        for (width, at) in [(Word, 0), (Half, 4)] {
            program.load(width, R1, Stack, stack::NOTE + note::STATION + at);
            program.store(width, R6, field::STATION + at, R1);
        }
        program.store_value(Double, R6, field::RATES, -1);
        program.store_value(Word, R6, field::RATES + 8, -1);
        self.submit(&mut program);
        program.place(out);
        program.leave();
        Ok(program.finish())
    }

    /// Jumps to `out` unless the radio at `hw` plus `offset` is the watched one.
    fn leave_unless_watched(&self, program: &mut Assembler, hw: Register, offset: i16, out: Label) {
        let wiphy = i32::from(offset) + i32::from(self.places.wiphy);
        program.store_value(Double, Stack, stack::SCRATCH, 0);
        read_kernel(program, Stack, stack::SCRATCH, 8, hw, wiphy);
        program.load(Double, R1, Stack, stack::SCRATCH);
        read_kernel(program, Stack, stack::SCRATCH, 4, R1, self.places.number);
        program.load(Word, R1, Stack, stack::SCRATCH);
        program.jump_if(R1, When::NotEqual, self.settings.wiphy.cast_signed(), out);
    }

    /// Sets R1 to the map of notes, R2 to the key on the stack.
    fn key(&self, program: &mut Assembler) {
        program.map(R1, self.notes.as_fd());
        program.copy(R2, Stack);
        program.add(R2, stack::KEY.into());
    }

    /// Moves the frame's note to the stack; jumps to `unknown` if there is none.
    fn take_note(&self, program: &mut Assembler, unknown: Label) {
        self.key(program);
        program.call(Helper::MapLookup);
        program.jump_if(R0, When::Equal, 0, unknown);
        for at in [note::QUEUED, note::TAKEN, note::STATION] {
            program.load(Double, R1, R0, at);
            program.store(Double, Stack, stack::NOTE + at, R1);
        }
        self.key(program);
        program.call(Helper::MapDelete);
        let before = program.label();
        program.map_value(R2, self.state.as_fd());
        program.load(Double, R2, R2, state::SINCE);
        program.load(Double, R1, Stack, stack::NOTE + note::QUEUED);
        program.subtract(R1, R2);
        program.jump_if(R1, When::SignedLess, 0, before);
        self.add(program, state::BELOW, -1);
        program.place(before);
    }

    /// Reserves a record in R6; counts a lost frame and jumps to `out` if there is no room.
    fn reserve(&self, program: &mut Assembler, out: Label) {
        let room = program.label();
        program.map(R1, self.ring.as_fd());
        program.set(R2, record::SIZE as i32);
        program.set(R3, 0);
        program.call(Helper::RingReserve);
        program.copy(R6, R0);
        program.jump_if(R6, When::NotEqual, 0, room);
        self.add(program, state::LOST, 1);
        program.jump(out);
        program.place(room);
        self.add(program, state::REPORTED, 1);
    }

    fn add(&self, program: &mut Assembler, what: i16, value: i32) {
        program.map_value(R1, self.state.as_fd());
        program.set(R2, value);
        program.atomic_add(R1, what, R2);
    }

    /// Writes the fields common to all records: times, and those of the frame in R9.
    fn put_frame(&self, program: &mut Assembler) {
        program.call(Helper::Time);
        program.store(Double, R6, field::AT, R0);
        for (from, to) in [(note::QUEUED, field::QUEUED), (note::TAKEN, field::TAKEN)] {
            program.load(Double, R1, Stack, stack::NOTE + from);
            program.store(Double, R6, to, R1);
        }
        let words = [
            (self.places.frame_length, field::LENGTH),
            (self.places.frame_mark, field::MARK),
            (self.places.frame_priority, field::PRIORITY),
        ];
        for (from, to) in words {
            program.load(Word, R1, R9, from);
            program.store(Word, R6, to, R1);
        }
    }

    /// Submits the record. Wakes the reader if enough records are pending, or if the interval has passed, or if the reader has read all
    /// others and the burst is over; one that does not wait for completions only when a quarter of the ring is full.
    fn submit(&self, program: &mut Assembler) {
        let [quiet, behind_others, wake, submit] = [(); 4].map(|()| program.label());
        // The time is read back before the record is submitted.
        program.load(Double, R7, R6, field::AT);
        program.map_value(R8, self.state.as_fd());
        program.map(R1, self.ring.as_fd());
        program.set(R2, 0);
        program.call(Helper::RingQuery);
        program.load(Double, R1, R8, state::QUIET);
        program.jump_if(R1, When::NotEqual, 0, quiet);
        let bytes = |records: u32| (records * (record::SIZE as u32 + 8)).cast_signed();
        let limit = |span: Span| span.as_nanos().min(1 << 30) as i32;
        program.jump_if(R0, When::GreaterOrEqual, bytes(self.settings.gathered.clamp(1, 1 << 16)), wake);
        program.load(Double, R1, R8, state::WOKEN);
        program.copy(R2, R7);
        program.subtract(R2, R1);
        program.jump_if(R0, When::GreaterOrEqual, bytes(2), behind_others);
        program.jump_if(R2, When::GreaterOrEqual, limit(self.settings.burst), wake);
        program.place(behind_others);
        program.jump_if(R2, When::GreaterOrEqual, limit(self.settings.interval), wake);
        program.set(R2, NO_WAKEUP);
        program.jump(submit);
        program.place(quiet);
        program.jump_if(R0, When::GreaterOrEqual, (self.settings.buffer / 4).cast_signed(), wake);
        program.set(R2, NO_WAKEUP);
        program.jump(submit);
        program.place(wake);
        program.store(Double, R8, state::WOKEN, R7);
        program.set(R2, WAKEUP);
        program.place(submit);
        program.copy(R1, R6);
        program.call(Helper::RingSubmit);
    }
}

/// Copies `size` bytes from `from` plus `offset` to `to` plus `at`; zeroes them if the address is invalid.
fn read_kernel(program: &mut Assembler, to: Register, at: i16, size: i32, from: Register, offset: i32) {
    program.copy(R3, from);
    program.add(R3, offset);
    program.copy(R1, to);
    program.add(R1, at.into());
    program.set(R2, size);
    program.call(Helper::ReadKernel);
}

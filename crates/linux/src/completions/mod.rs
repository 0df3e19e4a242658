//! Completed frames, by [`Completions`]: every frame with its fate (eBPF), or, where that is not available, the counters of each
//! station, read at an interval (nl80211).

mod polled;
mod programs;
mod record;
mod traced;

use std::os::fd::{AsFd, BorrowedFd};

use airbound_units::{ByteCount, Instant, Span};

use crate::nl80211::WifiInterface;
use crate::{LinuxError, MacAddress};

use polled::Poller;
use traced::Tracer;

/// Configuration of [`Completions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionConfig {
    /// The source; `None`: eBPF if available, else counters.
    pub source: Option<Source>,
    /// Shortest interval between wake-ups by eBPF while completions are pending, and between readings of counters, which are read less
    /// often where a reading takes more than a 34th of it. Once all are read, the next one wakes at once, unless it belongs to the burst
    /// of the last wake-up: see [`Completions::next_drain`].
    pub interval: Span,
    /// eBPF wakes the reader before the interval has passed when this many frames are pending.
    pub gathered: u32,
    /// Bytes of the ring buffer, 64 for each frame; rounded up to a power of two of pages.
    pub buffer: u32,
}

impl Default for CompletionConfig {
    fn default() -> Self {
        Self { source: None, interval: Span::from_millis(1), gathered: 16, buffer: 1 << 20 }
    }
}

/// The source of completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// eBPF programs in mac80211, which report every frame.
    Traced,
    /// nl80211's counters: the number of frames since the last reading.
    Polled,
}

/// The fate of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Acknowledged by the station.
    Acknowledged,
    /// Given up after the last try, or sent without acknowledgement.
    Lost,
    /// Dropped before the radio: by CoDel, by a full queue, or because the station left. Reported by eBPF only.
    Dropped,
}

/// One step of a rate chain (`struct ieee80211_tx_rate`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateTry {
    /// Index: HT MCS, VHT MCS with the streams less one in the upper four bits, or an index into the band's table; see `flags`.
    pub index: i8,
    /// Transmissions.
    pub tries: u8,
    /// `IEEE80211_TX_RC_*`: bit 3 HT, bit 5 40 MHz, bit 7 short guard interval, bit 8 VHT.
    pub flags: u16,
}

/// Frames that were acknowledged, given up or dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The time of the report, or of the reading of counters.
    pub at: Instant,
    /// The receiving station.
    pub station: MacAddress,
    /// Their fate.
    pub fate: Fate,
    /// Number of frames: 1 with eBPF.
    pub frames: u32,
    /// Their bytes, with the 802.11 header; an A-MSDU counts with all its packets.
    pub bytes: ByteCount,
    /// Transmissions; 0 if unknown. Some drivers count those of an A-MPDU for each of its frames.
    pub tries: u32,
    /// Airtime, if the driver reports it.
    pub airtime: Option<Span>,
    /// Details, with eBPF only.
    pub details: Option<Details>,
}

/// Details of a frame that eBPF reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Details {
    /// The mark of the released packet ([`crate::nfqueue::Queue::accept`]). An A-MSDU has that of its first packet.
    pub mark: u32,
    /// Traffic identifier, 0 to 7.
    pub tid: u8,
    /// Time since mac80211 queued the frame; `None` for frames queued before the programs were attached.
    pub in_host: Option<Span>,
    /// Time since the driver dequeued the frame: hardware queue, contention and all tries.
    pub in_driver: Option<Span>,
    /// The rates tried, in order; `None` with drivers that report rates in another way.
    pub rates: [Option<RateTry>; 4],
}

/// Counters of frames reported and missed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompletionCounters {
    /// Frames reported.
    pub frames: u64,
    /// Frames for which the ring buffer had no room.
    pub lost: u64,
    /// Records that are malformed.
    pub malformed: u64,
    /// Time taken by readings of counters.
    pub reading: Span,
}

/// The completions of frames of a radio (eBPF), or of some of its interfaces (counters).
#[derive(Debug)]
pub struct Completions {
    source: Watch,
    fallback: Option<LinuxError>,
}

#[derive(Debug)]
enum Watch {
    Traced(Box<Tracer>),
    Polled(Poller),
}

impl Completions {
    /// Opens the configured source. If none is configured and eBPF is not available, [`Self::why_polled`] gives the reason.
    ///
    /// # Errors
    /// The configured source is not available, or none is.
    pub fn open(interface: &WifiInterface, config: &CompletionConfig) -> Result<Self, LinuxError> {
        let traced = || Tracer::open(interface, config).map(|tracer| Watch::Traced(Box::new(tracer)));
        let polled = || Poller::open(interface, config.interval).map(Watch::Polled);
        let (source, fallback) = match config.source {
            Some(Source::Traced) => (traced()?, None),
            Some(Source::Polled) => (polled()?, None),
            None => match traced() {
                Ok(source) => (source, None),
                Err(error) => (polled()?, Some(error)),
            },
        };
        Ok(Self { source, fallback })
    }

    /// The source in use.
    #[must_use]
    pub const fn source(&self) -> Source {
        match self.source {
            Watch::Traced(_) => Source::Traced,
            Watch::Polled(_) => Source::Polled,
        }
    }

    /// Watches these interfaces of the radio from now on. eBPF watches all of them.
    pub fn watch(&mut self, interfaces: &[u32]) {
        if let Watch::Polled(poller) = &mut self.source {
            poller.watch(interfaces);
        }
    }

    /// The reason why counters are read instead of eBPF, if eBPF is not available.
    #[must_use]
    pub const fn why_polled(&self) -> Option<&LinuxError> {
        self.fallback.as_ref()
    }

    /// Readable when completions are pending; `None` for counters, which are drained at their interval.
    #[must_use]
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.source {
            Watch::Traced(tracer) => Some(tracer.as_fd()),
            Watch::Polled(_) => None,
        }
    }

    /// The interval at which [`Self::drain`] finds something new while completions are outstanding.
    #[must_use]
    pub const fn interval(&self) -> Span {
        match &self.source {
            Watch::Traced(tracer) => tracer.interval(),
            Watch::Polled(poller) => poller.interval(),
        }
    }

    /// Whether nobody waits for completions, as while no packet is held: eBPF then wakes nobody unless its buffer becomes full. Each
    /// completion has its time, so that one that is read late tells as much. No effect on counters, whose time is that of the reading.
    pub fn set_quiet(&mut self, quiet: bool) {
        if let Watch::Traced(tracer) = &mut self.source {
            tracer.set_quiet(quiet);
        }
    }

    /// Whether frames below can be counted, as with eBPF.
    #[must_use]
    pub const fn counts_below(&self) -> bool {
        matches!(self.source, Watch::Traced(_))
    }

    /// Counts the frames below anew: those that mac80211 queues from now on and whose fate is unknown. Frames that merge in an A-MSDU, or
    /// that no program sees the end of, stay in the count. No effect on counters.
    pub fn count_below(&mut self, now: Instant) {
        if let Watch::Traced(tracer) = &self.source {
            tracer.count_below(now);
        }
    }

    /// Wakes the reader once, as soon as `limit` frames are below; with `None` no more. No effect on counters.
    pub fn set_limit(&mut self, limit: Option<u32>) {
        if let Watch::Traced(tracer) = &self.source {
            tracer.set_limit(limit);
        }
    }

    /// The frames below, once the limit of [`Self::set_limit`] was reached; also without a limit.
    #[must_use]
    pub fn filled(&self) -> Option<u32> {
        let Watch::Traced(tracer) = &self.source else { return None };
        let (below, is_filled) = tracer.below();
        is_filled.then(|| u32::try_from(below.max(0)).unwrap_or(u32::MAX))
    }

    /// The time at which [`Self::drain`] finds completions that wake nobody, while some are outstanding; `None` if the next ones wake.
    #[must_use]
    pub fn next_drain(&self, now: Instant) -> Option<Instant> {
        match &self.source {
            Watch::Traced(tracer) => tracer.next_drain(now),
            Watch::Polled(poller) => Some(now + poller.interval()),
        }
    }

    /// Passes pending completions to `each`, oldest first, without waiting; `now` is the time of the call. Counters are read only if
    /// their interval has passed.
    ///
    /// # Errors
    /// nl80211 failed: the interface has disappeared.
    pub fn drain(&mut self, now: Instant, each: impl FnMut(&Completion)) -> Result<(), LinuxError> {
        match &mut self.source {
            Watch::Traced(tracer) => {
                tracer.drain(each);
                Ok(())
            }
            Watch::Polled(poller) => poller.drain(now, each),
        }
    }

    /// The counters so far.
    #[must_use]
    pub fn counters(&self) -> CompletionCounters {
        match &self.source {
            Watch::Traced(tracer) => tracer.counters(),
            Watch::Polled(poller) => poller.counters(),
        }
    }
}

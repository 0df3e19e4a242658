//! Completed frames: each with its fate (eBPF), or, where that cannot be had, counters of each station read now and then
//! (nl80211). Both through one type, [`Completions`].

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
    /// Where completions come from; `None`: eBPF if it can be had, counters else.
    pub source: Option<Source>,
    /// eBPF wakes us at most this often; counters are read this often. Who waits for a frame should wait no longer than this before
    /// [`Completions::drain`], since the last frames of a burst wake nobody.
    pub interval: Span,
    /// eBPF wakes us before the interval has passed when this many frames have gathered.
    pub gathered: u32,
    /// Bytes of the buffer between kernel and program, 64 a frame; rounded up to a power of two of pages.
    pub buffer: u32,
}

impl Default for CompletionConfig {
    fn default() -> Self {
        Self { source: None, interval: Span::from_millis(1), gathered: 16, buffer: 1 << 20 }
    }
}

/// Where completions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// eBPF programs in mac80211: every frame.
    Traced,
    /// nl80211's counters: how many frames since the last time.
    Polled,
}

/// The fate of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The station acknowledged.
    Acknowledged,
    /// Given up after the last try, or never acknowledged by design.
    Lost,
    /// Dropped before the radio: by CoDel, by a full queue, or because the station left. Only eBPF sees these.
    Dropped,
}

/// One step of a rate chain as mac80211 keeps it (`struct ieee80211_tx_rate`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateTry {
    /// Index: HT's MCS, VHT's MCS with the streams less one in the upper half, or a place in the band's table; see `flags`.
    pub index: i8,
    /// Transmissions.
    pub tries: u8,
    /// `IEEE80211_TX_RC_*`: bit 3 HT, bit 5 40 MHz, bit 7 short guard interval, bit 8 VHT.
    pub flags: u16,
}

/// Frames that are off the host's hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// When that was told; of counters, when they were read.
    pub at: Instant,
    /// For whom they were.
    pub station: MacAddress,
    /// Their fate.
    pub fate: Fate,
    /// Number of frames: 1 with eBPF.
    pub frames: u32,
    /// Their bytes, with the 802.11 header; an A-MSDU's with all its packets.
    pub bytes: ByteCount,
    /// Transmissions, those of the whole A-MPDU counted for each of its frames where the driver does so; 0 where it does not tell.
    pub tries: u32,
    /// Airtime, as far as the driver tells.
    pub airtime: Option<Span>,
    /// Details that only eBPF tells.
    pub details: Option<Details>,
}

/// Details of a frame that only eBPF tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Details {
    /// The mark that the packet was released with ([`crate::nfqueue::Queue::accept`]). An A-MSDU has that of its first packet.
    pub mark: u32,
    /// Traffic identifier, 0 to 7.
    pub tid: u8,
    /// Time from mac80211's queue to now; `None` for frames that were queued before we watched.
    pub in_host: Option<Span>,
    /// Time from the driver's taking it to now: hardware queue, contention and all tries.
    pub in_driver: Option<Span>,
    /// The rates tried, in order. Drivers that report rates in another way leave it empty (`None`).
    pub rates: [Option<RateTry>; 4],
}

/// Counters of frames told and missed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompletionCounters {
    /// Frames told.
    pub frames: u64,
    /// Frames for which the buffer had no room.
    pub lost: u64,
    /// Records that could not be read.
    pub malformed: u64,
}

/// A watch on one interface's frames.
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
    /// Begins to watch. Where no source is named and eBPF cannot be had, [`Self::why_polled`] says why.
    ///
    /// # Errors
    /// The source named cannot be had, or none can.
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

    /// Where completions come from.
    #[must_use]
    pub const fn source(&self) -> Source {
        match self.source {
            Watch::Traced(_) => Source::Traced,
            Watch::Polled(_) => Source::Polled,
        }
    }

    /// Why eBPF could not be had, where counters are read for that reason.
    #[must_use]
    pub const fn why_polled(&self) -> Option<&LinuxError> {
        self.fallback.as_ref()
    }

    /// Readable when completions have come; `None` for counters: drain these at their interval.
    #[must_use]
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.source {
            Watch::Traced(tracer) => Some(tracer.as_fd()),
            Watch::Polled(_) => None,
        }
    }

    /// Gives what has completed to `each`, oldest first, without waiting. Counters are read only if their interval has passed.
    ///
    /// # Errors
    /// nl80211 failed: the interface is gone.
    pub fn drain(&mut self, each: impl FnMut(&Completion)) -> Result<(), LinuxError> {
        match &mut self.source {
            Watch::Traced(tracer) => {
                tracer.drain(each);
                Ok(())
            }
            Watch::Polled(poller) => poller.drain(crate::now(), each),
        }
    }

    /// Returns the counters of frames told and missed so far.
    #[must_use]
    pub fn counters(&self) -> CompletionCounters {
        match &self.source {
            Watch::Traced(tracer) => tracer.counters(),
            Watch::Polled(poller) => poller.counters(),
        }
    }
}

//! Low-delay rate allocation for applications: one sender, one receiver, a message of 64 B between them.
//!
//! [`crate::allocation`] has the algorithm; here is what an application needs around it. Frames are paced, since the level of an unpaced
//! frame is its own size; messages are authenticated and checked against what was sent; silence lowers a rate within a second; a reason
//! says what limits the rate.
//!
//! ```text
//!  encoder ──frame──► StreamSender ──allowed, sent──► packets ──air──► arrived ──► StreamReceiver
//!     ▲                 │       ▲                                                       │ every interval
//!     └── poll: rate ───┘       └─────────── report ◄──── any unreliable channel ◄──────┘ poll: feedback
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `config` | parameters of both ends |
//! | `feedback` | the message, its layout and authentication |
//! | `receiver` | arrivals become feedback |
//! | `stamps` | receive stamps on a steady clock |
//! | `demand` | a demand on latency, which lowers the target
//! | `absence` | a radio that leaves the channel at intervals |
//! | `sender` | receivers that share one allocator |
//! | `receiver_state` | one receiver: plausibility of feedback, silence and recovery |
//! | `pacer` | packets of a frame spread over its interval |
//! | `reason` | a decision, and what limits its rate |
//! | `error` | refusals |
//!
//! ```
//! use airbound_senders::stream::{Arrival, ReceiverConfig, StreamConfig, StreamReceiver, StreamSender};
//! use airbound_senders::allocation::ReceiverId;
//! use airbound_units::{ByteCount, Instant, Span};
//!
//! let (id, key) = (ReceiverId(7), [1; 16]);
//! let mut sender = StreamSender::new(StreamConfig::default())?;
//! let mut receiver = StreamReceiver::new(ReceiverConfig { receiver: id, key, ..ReceiverConfig::default() })?;
//! let mut now = Instant::ZERO;
//! sender.join(now, id, key)?;
//! let mut sequence = 0;
//! for _ in 0..100 {
//!     sender.frame(id, now, ByteCount::new(12_000), 10, None)?;
//!     for _ in 0..10 {
//!         now += Span::from_millis(1);
//!         let packets = sender.allowed(id, now)?.packets;
//!         for _ in 0..packets {
//!             sender.sent(id, now, 1, ByteCount::new(1200))?;
//!             let arrival = Arrival { stamp: now, sequence, packets: 1, payload: ByteCount::new(1200), companion: false };
//!             receiver.arrived(now, None, [arrival])?;
//!             sequence += 1;
//!         }
//!         if let Some(feedback) = receiver.poll(now) {
//!             sender.report(now, &feedback)?;
//!         }
//!     }
//! }
//! assert!(sender.poll(id, now)?.reports > 0);
//! # Ok::<(), airbound_senders::stream::StreamError>(())
//! ```

mod absence;
mod config;
mod demand;
mod error;
mod feedback;

mod pacer;
mod reason;
mod receiver;
mod receiver_state;
mod sender;
mod stamps;

pub use absence::{Absence, Absences};
pub use config::{ReceiverConfig, StreamConfig};
pub use demand::Sample;
pub use error::{Refusal, StreamError};
pub use feedback::{FEEDBACK_LENGTH, Feedback};
pub use pacer::Allowed;
pub use reason::{Decision, Reason};
pub use receiver::{Arrival, StreamReceiver};
pub use sender::StreamSender;

//! An RTP stream: a sender, a receiver, and the content in transit between them.

use airbound_units::{ByteCount, Instant};

use super::receiver::RtpReceiver;
use super::sender::RtpSender;
use super::{Content, Feedback};
use crate::endpoint::in_flight::InFlight;
use crate::measure::FrameEvent;

/// A packet of either end, before it is under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbered<T> {
    /// Its number among the packets of its direction.
    pub(crate) number: u64,
    /// Size from the IP header on.
    pub(crate) size: ByteCount,
    pub(crate) about: T,
}

/// Both ends of a stream.
#[derive(Debug)]
pub(crate) struct RtpStream {
    pub(crate) sender: RtpSender,
    pub(crate) receiver: RtpReceiver,
    media: InFlight<Content>,
    feedback: InFlight<Feedback>,
    /// Number of packets sent so far, and of feedback packets.
    sent: u64,
    sent_back: u64,
}

impl RtpStream {
    /// A stream on which nothing has been sent.
    pub(crate) fn new(sender: RtpSender, receiver: RtpReceiver) -> Self {
        Self {
            sender,
            receiver,
            media: InFlight::default(),
            feedback: InFlight::default(),
            sent: 0,
            sent_back: 0,
        }
    }

    /// The sender's next packet, described by `of`. Call until `None`.
    pub(crate) fn poll<T>(&mut self, now: Instant, of: impl FnOnce(&Content) -> T) -> Option<Numbered<T>> {
        let (content, size) = self.sender.poll(now)?;
        let (number, about) = (self.sent, of(&content));
        self.sent += 1;
        self.media.put(number, content);
        Some(Numbered { number, size, about })
    }

    /// The receiver's next packet, and whether it asks for a key frame. Call until `None`.
    pub(crate) fn poll_feedback(&mut self, now: Instant) -> Option<Numbered<bool>> {
        let feedback = self.receiver.poll(now)?;
        let (number, size) = (self.sent_back, feedback.size());
        let about = matches!(feedback, Feedback::KeyFrameRequest);
        self.sent_back += 1;
        self.feedback.put(number, feedback);
        Some(Numbered { number, size, about })
    }

    /// Takes a packet at the receiver; its effects on frames are appended to `events`. Returns the frame of media sent for the first time.
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        number: u64,
        events: &mut Vec<FrameEvent>,
    ) -> Option<u64> {
        let content = self.media.take(number)?;
        if let Some(round_trip) = self.sender.control().path().round_trip {
            self.receiver.on_round_trip(round_trip);
        }
        let (_, frame) = content.purpose();
        self.receiver.on_packet(now, number, content, events);
        frame
    }

    /// Takes feedback under way; the caller passes it to [`RtpStream::sender`].
    pub(crate) fn take_feedback(&mut self, number: u64) -> Option<Feedback> {
        self.feedback.take(number)
    }

    /// Forgets a lost packet of the sender. Returns the frame of media sent for the first time.
    pub(crate) fn on_lost(&mut self, number: u64) -> Option<u64> {
        self.media.take(number).and_then(|lost| lost.purpose().1)
    }
}

//! Events of sessions of real-time video that the meters receive.

use airbound_control::frame::FlowId;
use airbound_units::{BitRate, ByteCount, Instant};

use super::Meters;
use super::video::{FrameEvent, Sent};
use airbound_traffic::EncodedFrame;

impl Meters {
    /// The encoder made a frame.
    pub(crate) fn on_frame_coded(
        &mut self,
        flow: FlowId,
        now: Instant,
        frame: &EncodedFrame,
        packets: u32,
        allowed: BitRate,
    ) {
        let measured = now >= self.measured_from;
        let meter = self.flow(flow);
        meter.on_offered(frame.size, measured);
        if let Some(video) = &mut meter.video {
            video.on_coded(now, (frame.number, frame.is_key, frame.size), packets, allowed, measured);
        }
    }

    /// The encoder left a frame out.
    pub(crate) fn on_frame_left_out(&mut self, flow: FlowId, now: Instant, frame: u64) {
        let measured = now >= self.measured_from;
        if let Some(video) = &mut self.flow(flow).video {
            let row = video.on_left_out(now, frame, measured);
            self.observer.frame(&row);
        }
    }

    /// A packet leaves the pacer, or the receiver sends something back; `frame` is that of media sent for the first time.
    pub(crate) fn on_video_sent(
        &mut self,
        flow: FlowId,
        now: Instant,
        sent: Sent,
        size: ByteCount,
        frame: Option<u64>,
    ) {
        let measured = now >= self.measured_from;
        if let Some(video) = &mut self.flow(flow).video {
            video.on_sent(now, sent, size, frame, measured);
        }
    }

    /// The receiver of the media of `flow` asks for a key frame.
    pub(crate) fn on_key_frame_request(&mut self, flow: FlowId, now: Instant) {
        let measured = now >= self.measured_from;
        if let Some(video) = &mut self.flow(flow).video {
            video.on_key_frame_request(measured);
        }
    }

    /// A packet of a frame that was sent for the first time arrived, or is lost.
    pub(crate) fn on_media_settled(&mut self, flow: FlowId, frame: u64, lost: bool) {
        let row = self.flow(flow).video.as_mut().and_then(|video| video.on_settled(frame, lost));
        if let Some(row) = row {
            self.observer.frame(&row);
        }
    }

    /// Something became of a frame at the receiver.
    pub(crate) fn on_frame_event(&mut self, flow: FlowId, now: Instant, event: &FrameEvent) {
        let counts_bytes = now >= self.measured_from;
        let meter = &mut self.flows[flow.0 as usize];
        let Some(video) = &mut meter.video else { return };
        match *event {
            FrameEvent::Complete { frame, recovered, retransmitted, by } => {
                video.on_complete(now, frame, (recovered, retransmitted, by), &mut meter.latency);
            }
            FrameEvent::Decoded { frame } => {
                let (size, row) = video.on_decoded(now, frame, &mut meter.latency);
                meter.on_goodput(size, counts_bytes);
                if let Some(row) = row {
                    self.observer.frame(&row);
                }
            }
            FrameEvent::GivenUp { first, next } => {
                while let Some(row) = video.on_given_up(first, next) {
                    self.observer.frame(&row);
                }
            }
        }
    }

    /// The run ends: says what is known of all other frames.
    pub(crate) fn end_frames_of_media(&mut self) {
        for row in
            self.flows.iter().filter_map(|meter| meter.video.as_ref()).flat_map(|video| video.remaining())
        {
            self.observer.frame(&row);
        }
    }
}

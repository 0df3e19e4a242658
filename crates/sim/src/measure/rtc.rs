//! Events of real-time video sessions for the meters.

use airbound_control::frame::FlowId;
use airbound_units::{BitRate, ByteCount, Instant};

use super::Meters;
use super::video::{FrameEvent, Sent};
use airbound_traffic::EncodedFrame;

impl Meters {
    /// Notes a coded frame.
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

    /// Notes a skipped frame.
    pub(crate) fn on_frame_left_out(&mut self, flow: FlowId, now: Instant, frame: u64) {
        let measured = now >= self.measured_from;
        if let Some(video) = &mut self.flow(flow).video {
            let row = video.on_left_out(now, frame, measured);
            self.rows.frame(&row);
        }
    }

    /// Notes a packet that leaves the pacer, or feedback of the receiver; `frame` is that of media sent for the first
    /// time.
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

    /// Notes a request for a key frame by the receiver of `flow`.
    pub(crate) fn on_key_frame_request(&mut self, flow: FlowId, now: Instant) {
        let measured = now >= self.measured_from;
        if let Some(video) = &mut self.flow(flow).video {
            video.on_key_frame_request(measured);
        }
    }

    /// Notes that a packet of a frame, sent for the first time, arrived or was lost.
    pub(crate) fn on_media_settled(&mut self, flow: FlowId, frame: u64, lost: bool) {
        let row = self.flow(flow).video.as_mut().and_then(|video| video.on_settled(frame, lost));
        if let Some(row) = row {
            self.rows.frame(&row);
        }
    }

    /// Notes an event of a frame at the receiver.
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
                    self.rows.frame(&row);
                }
            }
            FrameEvent::GivenUp { first, next } => {
                while let Some(row) = video.on_given_up(first, next) {
                    self.rows.frame(&row);
                }
            }
        }
    }

    /// Ends the run: writes the rows of all other frames.
    pub(crate) fn end_frames_of_media(&mut self) {
        for row in
            self.flows.iter().filter_map(|meter| meter.video.as_ref()).flat_map(|video| video.remaining())
        {
            self.rows.frame(&row);
        }
    }
}

//! A real-time video session of a flow in the scenario.

use std::collections::BTreeMap;

use airbound_control::frame::FlowId;
use airbound_senders::rtp::fec::{FecConfig, FecDecoder, FecEncoder, FecKind};
use airbound_senders::rtp::gcc::{FeedbackCollector, FeedbackConfig};
use airbound_senders::rtp::rate::{Custom, MediaRate, RateBounds, RateRule};
use airbound_senders::rtp::{HistoryConfig, NackConfig, NackRequester, RetransmissionHistory};
use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::blueprint::Blueprint;
use crate::endpoint::rtp::frames::Frames;
use crate::endpoint::rtp::receiver::RtpReceiver;
use crate::endpoint::rtp::sender::RtpSender;
use crate::endpoint::rtp::source::{Video, VideoSource};
use crate::endpoint::rtp::stream::RtpStream;
use crate::endpoint::rtp::{HEADERS, RTP, RtpSession};
use crate::error::BuildError;
use crate::site::Site;
use airbound_random::{Purpose, Stream, seed_for};
use airbound_scenario::{ErrorCorrection, RtcStream, SizeLaw};
use airbound_traffic::FrameSizes;
use airbound_traffic::{Encoder, EncoderConfig};

/// The two flows of a session, and the times of capture.
pub(crate) struct Opening {
    pub(crate) media: FlowId,
    pub(crate) feedback: FlowId,
    pub(crate) first: Instant,
    pub(crate) stop: Instant,
    /// The number of the flow in the scenario, the key of its random numbers.
    pub(crate) index: usize,
}

/// Makes a session in which nothing has been sent.
pub(crate) fn open(
    blueprint: &Blueprint<'_>,
    stream: &RtcStream,
    opening: Opening,
) -> Result<RtpSession, BuildError> {
    let fec = fec_kind(stream.fec).map(|kind| FecConfig {
        kind,
        overhead: stream.fec_overhead,
        ..FecConfig::default()
    });
    let (control, is_reported) = control(blueprint, stream, opening.index)?;
    let reports = if let Some(shortest) = control.report_interval() {
        let usual = FeedbackConfig::default();
        let is_usual = shortest == usual.shortest;
        // A rule that wants each arrival at once gets it at any rate.
        let initial = if is_usual { usual.initial } else { shortest };
        let mut collector = FeedbackCollector::new(FeedbackConfig { shortest, initial, ..usual })?;
        if is_usual {
            // A receiver that sends no media knows nothing else about its reverse path (libwebrtc).
            collector.set_bandwidth(stream.start_rate);
        }
        Some(collector)
    } else {
        None
    };
    let nack = if stream.nack { Some(NackRequester::new(NackConfig::default())?) } else { None };
    let history =
        if stream.nack { Some(RetransmissionHistory::new(HistoryConfig::default())?) } else { None };
    let payload = stream.size - ByteCount::new(RTP);
    let full = (payload + HEADERS).as_u64() as f64;
    let parity = if fec.is_some() { stream.fec_overhead } else { 0.0 };
    let interval = Span::from_secs_f64(1.0 / stream.fps);
    let video = Video {
        encoder: encoder(blueprint, stream, interval, opening.index, control.target()),
        rate: stream.rate,
        overhead: 1.0 - payload.as_u64() as f64 / (full * (1.0 + parity)),
        first: opening.first,
        interval,
        stop: opening.stop,
    };
    let sender = RtpSender::new(control, fec.map(FecEncoder::new).transpose()?, history, payload);
    let receiver = RtpReceiver {
        knows_round_trip: stream.receiver_round_trip,
        collector: reports,
        nack,
        fec: fec.map(|_| FecDecoder::new()),
        frames: Box::new(Frames::new(stream.give_up)),
        covered: BTreeMap::new(),
    };
    Ok(RtpSession {
        media: opening.media,
        feedback: opening.feedback,
        source: VideoSource::new(video, &sender),
        stream: RtpStream::new(sender, receiver),
        timers: [Instant::MAX; 2],
        is_reported,
        foretelling: None,
    })
}

/// The rule for a stream's rate, and whether its reports are RTCP's.
fn control(
    blueprint: &Blueprint<'_>,
    stream: &RtcStream,
    index: usize,
) -> Result<(Box<dyn MediaRate>, bool), BuildError> {
    let RtcStream { start_rate: start, min_rate: least, max_rate: most, rate: media, .. } = *stream;
    let bounds = RateBounds { start, least, most, media };
    let name = blueprint.scenario.flows.get(index).map_or("", |flow| flow.name.as_str());
    if let Some(make) = blueprint.plugins.rule_of(name) {
        let seed = seed_for(blueprint.seed, Purpose::Queue, (5 << 32) | index as u64);
        let site = Site { name: name.to_owned(), number: index as u32, seed };
        return Ok((Box::new(Custom::new(make(site), bounds)), false));
    }
    let wrong = |reason| BuildError::Slot { slot: "sender", reason };
    let rule: RateRule = stream.sender(blueprint.scheme).config().map_err(wrong)?;
    Ok((rule.build(&bounds)?, rule.has_rtcp()))
}

fn encoder(
    blueprint: &Blueprint<'_>,
    stream: &RtcStream,
    interval: Span,
    index: usize,
    rate: BitRate,
) -> Encoder {
    let sigma = match stream.size_law {
        SizeLaw::Constant => 0.0,
        SizeLaw::Lognormal { sigma } => sigma,
    };
    let draws = Stream::new(blueprint.seed, Purpose::FrameSizes, index as u64);
    let config = EncoderConfig {
        interval,
        key_frame_interval: stream.key_frame_interval,
        key_frame_factor: stream.key_frame_factor,
        reaction: stream.reaction,
    };
    Encoder::new(config, FrameSizes::new(ByteCount::ZERO, sigma, draws), rate)
}

fn fec_kind(correction: ErrorCorrection) -> Option<FecKind> {
    match correction {
        ErrorCorrection::None => None,
        ErrorCorrection::Rows => Some(FecKind::Row),
        ErrorCorrection::Columns => Some(FecKind::Column),
        ErrorCorrection::TwoDimensional => Some(FecKind::TwoDimensional),
        ErrorCorrection::ReedSolomon => Some(FecKind::ReedSolomon),
    }
}

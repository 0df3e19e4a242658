//! Offer of a synthetic participant.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Instant;

use airbound_senders::conference::camera::CAMERA_LAYERS;
use str0m::bwe::Bitrate;
use str0m::change::{SdpOffer, SdpPendingOffer};
use str0m::media::{Direction, MediaKind, Mid, Simulcast, SimulcastLayer};
use str0m::{Candidate, Rtc, RtcError};

use super::{Equipment, LAYERS};
use crate::offer::PADDING;

/// Offer of a participant, and the sections of its camera and its sound.
pub(super) struct Offered {
    pub(super) rtc: Rtc,
    pub(super) mid: Mid,
    pub(super) sound: Option<Mid>,
    pub(super) offer: SdpOffer,
    pub(super) pending: SdpPendingOffer,
}

impl Offered {
    /// Makes an offer, whose mids str0m draws by chance.
    pub(super) fn draw(
        now: Instant,
        address: SocketAddr,
        equipment: Equipment,
        names: &[&str; CAMERA_LAYERS],
    ) -> Result<Self, RtcError> {
        let mut rtc = Rtc::builder()
            .clear_codecs()
            .enable_vp8(true)
            .enable_opus(true, false)
            .set_rtp_mode(true)
            .enable_bwe(Some(Bitrate::kbps(300)))
            .build(now);
        if let Ok(candidate) = Candidate::host(address, "udp") {
            rtc.add_local_candidate(candidate);
        }
        let mut change = rtc.sdp_api();
        let mut simulcast = Simulcast::new();
        let mut order = *names;
        if LAYERS.iter().zip(names).any(|(layer, name)| layer.name != *name) {
            order.reverse();
        }
        for name in order.into_iter().chain([PADDING]) {
            simulcast.add_send_layer(SimulcastLayer::new(name));
        }
        let mid = change.add_media(MediaKind::Video, Direction::SendOnly, None, None, Some(simulcast));
        for _ in 0..equipment.slots {
            change.add_media(MediaKind::Video, Direction::RecvOnly, None, None, None);
        }
        let speaks = equipment.ears > 0;
        let sound = speaks.then(|| change.add_media(MediaKind::Audio, Direction::SendOnly, None, None, None));
        for _ in 0..equipment.ears {
            change.add_media(MediaKind::Audio, Direction::RecvOnly, None, None, None);
        }
        if equipment.channel {
            change.add_channel("room".to_owned());
        }
        let Some((offer, pending)) = change.apply() else {
            return Err(RtcError::Io(std::io::Error::other("there is nothing to offer")));
        };
        Ok(Self { rtc, mid, sound, offer, pending })
    }

    /// Whether each section has a mid of its own.
    pub(super) fn has_distinct_mids(&self) -> bool {
        let text = self.offer.to_sdp_string();
        let mut seen = BTreeSet::new();
        text.lines().filter_map(|line| line.strip_prefix("a=mid:")).all(|mid| seen.insert(mid))
    }
}

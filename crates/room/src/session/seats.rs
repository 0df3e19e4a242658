//! Seats: offers are answered, participants come, go, and change their network.

use str0m::media::Mid;

use super::*;
use crate::dependency::Carried;
use crate::offer::{Adapted, Fragment, Plan, Stream, adapt, ice_tag, text_of};

/// Number of the extension of dependency descriptors, where an offer has no other.
const DEPENDENCY: u8 = 12;

impl Session {
    /// Seats a participant.
    ///
    /// # Errors
    /// The room is full, or the offer is not acceptable.
    pub fn join(&mut self, now: Instant, join: Join) -> Result<Joined, JoinError> {
        self.now = now;
        let earlier = join.resume.as_ref().and_then(|token| {
            let seated = self.peers.values().find(|peer| peer.resume == *token).map(|peer| peer.id);
            seated.or_else(|| self.left.iter().find(|(left, ..)| left == token).map(|(_, id, _)| *id))
        });
        let is_full =
            self.peers.len() >= MOST_MEMBERS && earlier.is_none_or(|id| !self.peers.contains_key(&id));
        // The oldest seat whose participant has not connected gives way.
        let waits = |peer: &&Peer| !peer.connected && now.saturating_duration_since(peer.joined) >= HALF_OPEN;
        let oldest = self.peers.values().filter(waits).min_by_key(|peer| peer.joined).map(|peer| peer.id);
        if is_full && oldest.is_none() {
            return Err(JoinError::Full);
        }
        let Adapted { offer, plan, numbers, feedback, rids, surplus } =
            adapt(&join.offer, &[]).map_err(JoinError::Offer)?;
        let mut config = Rtc::builder()
            .clear_codecs()
            .set_ice_lite(true)
            .set_rtp_mode(true)
            .set_extension(DEPENDENCY, Carried::extension())
            .enable_bwe(Some(Bitrate::kbps(500)))
            .set_stats_interval(Some(STATS));
        numbers.iter().for_each(|number| number.register(config.codec_config()));
        let mut rtc = config.build(now);
        let candidate = Candidate::host(self.address, "udp").map_err(|error| refused(&error))?;
        rtc.add_local_candidate(candidate);
        let answer = answer(&mut rtc, offer, &plan)?;
        if let Some(id) = earlier.or(oldest.filter(|_| is_full)) {
            self.remove(id);
        }
        let id = earlier.unwrap_or_else(|| self.free_number());
        self.left.retain(|(_, other, _)| *other != id);
        let name: String = join.name.chars().filter(|letter| !letter.is_control()).take(32).collect();
        let name = if name.trim().is_empty() { format!("guest {}", id.0) } else { name };
        let verb = if earlier.is_some() { "is back" } else { "joined" };
        self.note(format!("{name} {verb}"));
        if surplus > 0 {
            self.note(format!(
                "{name} offers {surplus} more media than one camera and one microphone: not taken"
            ));
        }
        self.room.join(self.when(), id, 1.0);
        let mut peer = Peer::new(id, name, join.host, join.token, rtc, now);
        (peer.numbers, peer.feedback) = (numbers, feedback);
        peer.keep(text_of(&join.offer), &answer);
        if feedback == Feedback::Remb {
            // The room's assumption holds until the client contradicts it.
            (peer.downlink.by_client, peer.trial) = (true, self.room.config().start.as_bps() as f64);
        }
        peer.name_layers(&rids);
        self.peers.insert(id, peer);
        self.mutate(id, |_| {});
        self.handle_events();
        Ok(Joined { id: id.0, answer })
    }

    /// A number that no seat has. There are more numbers than seats.
    fn free_number(&self) -> ClientId {
        let taken =
            |id: &ClientId| self.peers.contains_key(id) || self.left.iter().any(|(_, left, _)| left == id);
        (1..u16::MAX).map(ClientId).find(|id| !taken(id)).unwrap_or(ClientId(0))
    }

    /// Ends the seat of a resume token at once, as a page does when it is closed.
    pub fn leave(&mut self, now: Instant, token: &str) {
        self.now = now;
        if let Some(id) = self.peers.values().find(|peer| peer.resume == token).map(|peer| peer.id) {
            self.part(id, "left");
        }
    }

    /// Ends the seat of a resume token for good; returns whether there was one that could be taken again.
    pub fn end(&mut self, now: Instant, token: &str) -> bool {
        self.leave(now, token);
        let before = self.left.len();
        self.left.retain(|(left, ..)| left != token);
        self.left.len() < before
    }

    /// Takes a fragment of SDP for a seat if the tags that the client names have that of its ICE session. Another user begins ICE anew, which is
    /// asked for by the tag `*`, and is answered; the seat's own adds candidates, which this end does not need.
    ///
    /// # Errors
    /// The token seats no participant, no tag is named, or none that is valid, or the new offer is not acceptable.
    pub(crate) fn patch(
        &mut self,
        now: Instant,
        token: &str,
        tags: Option<&str>,
        fragment: &Fragment,
    ) -> Result<Option<SdpAnswer>, PatchError> {
        let peer = self.peers.values().find(|peer| peer.resume == token).ok_or(PatchError::Gone)?;
        let own = format!("\"{}\"", peer.tag);
        let named = |tags: &str| tags.split(',').map(str::trim).any(|tag| tag == "*" || tag == own);
        if !tags.map(named).ok_or(PatchError::Untagged)? {
            return Err(PatchError::Outdated);
        }
        if ice_tag(&peer.offer) == fragment.user {
            return Ok(None);
        }
        // RFC 9725 section 4.3.3: whatever ICE session there is ends.
        if tags.is_none_or(|tags| tags.trim() != "*") {
            return Err(PatchError::Outdated);
        }
        let offer = fragment.renew(&peer.offer).map_err(JoinError::Offer)?;
        Ok(Some(self.restart(now, token, offer)?))
    }

    /// Answers a new offer of a seated participant, as after a change of its network (ICE restart); its media go on.
    ///
    /// # Errors
    /// The token seats no participant, or the offer is not acceptable.
    pub fn restart(&mut self, now: Instant, token: &str, offer: SdpOffer) -> Result<SdpAnswer, JoinError> {
        self.now = now;
        let seated = self.peers.values_mut().find(|peer| peer.resume == token).ok_or(JoinError::Gone)?;
        let id = seated.id;
        let text = text_of(&offer);
        let adapted = adapt(&offer, &seated.numbers).map_err(JoinError::Offer)?;
        let mut answered = Err(JoinError::Gone);
        self.mutate(id, |rtc| answered = answer(rtc, adapted.offer, &adapted.plan));
        if let (Ok(answer), Some(peer)) = (&answered, self.peers.get_mut(&id)) {
            peer.numbers = adapted.numbers;
            peer.keep(text, answer);
            let name = peer.name.clone();
            self.note(format!("{name} changes its network"));
        }
        self.handle_events();
        answered
    }
}

fn refused(error: &impl ToString) -> JoinError {
    JoinError::Offer(OfferError::Refused { reason: error.to_string() })
}

/// Answers an adapted offer.
fn answer(rtc: &mut Rtc, offer: SdpOffer, plan: &Plan) -> Result<SdpAnswer, JoinError> {
    let answer = rtc.sdp_api().accept_offer(offer).map_err(|error| refused(&error))?;
    let streams: Vec<Stream> = plan.both_ways().filter_map(|mid| leaving(rtc, mid)).collect();
    plan.answer(&answer, &streams).map_err(JoinError::Offer)
}

/// The stream that leaves on a section on which simulcast arrives, for which str0m makes none.
fn leaving(rtc: &mut Rtc, name: &str) -> Option<Stream> {
    let mid = Mid::from(name);
    let media = rtc.media(mid)?;
    let pts = media.remote_pts();
    let resent =
        rtc.codec_config().params().iter().any(|one| pts.contains(&one.pt()) && one.resend().is_some());
    let cname = media.cname().to_owned();
    let mut api = rtc.direct_api();
    if api.stream_tx_by_mid(mid, None).is_none() {
        let (source, resend) = (api.new_ssrc(), resent.then(|| api.new_ssrc()));
        api.declare_stream_tx(source, resend, mid, None);
    }
    let stream = api.stream_tx_by_mid(mid, None)?;
    let (source, resend) = (*stream.ssrc(), stream.rtx().map(|resend| *resend));
    Some(Stream { mid: name.to_owned(), source, resend, name: cname })
}

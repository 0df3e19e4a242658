//! Work at intervals: rates and estimates go to the room, its actions are carried out.

use airbound_senders::conference::room::Constraint;
use str0m::format::Codec;

use super::*;
use crate::layers::Point;

/// Multiple of the server's own estimate above which a claim is doubted while there is a queue.
const DOUBTFUL: f64 = 2.0;
/// Rate of a REMB that limits nothing, bit/s.
const NO_LIMIT: u64 = 1_000_000_000;
/// Time for which a queue that was seen contradicts a higher claim.
const CONTRADICTS: Duration = Duration::from_secs(2);
/// Multiple of the useful rate that the congestion control of a downlink looks for.
const DESIRED: f64 = 1.2;

/// The largest layer of a size from 0, which is a layer of simulcast.
fn layer_of_size(size: u8, scalable: bool) -> u8 {
    if scalable { Point::largest(size) } else { size }
}

impl Session {
    /// Ends an interval: rates, estimates, seats, and what each participant is told.
    pub(super) fn on_tick(&mut self) {
        let (now, when) = (self.now, self.when());
        self.left.retain(|(.., at)| now.saturating_duration_since(*at) < RESUME);
        let past = |since: Instant, time: Duration| now.saturating_duration_since(since) > time;
        let gone = |peer: &Peer| {
            if !peer.rtc.is_alive() && peer.connected {
                Some("left: the connection has ended")
            } else if !peer.rtc.is_alive() {
                Some("left: its handshake failed; certificates are of RSA, or of P-256, P-384 or P-521")
            } else if peer.lost.is_some_and(|at| past(at, GRACE)) {
                Some("left: nothing arrives any more")
            } else if !peer.connected && past(peer.joined, JOIN_DEADLINE) {
                Some("left: it did not connect in time")
            } else {
                None
            }
        };
        let gone: Vec<_> = self.peers.values().filter_map(|peer| Some((peer.id, gone(peer)?))).collect();
        gone.into_iter().for_each(|(id, why)| self.part(id, why));
        self.repeat_handshakes();
        self.order_layers();
        for peer in self.peers.values_mut() {
            peer.messages = 0;
            peer.received.tick();
            peer.sent.tick();
            peer.sound.tick();
            peer.layers.iter_mut().for_each(|layer| layer.meter.tick());
            let rates = peer.layer_rates().map(BitRate::from_bps_f64);
            if peer.is_scalable() {
                self.room.on_scalable_layers(when, peer.id, &rates);
            } else {
                self.room.on_layers(when, peer.id, &rates);
            }
            let lately = |at: Instant| now.saturating_duration_since(at) <= TICK;
            let fell = |at: When| when.since(at).as_nanos() <= TICK.as_nanos() as u64;
            // What the room itself estimates falls in the mean later than it does.
            let told = peer.downlink.fell().filter(|_| peer.feedback == Feedback::Remb);
            let fell = [told, peer.uplink.fell()].into_iter().flatten().any(fell);
            let waits = std::mem::take(&mut peer.fell) || fell || peer.arrivals.full().is_some_and(lately);
            let waits = waits || peer.waits();
            let lost = std::mem::take(&mut peer.trouble);
            self.room.on_path(when, peer.id, waits || lost);
            if lost && peer.sound.rate() > 0.0 {
                self.room.on_sound_lost(when, peer.id);
            }
            let own = peer.arrivals.estimate();
            if peer.claim > 0.0 || own.is_some() {
                // A claim above what arrives cannot be checked: it counts as a lower bound, and only up to a multiple. Where a queue contradicts
                // it, the server's own estimate bounds it, and where there is none stands in for it.
                let received = peer.received.rate();
                let claim = if peer.claim > 0.0 { peer.claim } else { own.unwrap_or(received) };
                let full = peer.arrivals.full();
                let full = full.is_some_and(|at| now.saturating_duration_since(at) < CONTRADICTS);
                let doubtful = full && own.is_some_and(|own| claim > own * DOUBTFUL);
                let most = own.filter(|_| doubtful).unwrap_or((received * CLAIM).max(300e3));
                let claim = claim.min(most);
                if !doubtful {
                    // Not what arrives above it: that varies, which would look like falls of an estimate.
                    peer.uplink.take(when, claim, received);
                }
                let kind = if doubtful { EstimateKind::AtLeast } else { peer.uplink.kind(when, received) };
                let rate = BitRate::from_bps_f64(claim.max(received));
                self.room.on_uplink(when, peer.id, Estimate { rate, kind, at: when });
            }
        }
        let ids: Vec<ClientId> = self.peers.keys().copied().collect();
        for id in &ids {
            if self
                .peers
                .get(id)
                .is_some_and(|peer| peer.feedback == Feedback::Remb && peer.downlink.rate() > 0.0)
            {
                self.try_next(*id);
            }
            self.report_downlink(*id);
            self.show(*id);
        }
        for id in &ids {
            self.want(*id);
            self.tell_view(*id);
        }
    }

    /// Lets OpenSSL look at its clock. str0m-openssl 0.6 does so for datagrams that come, but not when time passes: a first message that was lost
    /// would not be repeated, and a client that waits for it (`a=setup:passive`) sends none.
    fn repeat_handshakes(&mut self) {
        let now = self.now;
        let waits = |peer: &&Peer| {
            !peer.connected && peer.reached.is_some_and(|at| now.saturating_duration_since(at) >= REPEAT)
        };
        let waiting: Vec<ClientId> = self.peers.values().filter(waits).map(|peer| peer.id).collect();
        for id in waiting {
            let source = self.addresses.iter().find(|(_, other)| **other == id).map(|(address, _)| *address);
            let (Some(source), Ok(contents)) = (source, NO_RECORD.as_slice().try_into()) else { continue };
            let receive = Receive { proto: Protocol::Udp, source, destination: self.address, contents };
            self.mutate(id, |rtc| {
                if rtc.handle_input(Input::Receive(now, receive)).is_err() {
                    rtc.disconnect();
                }
            });
        }
    }

    /// Puts the layers of each sender in the order of their sizes; those who watch one go on with it until they get the one they want.
    fn order_layers(&mut self) {
        let ordered: Vec<_> =
            self.peers.values_mut().filter_map(|peer| Some((peer.id, peer.order_layers()?))).collect();
        for (id, places) in ordered {
            let slots = self.peers.values_mut().flat_map(|peer| &mut peer.slots);
            for slot in slots.filter(|slot| slot.source == Some(id)) {
                slot.current = slot.current.map(|layer| places[usize::from(layer)] as u8);
            }
        }
    }

    /// Seats the sources of a viewer and passes its views to the room.
    pub(super) fn show(&mut self, id: ClientId) {
        let when = self.when();
        let sources: Vec<(ClientId, Codec)> = self
            .peers
            .values()
            .filter(|peer| peer.video.is_some())
            .map(|peer| (peer.id, peer.codec))
            .collect();
        self.note_unshown(id, &sources);
        let scalable = self.scalable();
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let before: Vec<_> = peer.slots.iter().filter_map(|slot| slot.source).collect();
        let changed = peer.seat(&sources);
        let wanted = peer.wanted.as_ref();
        let views: Vec<Viewing> = peer
            .slots
            .iter()
            .filter_map(|slot| {
                let source = slot.source?;
                let wanted = wanted.and_then(|wanted| wanted.get(&source)).copied();
                let wanted = wanted.unwrap_or(Wanted { largest: 2, priority: 0 });
                let largest = layer_of_size(wanted.largest, scalable.contains(&source));
                Some(Viewing { source, largest, priority: wanted.priority })
            })
            .collect();
        if changed || wanted.is_some() || before.is_empty() {
            self.room.on_views(when, id, &views);
        }
    }

    /// The participants who send scalable layers.
    pub(super) fn scalable(&self) -> BTreeSet<ClientId> {
        self.peers.values().filter(|peer| peer.is_scalable()).map(|peer| peer.id).collect()
    }

    /// Says once of which sources a viewer cannot show the pictures.
    fn note_unshown(&mut self, id: ClientId, sources: &[(ClientId, Codec)]) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let has = |codec| peer.slots.is_empty() || peer.slots.iter().any(|slot| slot.number(codec).is_some());
        let unshown = sources.iter().filter(|(source, codec)| *source != id && !has(*codec));
        let unshown: BTreeMap<ClientId, Codec> = unshown.copied().collect();
        let new: Vec<_> = unshown.iter().filter(|(source, _)| !peer.unshown.contains(source)).collect();
        let lines: Vec<_> = new.into_iter().map(|(source, codec)| (*source, *codec)).collect();
        peer.unshown = unshown.into_keys().collect();
        for (source, codec) in lines {
            let (to, of) = (self.name(id).to_owned(), self.name(source).to_owned());
            self.note(format!("{to} cannot show {of}, who sends {codec}"));
        }
    }

    /// Carries out what the room decided.
    pub(super) fn carry_out(&mut self) {
        loop {
            let when = self.when();
            match self.room.poll_action(when) {
                None => return,
                Some(Action::Hold { member, notice, layers }) => {
                    let rate = notice.rate.as_bps() as f64;
                    let text =
                        json!({"t": "notice", "sequence": notice.sequence, "rate": rate, "layers": layers});
                    let text = text.to_string();
                    self.tell(member, &text);
                    let Some(peer) = self.peers.get_mut(&member) else { continue };
                    let foreign = peer.channel.is_none();
                    if foreign {
                        // A client without this room's channel knows nothing of notices.
                        self.limit_by_remb(member, rate);
                        self.room.on_acknowledged(member, notice.sequence);
                    }
                    let Some(peer) = self.peers.get_mut(&member) else { continue };
                    peer.taken = layers;
                    if (peer.held - rate).abs() > f64::EPSILON {
                        peer.held = rate;
                        self.note_hold(member, rate);
                    }
                }
                Some(Action::Forward { viewer, source, layer }) => self.forward(viewer, source, layer),
                Some(Action::ProbeUplink { member, rate }) => {
                    // A lost one is repeated at the next check.
                    self.tell(member, &json!({"t": "probe", "rate": rate.as_bps()}).to_string());
                }
                Some(Action::Begin { member, rate }) => self.begin_anew(member, rate.as_bps() as f64),
                Some(Action::Probe { member, rate }) => {
                    let rate = rate.map(|rate| rate.as_bps() as f64);
                    let Some(peer) = self.peers.get_mut(&member) else { continue };
                    peer.probe = rate;
                    self.want(member);
                }
            }
        }
    }

    /// Begins the estimate of a downlink anew at a rate in bit/s, or tries that rate where only the client estimates.
    pub(super) fn begin_anew(&mut self, id: ClientId, rate: f64) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if peer.feedback == Feedback::Remb {
            peer.trial = peer.trial.max(rate);
        } else {
            peer.anew = Some(self.now);
            self.mutate(id, |rtc| rtc.bwe().reset(Bitrate::bps(rate as u64)));
        }
        let name = self.name(id).to_owned();
        self.note(format!("{name}'s downlink is estimated anew, as nothing is lost and nothing waits"));
    }

    /// Holds a sender by REMB, which every browser obeys, but under which it loses its own estimate.
    fn limit_by_remb(&mut self, member: ClientId, rate: f64) {
        let streams: Vec<_> = self
            .peers
            .get(&member)
            .into_iter()
            .flat_map(|peer| peer.layers.iter().filter_map(|layer| layer.stream))
            .collect();
        let rate = Bitrate::bps(if rate > 0.0 { rate as u64 } else { NO_LIMIT });
        for stream in streams {
            self.mutate(member, |rtc| {
                if let Some(stream) = rtc.direct_api().stream_rx(&stream) {
                    stream.request_remb(rate);
                }
            });
        }
    }

    fn note_hold(&mut self, member: ClientId, rate: f64) {
        let name = self.name(member).to_owned();
        let reason = self.room.explain_sender(member);
        let gain = reason.as_ref().map_or(0, |reason| reason.gain) as f64;
        let bound = |constraint| reason.as_ref().is_some_and(|reason| reason.binding.contains(&constraint));
        let sound = bound(Constraint::Sound);
        let mut taken = None;
        if let Some(peer) = self.peers.get_mut(&member) {
            peer.reason = reason;
            taken = peer.taken;
        }
        self.note(if rate <= 0.0 {
            format!("{name} is released")
        } else if gain >= 1e3 {
            format!(
                "{name} is held at {:.2} Mb/s up, so that {name} gets {:.2} Mb/s more of the others",
                rate / 1e6,
                gain / 1e6
            )
        } else if let Some(layers) = taken {
            format!("{name} sends nothing above layer {layers}, as nobody takes a larger picture")
        } else if sound {
            format!("{name} is held at {:.2} Mb/s up, so that {name} hears the others", rate / 1e6)
        } else {
            format!("{name} is held at {:.2} Mb/s up", rate / 1e6)
        });
    }

    fn forward(&mut self, viewer: ClientId, source: ClientId, layer: Option<u8>) {
        let scalable = self.peers.get(&source).is_some_and(Peer::is_scalable);
        let Some(peer) = self.peers.get_mut(&viewer) else { return };
        let connected = peer.connected;
        let slots = &mut peer.slots;
        let Some(slot) = slots.iter_mut().find(|slot| slot.source == Some(source)) else { return };
        let before = slot.wanted;
        slot.wanted = layer;
        // A lower layer is forwarded from its key frame on, but the higher one stops now: its link is too full already. Of a scalable stream
        // the next picture is smaller.
        if layer < slot.current && !(scalable && layer.is_some()) {
            slot.current = None;
            slot.continuity.stop();
        }
        if scalable && layer < before {
            slot.fell = Some(self.now);
        }
        if let Some(layer) = slot.missing(self.now, scalable).filter(|_| connected) {
            self.ask_key(source, layer);
        }
        self.repair(viewer);
        let size =
            |layer: Option<u8>| layer.map_or("nothing".to_owned(), |layer| format!("layer {}", layer + 1));
        let why = self.room.explain(viewer, source).map(|reason| reason.to_string()).unwrap_or_default();
        let (to, of) = (self.name(viewer).to_owned(), self.name(source).to_owned());
        // The sentence is written for the viewer itself.
        let why = why.replace("your", &format!("{to}'s"));
        self.note(format!("{to} gets {} of {of} instead of {}: {why}", size(layer), size(before)));
    }

    /// Tells the congestion control of a downlink how much it may look for.
    pub(super) fn want(&mut self, id: ClientId) {
        // Without a reason to look for more than is forwarded now, an estimate would never show that more fits.
        let useful = self.useful(id) * DESIRED;
        let limit = self.room.state(id).and_then(|state| state.server_limit());
        let (now, scalable) = (self.now, self.scalable());
        let again: Vec<(ClientId, u8)> = self
            .peers
            .get_mut(&id)
            .into_iter()
            .filter(|peer| peer.connected)
            .flat_map(|peer| &mut peer.slots)
            .filter_map(|slot| {
                let source = slot.source?;
                Some((source, slot.missing(now, scalable.contains(&source))?))
            })
            .collect();
        again.into_iter().for_each(|(source, layer)| self.ask_key(source, layer));
        let Some(peer) = self.peers.get_mut(&id) else { return };
        // A probe would wait, too, and be lost where the queue is full.
        let wanted = if peer.waits() { 0.0 } else { peer.probe.unwrap_or(0.0).max(useful) };
        let wanted = wanted.max(100e3);
        let desired = limit.map_or(wanted, |limit| wanted.min(limit.as_bps() as f64));
        if (desired - peer.desired).abs() > peer.desired * 0.1 {
            peer.desired = desired;
            self.mutate(id, |rtc| rtc.bwe().set_desired_bitrate(Bitrate::bps(desired as u64)));
        }
    }

    /// The rate of the largest layers that a viewer asks for.
    fn useful(&self, id: ClientId) -> f64 {
        let Some(peer) = self.peers.get(&id) else { return 0.0 };
        let sources = peer.slots.iter().filter_map(|slot| slot.source);
        sources
            .map(|source| {
                let largest = peer
                    .wanted
                    .as_ref()
                    .and_then(|wanted| wanted.get(&source))
                    .map_or(2, |wanted| wanted.largest);
                let Some(source) = self.peers.get(&source) else { return 0.0 };
                let count = usize::from(layer_of_size(largest, source.is_scalable())) + 1;
                // What is held back comes back for the first link with room for it.
                let rates = self.room.layers_of(source.id).into_iter().take(count);
                rates.map(|rate| rate.as_bps() as f64).fold(0.0, f64::max)
            })
            .sum()
    }

    /// Tells a participant; whether the message is on its way.
    pub(super) fn tell(&mut self, id: ClientId, message: &str) -> bool {
        /// Bytes that may wait for a slow reader.
        const MOST_WAITING: usize = 64 << 10;
        let Some(channel) = self.peers.get(&id).and_then(|peer| peer.channel) else { return false };
        let mut told = false;
        self.mutate(id, |rtc| {
            if let Some(mut channel) = rtc.channel(channel)
                && channel.buffered_amount() < MOST_WAITING
            {
                // A refused message is as good as a lost one: the next view and the next repetition follow.
                told = channel.write(false, message.as_bytes()).unwrap_or(false);
            }
        });
        told
    }
}

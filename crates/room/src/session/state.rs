//! The state of a room for its page, for programs, and for Prometheus.

use std::fmt::Write as _;

use airbound_senders::conference::plum::State;
use airbound_senders::conference::room::{EstimateKind, Gauge};

use super::*;

/// Shortest time from one view to the next.
const VIEW: Duration = Duration::from_millis(400);
/// Longest time from one view to the next, in seconds.
const LONGEST_VIEW: f64 = 4.0;
/// Part of a downlink that views may take.
const VIEWS: f64 = 0.05;
/// Lines of the log in one view.
const NEWEST: usize = 12;

/// A rate in whole bits per second.
fn bps(rate: f64) -> u64 {
    rate.max(0.0) as u64
}

impl Session {
    /// Tells one participant its own view, a line on each of the others, and what the log has that it was not told yet. On a narrow link it does
    /// so less often: what a view takes, pictures and sound cannot have.
    pub(super) fn tell_view(&mut self, id: ClientId) {
        let Some(peer) = self.peers.get(&id) else { return };
        if self.now < peer.next_view || peer.channel.is_none() {
            return;
        }
        // Before the first estimate, what a room assumes of a downlink.
        let known = Some(peer.downlink.rate()).filter(|rate| *rate > 0.0);
        let downlink = known.unwrap_or(self.room.config().start.as_bps() as f64);
        let host = peer.host;
        let new = (self.lines - peer.told).min(NEWEST).min(self.log.len());
        let Some(own) = self.member(id, true) else { return };
        let others: Vec<Value> = self.peers.keys().filter_map(|other| self.member(*other, false)).collect();
        let recent = self.log.iter().skip(self.log.len() - new);
        let log: Vec<Value> =
            recent.map(|line| json!([(line.at * 10.0).round() / 10.0, line.text])).collect();
        let policy = self.room.config().policy.name();
        let message =
            json!({"t": "view", "policy": policy, "host": host, "own": own, "members": others, "log": log});
        let message = message.to_string();
        let told = self.tell(id, &message);
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if told {
            peer.told = self.lines;
        }
        let pause = message.len() as f64 * 8.0 / (downlink * VIEWS);
        peer.next_view = self.now + Duration::from_secs_f64(pause.min(LONGEST_VIEW)).max(VIEW);
    }

    fn member(&self, id: ClientId, views: bool) -> Option<Value> {
        let peer = self.peers.get(&id)?;
        let state = self.room.state(id)?;
        let limit = state.server_limit().map(BitRate::as_bps);
        let held = (peer.held > 0.0).then(|| bps(peer.held));
        let binding = peer.reason.as_ref().map(|reason| &reason.binding);
        let kind = |gauge: &Gauge, sent: f64| match gauge.kind(self.when(), sent) {
            EstimateKind::Exact => "exact",
            EstimateKind::AtLeast => "at-least",
        };
        let (up, down) = (peer.received.rate(), peer.sent.rate());
        let by = match peer.feedback {
            Feedback::TransportWide => "server",
            Feedback::Remb => "client",
            Feedback::Nothing => "nothing",
        };
        let mut member = json!({
            "id": id.0,
            "name": peer.name,
            "state": match state { State::Natural => "natural", State::ClientConstrained { .. } => "sender-held", State::ServerConstrained { .. } => "forwarding-held" },
            "up": {"rate": bps(up), "estimate": bps(peer.uplink.rate()), "kind": kind(&peer.uplink, up), "limit": held, "binding": binding, "seen": peer.arrivals.estimate().map(bps)},
            "down": {"rate": bps(down), "estimate": bps(peer.downlink.rate()), "kind": kind(&peer.downlink, down), "by": by, "limit": limit},
            "codec": peer.video.map(|_| peer.codec.to_string()),
            "layers": peer.layer_rates().map(bps),
        });
        if let Some(channel) = self.room.channel(id) {
            member["channel"] = json!(channel.sum.as_bps());
        }
        if let Some(layers) = peer.taken {
            member["up"]["layers"] = json!(layers);
        }
        if views {
            let slots: Vec<Value> = peer.slots.iter().filter_map(|slot| self.view(id, slot)).collect();
            member["views"] = json!(slots);
        }
        Some(member)
    }

    fn view(&self, viewer: ClientId, slot: &crate::peer::Slot) -> Option<Value> {
        let source = slot.source?;
        let reason = self.room.explain(viewer, source);
        let rates = self.peers.get(&source).map(Peer::layer_rates).unwrap_or_default();
        let rate = slot.current.and_then(|layer| rates.get(usize::from(layer)));
        Some(json!({
            "mid": slot.mid.to_string(),
            "from": source.0,
            "name": self.name(source),
            "layer": slot.current,
            "wanted": slot.wanted,
            "rate": bps(rate.copied().unwrap_or(0.0)),
            "why": reason.as_ref().map(ToString::to_string),
            "binding": reason.map(|reason| reason.binding),
            "switches": slot.switches,
        }))
    }

    /// The state of the room as JSON.
    #[must_use]
    pub fn state(&self) -> Value {
        let members: Vec<Value> = self.peers.keys().filter_map(|id| self.member(*id, true)).collect();
        let counters = self.room.counters();
        json!({
            "policy": self.room.config().policy.name(),
            "seconds": self.now.saturating_duration_since(self.start).as_secs_f64(),
            "members": members,
            "counts": {
                "datagrams": self.received, "forwarded": self.forwarded, "refused": self.refused, "decisions": counters.decisions, "raised": counters.raised,
                "lowered": counters.lowered, "solved": counters.solved, "failed": counters.failed,
            },
            "log": self.log.iter().map(|line| json!([line.at, line.text])).collect::<Vec<_>>(),
        })
    }

    /// The state of the room for Prometheus, in its text format.
    #[must_use]
    pub fn metrics(&self, room: &str) -> String {
        let mut text = String::new();
        let counters = self.room.counters();
        let mut one = |name: &str, labels: String, value: f64| {
            let _ = writeln!(text, "airbound_room_{name}{{room=\"{room}\"{labels}}} {value}");
        };
        one("members", String::new(), self.peers.len() as f64);
        one("datagrams_total", String::new(), self.received as f64);
        one("forwarded_total", String::new(), self.forwarded as f64);
        one("steps_total", ",step=\"up\"".to_owned(), counters.raised as f64);
        one("steps_total", ",step=\"down\"".to_owned(), counters.lowered as f64);
        for peer in self.peers.values() {
            let label = |way: &str| format!(",member=\"{}\",way=\"{way}\"", peer.id.0);
            one("rate_bps", label("up"), peer.received.rate().round());
            one("rate_bps", label("down"), peer.sent.rate().round());
            one("estimate_bps", label("up"), peer.uplink.rate().round());
            one("estimate_bps", label("down"), peer.downlink.rate().round());
            one("held_bps", label("up"), peer.held.round());
        }
        text
    }
}

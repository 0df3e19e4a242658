//! Send times (`SO_TXTIME`): packets are handed to the kernel up to a millisecond before they leave, and `fq` sends each at its time. The
//! edge then wakes twice a millisecond at most, not for each packet.

use airbound_linux::qdisc::{self, Kind};
use airbound_linux::udp::UdpSocket;
use airbound_units::Span;
use serde_json::{Value, json};

use super::error::RelayError;

/// Time by which packets are handed over before they leave.
const AHEAD: Span = Span::from_millis(1);

/// An interface that is asked to send packets at their times, and whether it does.
#[derive(Debug)]
pub(super) struct SendTimes {
    interface: String,
    in_force: bool,
}

impl SendTimes {
    /// Binds a socket to an interface, and asks for times there.
    ///
    /// # Errors
    /// There is no such interface, or its queueing discipline keeps no times.
    pub(super) fn ask(interface: &str, socket: &UdpSocket) -> Result<Self, RelayError> {
        let kinds = qdisc::kinds(interface).map_err(|error| RelayError::Input(format!("txtime: {error}")))?;
        if !qdisc::keep_times(&kinds) {
            return Err(RelayError::Input(format!(
                "txtime: {}; `tc qdisc replace dev {interface} root fq` sets it",
                lacking(interface, &kinds)
            )));
        }
        socket.send_times(interface)?;
        Ok(Self { interface: interface.to_owned(), in_force: false })
    }

    pub(super) fn interface(&self) -> &str {
        &self.interface
    }

    /// Looks whether times are kept. Returns a change: the time by which packets are handed over from now on, fields of a note, the reason.
    pub(super) fn look(&mut self) -> Option<(Span, Value, String)> {
        let kinds = qdisc::kinds(&self.interface).unwrap_or_default();
        let keeps = qdisc::keep_times(&kinds);
        if keeps == self.in_force {
            return None;
        }
        self.in_force = keeps;
        let (ahead, why) = if keeps {
            (AHEAD, format!("fq of {} sends each packet at its time", self.interface))
        } else {
            (Span::ZERO, lacking(&self.interface, &kinds))
        };
        Some((ahead, json!({ "interface": self.interface, "ahead_us": ahead.as_micros() }), why))
    }
}

/// The reason why an interface keeps no times.
fn lacking(interface: &str, kinds: &[Kind]) -> String {
    let has = if kinds.is_empty() {
        "none".to_owned()
    } else {
        kinds.iter().map(Kind::to_string).collect::<Vec<_>>().join(", ")
    };
    format!(
        "{interface} sends no packet at its time: its queueing discipline is {has}, and only fq does that"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_without_fq_is_refused_with_the_remedy() {
        assert_eq!(
            lacking("eth0", &[Kind::Mq, Kind::Other("fq_codel".to_owned())]),
            "eth0 sends no packet at its time: its queueing discipline is mq, fq_codel, and only fq does that"
        );
        let socket = UdpSocket::bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).expect("loopback");
        let error = SendTimes::ask("no-such-device", &socket).expect_err("no such device");
        assert_eq!(error.code(), 2);
        assert!(
            error.to_string().starts_with("txtime: there is no network interface no-such-device"),
            "{error}"
        );
    }
}

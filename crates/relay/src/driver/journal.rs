//! The journal: one line of JSON for each event, with time and reason.

use std::path::Path;

use airbound_linux::service::LineWriter;
use airbound_units::Instant;
use serde_json::{Map, Value, json};

use super::error::RelayError;
use crate::protocol::Event;

/// A writer of events.
#[derive(Debug)]
pub(super) struct Journal(LineWriter);

impl Journal {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, RelayError> {
        let lines = LineWriter::open(path).map_err(|error| {
            let path = path.unwrap_or(Path::new("standard error")).display();
            RelayError::Input(format!("the journal {path} cannot be opened: {error}"))
        });
        Ok(Self(lines?))
    }

    pub(super) fn event(&mut self, now: Instant, event: &Event) {
        self.line(now, fields(event), &event.why());
    }

    /// An event of the program around the protocol.
    pub(super) fn note(&mut self, now: Instant, event: &str, fields: Value, why: &str) {
        let mut line = json!({ "event": event });
        if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
            line.extend(fields);
        }
        self.line(now, line, why);
    }

    fn line(&mut self, now: Instant, fields: Value, why: &str) {
        let mut line = Map::new();
        // Rounded to microseconds.
        line.insert("t_s".to_owned(), Value::from((now.as_secs_f64() * 1e6).round() / 1e6));
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        line.insert("why".to_owned(), Value::from(why));
        if self.0.lost() > 0 {
            line.insert("lost_lines".to_owned(), Value::from(self.0.lost()));
        }
        self.0.write(format!("{}\n", Value::Object(line)));
    }
}

fn fields(event: &Event) -> Value {
    match event {
        Event::Joined { client, address, epoch, resumes } => json!({
            "event": "joined", "client": client, "address": address.to_string(), "epoch": epoch, "resumes": resumes,
        }),
        Event::Moved { client, from, to } => json!({
            "event": "moved", "client": client, "from": from.to_string(), "to": to.to_string(),
        }),
        Event::Proven { client, address } => {
            json!({ "event": "address-proven", "client": client, "address": address.to_string() })
        }
        Event::Mtu { client, bytes } => json!({ "event": "mtu", "client": client, "bytes": bytes }),
        Event::Rate { client, rate, level, .. } => json!({
            "event": "rate", "client": client, "mbps": (rate.as_mbps_f64() * 1e3).round() / 1e3,
            "level": level.map(|level| (level * 100.0).round() / 100.0),
        }),
        Event::Left { client, .. } => json!({ "event": "left", "client": client }),
        Event::EdgeSilent { silence } => json!({ "event": "edge-silent", "silence_ms": silence.as_millis() }),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use airbound_senders::stream::Reason;
    use airbound_units::{BitRate, Span};

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("one thread").extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_has_time_event_numbers_and_reason() {
        let shared = Shared::default();
        let mut journal = Journal(LineWriter::to(Box::new(shared.clone())));
        let (client, rate) = ("vr".to_owned(), BitRate::from_mbps(250));
        let event =
            Event::Rate { client, rate, level: Some(31.987), reason: Reason::AirFull, distance: Span::ZERO };
        journal.event(Instant::from_nanos(1_500_000_000), &event);
        drop(journal);
        let text = String::from_utf8(shared.0.lock().expect("one thread").clone()).expect("UTF-8");
        let line: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            (&line["t_s"], &line["mbps"], &line["level"]),
            (&json!(1.5), &json!(250.0), &json!(31.99))
        );
        assert!(line["why"].as_str().is_some_and(|why| why.starts_with("the air is full")));
    }
}

//! Several radios in one file: `[[radio]]` tables. A radio has the keys of the file's top, but for those of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::read::Source;
use super::{Config, Metrics};
use crate::error::AgentError;

/// Most radios of a file.
const MOST: usize = 16;

/// One of several radios of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Radio {
    /// Its name: its first interface.
    pub name: String,
    /// Its place in the file, from 0.
    pub place: u16,
}

impl Radio {
    /// The endpoint of this radio where `first` is that of the file's first one: a port higher for each radio before it.
    ///
    /// # Errors
    /// There is no such port.
    pub fn metrics(&self, first: Metrics) -> Result<Metrics, String> {
        let Metrics::At(mut address) = first else { return Ok(first) };
        // Port 0 is any free one.
        if address.port() != 0 {
            let port = address.port().checked_add(self.place).ok_or_else(|| {
                format!(
                    "metrics is {first_port}, and radio {name} would have a port above 65535; each radio has the next \
                     port, or a metrics of its own",
                    first_port = address,
                    name = self.name
                )
            })?;
            address.set_port(port);
        }
        Ok(Metrics::At(address))
    }

    /// The journal of this radio, beside `journal`: `agent.jsonl` becomes `agent-wlan0.jsonl`.
    #[must_use]
    pub fn journal(&self, journal: &Path) -> PathBuf {
        let mut name = journal.file_stem().map_or_else(OsString::new, OsString::from);
        name.push("-");
        name.push(&self.name);
        if let Some(extension) = journal.extension() {
            name.push(".");
            name.push(extension);
        }
        journal.with_file_name(name)
    }
}

impl Config {
    /// Reads a configuration file's text; `file` names it in messages. One configuration for each `[[radio]]` table, or the only one.
    ///
    /// # Errors
    /// [`AgentError::Config`] with the file and the line.
    pub fn read_all(file: &str, text: &str) -> Result<Vec<Self>, AgentError> {
        let source = Source { file, text };
        let mut keys = source.keys()?;
        let Some(radios) = keys.get_mut().remove("radio") else {
            let config = source.config(&keys)?;
            source.check_values(&keys, &config, "")?;
            return Ok(vec![config]);
        };
        source.check(keys.clone())?;
        if let Some(interface) = keys.get_ref().get("interface") {
            let problem = "interface stands above [[radio]] tables; each of them names its own".to_owned();
            return Err(source.at(interface.span().start, problem));
        }
        let start = radios.span().start;
        let own = tables(radios).ok_or_else(|| {
            source.at(start, format!("radio is wrong; allowed are 1 to {MOST} tables [[radio]]"))
        })?;
        let several = own.len() > 1;
        let mut read: Vec<Self> = Vec::new();
        for (place, own) in (0..).zip(own) {
            let config = one(&source, keys.get_ref(), own, several.then_some(place), &read)?;
            read.push(config);
        }
        Ok(read)
    }
}

/// The tables of `[[radio]]`; `None`: it is something else.
fn tables(radios: Spanned<DeValue<'_>>) -> Option<Vec<Spanned<DeTable<'_>>>> {
    let DeValue::Array(array) = radios.into_inner() else { return None };
    let tables = array.into_iter().map(|radio| match (radio.span(), radio.into_inner()) {
        (span, DeValue::Table(table)) => Some(Spanned::new(span, table)),
        _ => None,
    });
    let tables = tables.collect::<Option<Vec<_>>>()?;
    (1..=MOST).contains(&tables.len()).then_some(tables)
}

/// A radio's configuration. `place` is set where there are several; `before` are those read so far.
fn one(
    source: &Source<'_>,
    top: &DeTable<'_>,
    own: Spanned<DeTable<'_>>,
    place: Option<u16>,
    before: &[Config],
) -> Result<Config, AgentError> {
    let span = own.span();
    let start = span.start;
    let own = own.into_inner();
    let line_of = |key: &str| own.get(key).map(|value| value.span().start);
    let (interface, metrics, journal, queue_number) =
        (line_of("interface"), line_of("metrics"), line_of("journal"), line_of("queue-number"));
    let keys = Spanned::new(span, over(top, own));
    let mut config = source.config(&keys)?;
    let Some(name) = config.interfaces.first().cloned() else {
        let problem = "radio.interface is missing; a radio names its interface, or a list of them".to_owned();
        return Err(source.at(interface.unwrap_or(start), problem));
    };
    if let Some(place) = place {
        let radio = Radio { name: name.clone(), place };
        if metrics.is_none() {
            config.metrics = radio.metrics(config.metrics).map_err(|problem| source.at(start, problem))?;
        }
        if journal.is_none() {
            config.journal = config.journal.map(|journal| radio.journal(&journal));
        }
        config.radio = Some(radio);
    }
    source.check_values(&keys, &config, &format!("radio {name}: "))?;
    let twice = |key: &str, place: Option<usize>, value: &str| {
        let problem = format!("radio.{key} {value} occurs twice; each radio has its own");
        Err(source.at(place.unwrap_or(start), problem))
    };
    for (number, interface_name) in config.interfaces.iter().enumerate() {
        let mut earlier = before.iter().flat_map(|other| &other.interfaces);
        if earlier.any(|other| other == interface_name)
            || config.interfaces[..number].contains(interface_name)
        {
            return twice("interface", interface, &format!("{interface_name:?}"));
        }
    }
    for other in before {
        match config.metrics {
            Metrics::At(address) if address.port() != 0 && config.metrics == other.metrics => {
                return twice("metrics", metrics, &address.to_string());
            }
            _ => {}
        }
        match &config.journal {
            Some(path) if config.journal == other.journal => {
                return twice("journal", journal, &path.display().to_string());
            }
            _ => {}
        }
        match config.queue_number {
            Some(number) if config.queue_number == other.queue_number => {
                return twice("queue-number", queue_number, &number.to_string());
            }
            _ => {}
        }
    }
    Ok(config)
}

/// The keys of the top under those of a radio. Tables `law` and `window` are joined key by key; what belongs to the top's scheme is not
/// inherited by a radio that has a scheme of its own.
fn over<'t>(top: &DeTable<'t>, own: DeTable<'t>) -> DeTable<'t> {
    let mut all = top.clone();
    if own.contains_key("scheme") || own.contains_key("queue") {
        for key in ["scheme", "queue", "mechanism"] {
            all.remove(key);
        }
    }
    for (key, value) in own {
        let inherited = all.remove(key.get_ref().as_ref());
        let joined = matches!(key.get_ref().as_ref(), "law" | "window");
        let span = value.span();
        let value = match (inherited.map(Spanned::into_inner), value.into_inner()) {
            (Some(DeValue::Table(mut inherited)), DeValue::Table(own)) if joined => {
                for (key, value) in own {
                    inherited.remove(key.get_ref().as_ref());
                    inherited.insert(key, value);
                }
                DeValue::Table(inherited)
            }
            (_, own) => own,
        };
        all.insert(key, Spanned::new(span, value));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Mechanism, Scheme};
    use airbound_units::Span;

    fn read(text: &str) -> Vec<Config> {
        Config::read_all("agent.toml", text).expect(text)
    }

    fn refusal(text: &str) -> String {
        Config::read_all("agent.toml", text).expect_err(text).to_string()
    }

    const TWO: &str = r#"scheme = "wqm"
mechanism = "hold"
hold-packets = 2000
journal = "/var/log/airbound/agent.jsonl"
watchdog = "1 s"
[window]
aggregate = "2 ms"
packets = 32
[[protect]]
name = "vr"
match = "udp dport 9944"
latency = "20 ms"

[[radio]]
interface = "wlan0"

[[radio]]
interface = ["wlan1", "guest"]
scheme = "last-pq"
watchdog = "2 s"
window = { packets = 16 }
[[radio.protect]]
name = "call"
match = "dscp ef"
latency = "10 ms"
"#;

    #[test]
    fn a_radio_inherits_what_it_does_not_name() {
        let [first, second] = read(TWO).try_into().expect("two");
        assert_eq!(
            (first.interfaces, second.interfaces),
            (vec!["wlan0".to_owned()], vec!["wlan1".to_owned(), "guest".to_owned()])
        );
        assert_eq!((first.scheme, first.mechanism), (Scheme::Wqm, Mechanism::Hold));
        // The mechanism is that of the top's scheme.
        assert_eq!((second.scheme, second.mechanism), (Scheme::LastPq, Mechanism::Auto));
        assert_eq!([first.hold_packets, second.hold_packets], [2000; 2]);
        assert_eq!([first.watchdog, second.watchdog], [1, 2].map(Span::from_secs));
        assert_eq!([first.window.aggregate, second.window.aggregate], [Span::from_millis(2); 2]);
        assert_eq!([first.window.packets, second.window.packets], [32, 16]);
        assert_eq!([first.rules.len(), second.rules.len()], [1, 1]);
        assert_eq!([&first.rules[0].name, &second.rules[0].name], ["vr", "call"]);
    }

    #[test]
    fn radios_share_no_port_and_no_journal() {
        let of = |radios: &[Config]| -> Vec<(String, String)> {
            let text = |config: &Config| match config.metrics {
                Metrics::At(address) => address.to_string(),
                Metrics::Off => "off".to_owned(),
            };
            let journal = |config: &Config| {
                config.journal.as_ref().map_or_else(String::new, |path| path.display().to_string())
            };
            radios.iter().map(|config| (text(config), journal(config))).collect()
        };
        let pair = |address: &str, journal: &str| (address.to_owned(), journal.to_owned());
        assert_eq!(
            of(&read(TWO)),
            [
                pair("127.0.0.1:9478", "/var/log/airbound/agent-wlan0.jsonl"),
                pair("127.0.0.1:9479", "/var/log/airbound/agent-wlan1.jsonl")
            ]
        );
        let own = "metrics = \"off\"\n[[radio]]\ninterface = \"a\"\n[[radio]]\ninterface = \"b\"\nmetrics = \"[::1]:7\"\njournal = \"b\"\n";
        assert_eq!(of(&read(own)), [pair("off", ""), pair("[::1]:7", "b")]);
        let alone = "journal = \"j.jsonl\"\n[[radio]]\ninterface = \"a\"\n";
        assert_eq!(of(&read(alone)), [pair("127.0.0.1:9478", "j.jsonl")]);
        assert_eq!(read(alone)[0].radio, None);
    }

    #[test]
    fn errors_of_radios_name_line_and_key() {
        let radio = |name: &str, keys: &str| format!("[[radio]]\ninterface = \"{name}\"\n{keys}");
        let with = |keys: &str| format!("{}{}", radio("a", ""), radio("b", keys));
        let first = |text: &str| refusal(text).split(", expected").next().unwrap_or_default().to_owned();
        assert_eq!(first(&with("shceme = 3\n")), "agent.toml:5: unknown field `shceme`");
        assert_eq!(
            first(&with("[radio.window]\naggregates = 3\n")),
            "agent.toml:6: unknown field `aggregates`"
        );
        assert_eq!(
            first(&with("[[radio.radio]]\ninterface = \"c\"\n")),
            "agent.toml:5: unknown field `radio`"
        );
        // What all radios replace is read, too.
        assert!(
            refusal(&format!("watchdog = 3\n{}", radio("a", "watchdog = \"1 s\"\n")))
                .starts_with("agent.toml:1: ")
        );
        assert!(
            refusal(&with("scheme = \"fast\"\n")).starts_with("agent.toml:5: scheme \"fast\" is unknown")
        );
        assert_eq!(
            refusal(&with("watchdog = \"1 ms\"\n")),
            "agent.toml:5: radio b: watchdog is 1 ms; allowed is 200 ms to 10 s"
        );
        assert!(
            refusal(&format!("hold-packets = 0\n{}", with("")))
                .starts_with("agent.toml:1: radio a: hold-packets is 0")
        );
        assert!(
            refusal(&with("scheme = \"pie\"\nqueue = { kind = \"fifo\" }\n"))
                .starts_with("agent.toml:6: queue.kind is fifo")
        );
        assert!(
            refusal(&with("[[radio.protect]]\nmatch = \"udp dport x\"\nlatency = \"20 ms\"\n"))
                .starts_with("agent.toml:6: protect.match, column 11")
        );
        assert_eq!(
            refusal(&with("[[radio]]\ninterface = [\"c\", \"a\"]\n")),
            "agent.toml:6: radio.interface \"a\" occurs twice; each radio has its own"
        );
        assert!(
            refusal("[[radio]]\ninterface = [\"a\", \"a\"]\n")
                .starts_with("agent.toml:2: radio.interface \"a\" occurs twice")
        );
        assert!(
            refusal(&with("metrics = \"127.0.0.1:9478\"\n"))
                .starts_with("agent.toml:5: radio.metrics 127.0.0.1:9478 occurs twice")
        );
        let shared = format!("queue-number = 80\n{}", with(""));
        assert!(refusal(&shared).starts_with("agent.toml:4: radio.queue-number 80 occurs twice"));
        let named = format!("{}{}", radio("a", "journal = \"j\"\n"), radio("b", "journal = \"j\"\n"));
        assert!(refusal(&named).starts_with("agent.toml:6: radio.journal j occurs twice"));
        let last = format!("metrics = \"127.0.0.1:65535\"\n{}", with(""));
        assert!(refusal(&last).starts_with("agent.toml:4: metrics is 127.0.0.1:65535, and radio b would"));
    }

    #[test]
    fn radios_name_their_interfaces() {
        assert!(
            refusal("[[radio]]\ninterface = \"a\"\n\n[[radio]]\n")
                .starts_with("agent.toml:4: radio.interface is missing")
        );
        assert!(
            refusal("[[radio]]\ninterface = []\n").starts_with("agent.toml:2: radio.interface is missing")
        );
        assert!(
            refusal("\ninterface = \"a\"\n[[radio]]\ninterface = \"b\"\n")
                .starts_with("agent.toml:2: interface stands above")
        );
        for wrong in ["radio = 3", "radio = []", "radio = [3]", "[radio]\ninterface = \"a\""] {
            assert!(
                refusal(wrong).contains("radio is wrong; allowed are 1 to 16 tables [[radio]]"),
                "{wrong}"
            );
        }
        let many: String = (0..17).map(|number| format!("[[radio]]\ninterface = \"w{number}\"\n")).collect();
        assert!(refusal(&many).contains("allowed are 1 to 16"));
    }
}

//! `[radio]`: every frame on the air by itself, with capture and with control frames that are lost on their own.

use std::collections::BTreeMap;

use airbound_air::capture::{Capture as AirCapture, Levels};
use airbound_air::channel::TxId;
use airbound_air::hearing::Hearing as Matrix;
use airbound_air::loss::{Loss, Losses};
use airbound_units::{Dbm, Decibel};
use serde::{Serialize, Serializer};

use super::error::ScenarioError;
use super::hearing::{Hearing, Names};
use super::key::{Key, key};
use super::node::{Node, Value};
use super::section::Section;
use super::{Scenario, text};

/// The rules of a channel on which each frame is on the air by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Radio {
    /// Loss of Ack and BlockAck; `None`: with the data.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "loss")]
    pub answer_loss: Option<Loss>,
    /// Loss of RTS and CTS; `None`: never by noise.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "loss")]
    pub protection_loss: Option<Loss>,
    /// The frame that follows an A-MPDU without BlockAck.
    pub missed_block_ack: MissedBlockAck,
    /// Reception of the stronger of overlapping frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
}

/// The frame that a transmitter sends after an A-MPDU without BlockAck.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissedBlockAck {
    /// The MPDUs again.
    #[default]
    Repeat,
    /// A BlockAckReq, and then the MPDUs that its answer does not acknowledge.
    Request,
}

/// Reception of the stronger of overlapping frames.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Capture {
    /// Ratio of a preamble to all other signals above which it is detected.
    pub preamble: Decibel,
    /// Ratio above which a later frame takes over a receiver; `None` if it never does.
    #[serde(serialize_with = "text::optional")]
    pub takeover: Option<Decibel>,
    /// Levels without places.
    #[serde(flatten)]
    pub levels: Option<GivenLevels>,
}

/// Levels by names.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GivenLevels {
    /// Of those that are not named.
    pub level: Dbm,
    /// By receiver, then by sender.
    pub levels: BTreeMap<String, BTreeMap<String, Dbm>>,
}

fn loss<S: Serializer>(value: &Option<Loss>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(Loss::Share(share)) => serializer.serialize_f64(*share),
        _ => serializer.serialize_str("signal"),
    }
}

pub(super) const KEYS: &[Key] = &[
    key("answer-loss", r#"with the data; `"signal"`, 0–1"#, "of Ack and BlockAck"),
    key("protection-loss", r#"none; `"signal"`, 0–1"#, "of RTS and of CTS"),
    key("missed-block-ack", "**`repeat`** `request`", "after an A-MPDU without BlockAck"),
    key("capture", "none; a table", "of the stronger frame"),
];
pub(super) const CAPTURE_KEYS: &[Key] = &[
    key("preamble", r#"`"4 dB"`; 0–60 dB"#, "over all others: preamble detected"),
    key("takeover", r#"`"none"`; `none`, 0–60 dB"#, "a later, so much stronger frame takes over"),
    key("levels", "by places, or required; tables of tables", "by receiver, of each sender"),
    key("level", r#"`"-40 dBm"`; -150 to 40 dBm"#, "of those not in `levels`"),
];
const WEAKEST: Dbm = Dbm::new(-150.0);
const STRONGEST: Dbm = Dbm::new(40.0);

/// Reads the table, if the scenario has one.
pub(super) fn read(
    top: &Section<'_>,
    hearing: Option<&Hearing>,
    names: &Names<'_>,
) -> Result<Option<Radio>, ScenarioError> {
    if !top.has("radio") {
        return Ok(None);
    }
    let section = top.table("radio")?;
    section.allow("[radio]", &[KEYS])?;
    let capture = if section.has("capture") {
        Some(Capture::read(&section.table("capture")?, hearing, names)?)
    } else {
        None
    };
    Ok(Some(Radio {
        answer_loss: read_loss(&section, "answer-loss")?,
        protection_loss: read_loss(&section, "protection-loss")?,
        missed_block_ack: section.choice(
            "missed-block-ack",
            MissedBlockAck::default(),
            &[("repeat", MissedBlockAck::Repeat), ("request", MissedBlockAck::Request)],
        )?,
        capture,
    }))
}

fn read_loss(section: &Section<'_>, key: &str) -> Result<Option<Loss>, ScenarioError> {
    match section.get(key) {
        None => Ok(None),
        Some(Node { value: Value::Text(word), .. }) if word == "signal" => Ok(Some(Loss::Signal)),
        Some(Node { value: Value::Text(word), .. }) if word.parse::<f64>().is_err() => {
            Err(section.wrong(key, "is neither \"signal\" nor a number; allowed are \"signal\", and 0 to 1"))
        }
        Some(_) => section.number(key, 0.0, 0.0..=1.0).map(|share| Some(Loss::Share(share))),
    }
}

impl Capture {
    fn read(
        section: &Section<'_>,
        hearing: Option<&Hearing>,
        names: &Names<'_>,
    ) -> Result<Self, ScenarioError> {
        section.allow("capture", &[CAPTURE_KEYS])?;
        let margins = || Decibel::new(0.0)..=Decibel::new(60.0);
        let preamble = section.ranged("preamble", Decibel::new(4.0), margins())?;
        let takeover = match section.get("takeover") {
            None => None,
            Some(Node { value: Value::Text(word), .. }) if word == "none" => None,
            Some(_) => Some(section.ranged("takeover", Decibel::new(5.0), margins())?),
        };
        let has_places = matches!(hearing, Some(Hearing::Places(_)));
        let named = ["level", "levels"].into_iter().find(|key| section.has(key));
        let levels = match (has_places, named) {
            (true, None) => None,
            (true, Some(key)) => {
                return Err(section.wrong(key, "is beside hearing.places; levels follow from the places"));
            }
            (false, _) if !section.has("levels") => {
                let write = "write levels = { access-point = { phone = \"-60 dBm\" } }, or hearing.places";
                return Err(section.missing("levels", write));
            }
            (false, _) => Some(GivenLevels::read(section, names)?),
        };
        Ok(Self { preamble, takeover, levels })
    }
}

impl GivenLevels {
    fn read(section: &Section<'_>, names: &Names<'_>) -> Result<Self, ScenarioError> {
        let level = section.ranged("level", Dbm::new(-40.0), WEAKEST..=STRONGEST)?;
        let table = section.table("levels")?;
        let mut levels = BTreeMap::new();
        for (receiver, _) in table.entries() {
            names.check(&table, receiver, receiver)?;
            let row = table.table(receiver)?;
            let mut senders = BTreeMap::new();
            for (sender, _) in row.entries() {
                names.check(&row, sender, sender)?;
                let level = row.ranged(sender, level, WEAKEST..=STRONGEST)?;
                if names.numbers(sender).next().is_some() {
                    senders.insert(sender.clone(), level);
                }
            }
            if names.numbers(receiver).next().is_some() {
                levels.insert(receiver.clone(), senders);
            }
        }
        Ok(Self { level, levels })
    }
}

impl Radio {
    /// The control frames that are lost on their own.
    #[must_use]
    pub const fn losses(&self) -> Losses {
        Losses { answers: self.answer_loss, protection: self.protection_loss }
    }
}

impl Scenario {
    /// Capture with the levels of all transmitters of a channel, in the order of [`Scenario::hearing`].
    #[must_use]
    pub fn capture(&self, channel: u16) -> Option<AirCapture> {
        let capture = self.radio.as_ref()?.capture.as_ref()?;
        let names = Names::on(self, channel);
        let numbers = || (0..names.len() as u16).map(TxId);
        let hearing = self.hearing(channel).unwrap_or_else(|| Matrix::complete(names.len()));
        let mut levels = Levels::silent(names.len());
        if let Some(Hearing::Places(places)) = &self.hearing {
            let all: Vec<_> = places.of_all(&names).collect();
            for (receiver, here) in numbers().zip(&all) {
                for (sender, there) in numbers().zip(&all) {
                    if let (Some(here), Some(there)) = (here, there) {
                        levels.set(receiver, sender, self.air.tx_power - places.floor.loss(*there, *here));
                    }
                }
            }
        }
        if let Some(given) = &capture.levels {
            // What is not heard is not there.
            let mut set = |receiver, sender, level| {
                if hearing.hears(receiver, sender) {
                    levels.set(receiver, sender, level);
                }
            };
            numbers().for_each(|receiver| numbers().for_each(|sender| set(receiver, sender, given.level)));
            for (receiver, row) in &given.levels {
                for (sender, level) in row {
                    for receiver in names.numbers(receiver) {
                        names.numbers(sender).for_each(|sender| set(receiver, sender, *level));
                    }
                }
            }
        }
        Some(AirCapture {
            levels,
            preamble: capture.preamble.linear(),
            takeover: capture.takeover.map(Decibel::linear),
        })
    }

    /// Whether each frame is on the air of a channel by itself.
    #[must_use]
    pub fn has_frames(&self, channel: u16) -> bool {
        self.radio.is_some() || self.hearing(channel).is_some()
    }
}

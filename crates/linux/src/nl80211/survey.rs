//! Survey of a channel: its load and noise.

use airbound_units::Span;

use super::attribute;
use crate::netlink::message::Attributes;

/// A driver's counters of a channel (`NL80211_SURVEY_INFO_*`), from an arbitrary start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Survey {
    /// Centre of the channel, MHz.
    pub frequency: u32,
    /// Whether it is the channel in use.
    pub is_in_use: bool,
    /// Noise, dBm.
    pub noise: Option<i8>,
    /// Time on the channel.
    pub time: Option<Span>,
    /// Time sensed busy.
    pub busy: Option<Span>,
    /// Time receiving.
    pub receiving: Option<Span>,
    /// Time sending.
    pub sending: Option<Span>,
}

impl Survey {
    pub(super) fn read(attributes: Attributes<'_>) -> Option<Self> {
        let mut survey = Self::default();
        for attribute in attributes.find(attribute::SURVEY_INFO)?.nested() {
            let millis = attribute.u64().map(Span::from_millis);
            match attribute.kind {
                1 => survey.frequency = attribute.u32()?,
                2 => survey.noise = attribute.u8().map(u8::cast_signed),
                3 => survey.is_in_use = true,
                4 => survey.time = millis,
                5 => survey.busy = millis,
                7 => survey.receiving = millis,
                8 => survey.sending = millis,
                _ => {}
            }
        }
        Some(survey)
    }
}

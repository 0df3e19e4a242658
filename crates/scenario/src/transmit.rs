//! Parts of a scenario in the types of the air and the controllers: common PHY parameters, limits of a transmit path, rates of a
//! station.

use airbound_air::exchange::PhyConfig;
use airbound_control::link::LinkConfig;
use airbound_control::rate::Capabilities;
use airbound_units::{ByteCount, Decibel};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::control_frames::{Basic, ControlTiming};
use airbound_wifi::error::{Decoding, noise_floor};
use airbound_wifi::mpdu::{self, DATA_HEADER, FCS, LLC_SNAP, QOS_DATA_HEADER};
use airbound_wifi::{Format, GuardInterval};

use crate::{Air, ErrorModel, Form, Path, Scenario, Station};

/// An SNR that every frame exceeds.
const ALWAYS_DETECTED: Decibel = Decibel::new(-300.0);

impl Air {
    /// The rates and inter-frame spaces of responses and of RTS.
    #[must_use]
    pub const fn control(&self) -> ControlTiming {
        ControlTiming { band: self.band, basic: Basic::MANDATORY, fixed: self.control_rate }
    }

    /// The parameters common to all radios of the channel.
    #[must_use]
    pub fn phy_config(&self) -> PhyConfig {
        let floor = noise_floor(self.width, self.noise_figure);
        PhyConfig {
            control: self.control(),
            rts_threshold: self.rts_threshold.unwrap_or(ByteCount::MAX),
            decoding: match self.error_model {
                ErrorModel::Nist => Decoding::Hard,
                ErrorModel::Soft => Decoding::Soft,
            },
            implementation_loss: self.implementation_loss,
            detection: self.sensitivity.map_or(ALWAYS_DETECTED, |weakest| weakest - floor),
        }
    }
}

impl Scenario {
    /// Aggregation and retries of a path whose frames have the headers of `standard`.
    #[must_use]
    pub fn link_config(&self, path: &Path, standard: Format) -> LinkConfig {
        let encryption = if self.air.encryption { mpdu::CCMP } else { ByteCount::ZERO };
        let header = if standard == Format::Legacy { DATA_HEADER } else { QOS_DATA_HEADER };
        // A pipe carries packets one by one.
        let is_pipe = self.pipe().is_some();
        LinkConfig {
            ampdu: AmpduLimits {
                max_mpdus: if is_pipe { 1 } else { u32::from(path.max_ampdu_mpdus) },
                max_bytes: path.max_ampdu_bytes,
                max_duration: path.max_ppdu_duration,
            },
            overhead: LLC_SNAP + header + encryption + FCS,
            first_subframe_padding: path.first_subframe_padding,
            window: path.block_ack_window,
            forms_ppdus: true,
            block_ack: path.block_ack,
            aggregates_voice: path.aggregate_voice,
            chain_steps: path.rates_per_grant,
            max_grants: path.max_grants,
            max_tries: path.max_tries,
            give_up_after: None,
            lowers_rate: false,
            forms_ahead: path.form == Form::Ahead,
            completion: path.completion,
            limits: path.time_limits(),
        }
    }

    /// Rates of the access point towards an unknown station.
    #[must_use]
    pub fn access_point_capabilities(&self) -> Capabilities {
        Capabilities {
            format: self.air.standard,
            width: self.air.width,
            max_streams: self.access_point.streams,
            ..Capabilities::default()
        }
    }

    /// Rates between a station and a transmitter with `streams` spatial streams, in both directions.
    #[must_use]
    pub fn capabilities(&self, station: &Station, streams: u8) -> Capabilities {
        Capabilities {
            format: station.standard,
            width: station.width,
            max_streams: station.streams.min(streams).max(1),
            short_guard_interval: self.air.guard_interval == GuardInterval::Ns400,
            rates: station.rate.into_iter().collect(),
        }
    }
}

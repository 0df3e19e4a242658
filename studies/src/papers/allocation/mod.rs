//! Low-delay rate allocation (Gringoli and Leith): the ns-3 experiments, the testbed's figures, and what goes beyond them.

mod bottleneck;
mod cone;
mod gains;
mod knee;
mod load;
mod measure;
mod model;
mod sensing;
mod setting;
mod shares;
mod square;
mod start;
mod stations;
mod steps;
mod uplink;

use super::Study;

/// All experiments, in the order of the paper.
pub(super) fn studies() -> Vec<Box<dyn Study>> {
    vec![
        Box::new(knee::Knee),
        Box::new(model::Model),
        Box::new(load::Loads),
        Box::new(shares::Shares),
        Box::new(stations::Stations),
        Box::new(square::Square),
        Box::new(steps::StreamDrop),
        Box::new(steps::Tracking),
        Box::new(gains::Gains),
        Box::new(sensing::Sensing),
        Box::new(start::Starts),
        Box::new(bottleneck::Bottlenecks),
        Box::new(uplink::Uplinks),
    ]
}

/// Why a claim does not hold in every row, as far as it was found out.
pub(super) fn reason(claim: &str) -> Option<&'static str> {
    Some(match claim {
        "delay-knee" => {
            "by equation 8 the rate at 40 is 40/64 (c + 64 w) / (c + 40 w) of that at 64, for any gain: 0.91 on this air. 0.8 takes c = 46 w, \
             720 us a frame at 780 Mb/s: a channel shared with others, as the testbed's was"
        }
        "random-square" => {
            "with eight stations at MCS 4 K0 = 1 Mb/s per packet is past the critical gain (0.83). Some stations are limited by the block-ack \
             window where Minstrel-HT takes a rate that loses some per cent; corollary 2 does not know it. Under the kernel's Minstrel-HT, \
             which the paper did not use, half of some stations' turns go to samples"
        }
        "stream-drop" => {
            "each round takes off K (64 - 32) = 32 Mb/s, the first 28, since its slot began before the drop: after 7 rounds the rate is 305 of \
             526 Mb/s, and 351 Mb/s carry 304, so that an 8th is needed; the 336 of the paper's 390 Mb/s would take 6. Its 4 rounds need K of \
             about 1.5 Mb/s per packet"
        }
        "noise-rejection" => {
            "the scatter of means falls with the number of frames in them, and in none of three channels does a slower loop lose more \
             than that; the paper's channel (an office by day) is not described"
        }
        "tracking" => {
            "frames limited by the block-ack window while MPDUs are repeated stay small however much waits"
        }
        "retransmissions" => {
            "with 12 % and more of the MPDUs sent again the block-ack window limits frames, which the model does not know"
        }
        "uplink" => {
            "access is drawn between contenders, so that rounds differ and levels scatter by 10 packets"
        }
        _ => return None,
    })
}

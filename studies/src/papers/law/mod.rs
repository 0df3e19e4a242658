//! Law (NSDI 2026): every experiment of Secs. 2 to 4, its appendices, and what it leaves for later.

mod beyond;
mod breakdown;
mod bulk;
mod bursts;
mod choose;
mod fec;
mod frames;
mod measure;
mod moment;
mod naive;
mod network;
mod open;
mod packets;
mod parameters;
mod setting;
mod variants;
mod video;

use super::Study;
use setting::Surroundings;

/// All experiments, in the order of the paper.
pub(super) fn studies() -> Vec<Box<dyn Study>> {
    vec![
        Box::new(parameters::Parameters),
        Box::new(breakdown::Breakdown),
        Box::new(fec::Correction),
        Box::new(naive::Naive(Surroundings::Calm)),
        Box::new(naive::Naive(Surroundings::Office)),
        Box::new(packets::Packets),
        Box::new(choose::Choose),
        Box::new(frames::Frames),
        Box::new(bursts::Bursts),
        Box::new(moment::Moment),
        Box::new(variants::Variants(Surroundings::Calm)),
        Box::new(variants::Variants(Surroundings::Office)),
        Box::new(bulk::Bulk),
        Box::new(open::Open),
        Box::new(beyond::Aggregation),
        Box::new(beyond::Stations),
        Box::new(beyond::Together),
        Box::new(beyond::Later),
    ]
}

/// Why a claim does not hold in every row, as far as it was found out.
pub(super) fn reason(claim: &str) -> Option<&'static str> {
    Some(match claim {
        "packet-loss" => {
            "calm is near the paper's office: there the rivals are as late as its rivals must have been (p99.9 of 186 to 274 ms if Law \
             has 46), and Law loses less than 1 %. In office 10 Mb/s of single frames do not fit beside the neighbours' bursts: with \
             the same bound an ideal rate loses half as much as Law, which is more than 1 %"
        }
        "consecutive-loss" => {
            "what is short of air for 100 ms and more is lost packet after packet under any bound; the rivals keep it and deliver it \
             late, and with 31 transmissions lose next to nothing. The paper's rivals lost runs of packets too"
        }
        "frame-tail" | "per-frame-loss" | "stronger-routers" | "bound-60-vs-46" | "competing-2mbps" => {
            "bad moments are here mostly neighbours' bursts of 100 ms and more, in which half of the air is left. What Law drops then, \
             beyond what error correction repairs, has to be sent again over the same air: the frame comes later than if its \
             packets had waited. Dropping pays where a channel fails a packet and not where it is short of air (docs/understand/law.md)"
        }
        "bbr" => {
            "calm as printed. In office BBR loses 16 % of its packets under the bound, which it does not mind, but the probes and \
             retries of Law find the air short"
        }
        "fairness" => {
            "BBR in calm as printed. Under Law each stream of video has its own losses, and with them its own fate under Google \
             congestion control"
        }
        "naive-a" | "naive-b" => {
            "the trend holds; the usual setting loses next to nothing here, so that any additional loss is a large factor"
        }
        "choose-bound" => {
            "the interval depends on how late the rivals are: 65 to 118 ms in calm; the paper's was around 46 ms"
        }
        _ => return None,
    })
}

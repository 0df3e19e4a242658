//! LAST-PQ (PerCom 2024): every experiment of Sec. III and VI.

mod auto;
mod case_study;
mod cost;
mod edca;
mod held;
mod measure;
mod mobility;
mod parameters;
mod place;
mod runtime;
mod setting;
mod slack;
mod static_case;

use super::Study;

/// All experiments, in the order of the paper.
pub(super) fn studies() -> Vec<Box<dyn Study>> {
    vec![
        Box::new(parameters::Parameters),
        Box::new(case_study::CaseStudy),
        Box::new(place::Places),
        Box::new(runtime::Runtime),
        Box::new(static_case::Static),
        Box::new(static_case::Open),
        Box::new(mobility::Mobility),
        Box::new(edca::Clients),
        Box::new(edca::TwoStreams),
        Box::new(held::Held),
        Box::new(cost::Cost),
        Box::new(slack::Slack),
        Box::new(auto::Home),
        Box::new(auto::Households),
    ]
}

//! The laboratory: the simulator beside the real Linux stack, demonstrations of the agent, and faults.

mod beside;
mod demonstrations;
mod faults;
mod stack;

pub use demonstrations::{AgentBooks, Demonstration, first_look};
pub use faults::{FAULTS_SCENARIO, fault_rows, faults_script};
pub use stack::{LAB_TITLE, LabSetting, rows as lab_rows};

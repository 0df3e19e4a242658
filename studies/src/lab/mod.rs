//! The laboratory: the simulator beside the real Linux stack, demonstrations of the agent, faults, and the doctor's cases.

mod beside;
mod cases;
mod demonstrations;
mod faults;
mod patients;
mod stack;

pub use demonstrations::{AgentBooks, Demonstration, first_look};
pub use faults::{FAULTS_SCENARIO, fault_rows, faults_script};
pub use patients::{Patient, clinic, patients, patients_script};
pub use stack::{LAB_TITLE, LabSetting, case_ids, rows as lab_rows};

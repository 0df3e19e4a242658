//! The whole program, as its users meet it.

mod beside;
mod capture;
mod commands;
mod conferences;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod emulate;
mod export;
mod golden;
mod groups;
mod import;
mod interrupt;
#[cfg(target_os = "linux")]
mod lab;
mod law;
mod networks;
mod outputs;
mod place;
mod plan;
mod questions;
mod same_bytes;
mod sweep;
mod table;
mod traces;
mod verdict;
mod wrong_input;

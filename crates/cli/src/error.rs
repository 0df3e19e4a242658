//! Errors of the commands, and their exit codes.

use std::io;
use std::path::Path;

use airbound_agent::AgentError;
use airbound_console::OutputError;
#[cfg(target_os = "linux")]
use airbound_emulate::EmulateError;
use airbound_lab::LabError;
#[cfg(target_os = "linux")]
use airbound_linux::LinuxError;
use airbound_record::RecordError;
use airbound_report::ReportError;
use airbound_runs::RunsError;
use airbound_runs::plan::PlanError;
use airbound_scenario::ScenarioError;
use airbound_units::Span;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CliError {
    /// Runs: their scenario, scheme, folder or report.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// Output or arguments.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The laboratory.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Another program that did the work failed, and has said why.
    #[error("sweep failed: see the errors above")]
    Elsewhere(u8),
    /// The operating system, as the agent meets it.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Linux(#[from] LinuxError),
    /// A command inside the laboratory's machine, with what it exited with.
    #[error("inside the machine the command ended with {0}")]
    Command(u8),
    /// The access-point agent.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The part of the agent that holds packets ended, and has said why.
    #[error("the agent ended with code {0}; its rules are removed")]
    AgentEnded(i32),
    /// It showed no sign of life.
    #[error("the agent showed no sign of life for {0} and was ended; its rules are removed")]
    AgentHung(Span),
    /// An emulation.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Emulate(#[from] EmulateError),
    /// A command in an emulation ended so.
    #[cfg(target_os = "linux")]
    #[error("{0}")]
    Emulated(String, u8),
    /// A command that entered an emulation ended so, and has said why.
    #[cfg(target_os = "linux")]
    #[error("the command ended with {0}")]
    Entered(u8),
    /// An emulation does not count, where only one that does will do.
    #[cfg(target_os = "linux")]
    #[error("this run does not count: more than 1 % of its packets were more than 1 ms late")]
    Uncounted,
    /// The input is wrong, or asks for what cannot be done.
    #[error("{0}")]
    Input(String),
    /// There is nothing to plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The answer of a plan is no.
    #[error("{0} of {1} demands cannot be met")]
    Unmet(usize, usize),
    /// A thread gave up; what it said stands above.
    #[error("the message above is a defect of airbound; please report it with the command that led to it")]
    Panic,
}

impl CliError {
    /// For `map_err`: what was tried with which file.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Runs(RunsError::io(action, path)(source))
    }

    /// 1 for a defect, 2 for wrong input, 130 as shells report it after Ctrl-C.
    #[must_use]
    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::Runs(error) => code_of_runs(error),
            Self::Lab(LabError::Guest(_)) | Self::AgentHung(_) | Self::Panic | Self::Unmet(..) => 1,
            Self::Agent(AgentError::Gone(_)) => 1,
            Self::Output(error) => error.code(),
            #[cfg(target_os = "linux")]
            Self::Emulate(EmulateError::Runs(error)) => code_of_runs(error),
            #[cfg(target_os = "linux")]
            Self::Emulate(EmulateError::Device { .. }) | Self::Uncounted => 1,
            #[cfg(target_os = "linux")]
            Self::Emulated(_, code) | Self::Entered(code) => *code,
            Self::Elsewhere(code) => *code,
            Self::Command(code) => *code,
            Self::AgentEnded(2) => 2,
            Self::AgentEnded(_) => 1,
            _ => 2,
        }
    }
}

const fn code_of_runs(error: &RunsError) -> u8 {
    match error {
        RunsError::Imbalance(_)
        | RunsError::Run { .. }
        | RunsError::Remote(_)
        | RunsError::Defect(_)
        | RunsError::Report(ReportError::Plot { .. } | ReportError::Page(_) | ReportError::Json(_))
        | RunsError::Record(RecordError::EncoderGone { .. } | RecordError::Unwritable { .. }) => 1,
        RunsError::Interrupted | RunsError::SweepInterrupted { .. } => 130,
        _ => 2,
    }
}

impl From<ScenarioError> for CliError {
    fn from(error: ScenarioError) -> Self {
        Self::Runs(error.into())
    }
}

impl From<RecordError> for CliError {
    fn from(error: RecordError) -> Self {
        Self::Runs(error.into())
    }
}

impl From<ReportError> for CliError {
    fn from(error: ReportError) -> Self {
        Self::Runs(error.into())
    }
}

//! The commands of an emulation, from their start to their end.

use std::io;
use std::process::ExitStatus;

use airbound_linux::namespace::{Closed, News};
use airbound_units::Span;

use crate::command::code;
use crate::error::EmulateError;
use crate::port::Port;
use crate::request::{HostCommand, Request};

/// Longest wait for a server to listen.
const SERVER_START: Span = Span::from_secs(2);
/// Between two looks meanwhile.
const LOOK: std::time::Duration = std::time::Duration::from_millis(5);

/// The state of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Failed(i32),
    /// `None` if it was ended with everything else.
    Ended(Option<ExitStatus>),
}

/// The commands: servers first. Dropping it ends them.
pub(crate) struct Jobs<'a> {
    closed: Closed,
    commands: Vec<&'a HostCommand>,
    states: Vec<State>,
    /// Those that were asked to end.
    terminated: Vec<bool>,
    servers: usize,
}

impl<'a> Jobs<'a> {
    /// Nothing is started.
    pub(crate) fn new(closed: Closed, request: &'a Request) -> Self {
        let commands: Vec<&HostCommand> = request.all_commands().collect();
        let states = vec![State::Waiting; commands.len()];
        let terminated = vec![false; commands.len()];
        Self { closed, commands, states, terminated, servers: request.servers.len() }
    }

    /// Starts the servers and waits until each of their hosts listens, at most for two seconds: some never do.
    ///
    /// # Errors
    /// One could not be started, or ended with an error.
    pub(crate) fn start_servers(&mut self, ports: &mut [&mut Port]) -> Result<(), EmulateError> {
        let began = airbound_linux::now();
        (0..self.servers).for_each(|number| self.closed.start(number));
        while airbound_linux::now().since(began) < SERVER_START {
            self.look();
            self.check_started()?;
            let own = self.commands.iter().zip(&self.states).take(self.servers);
            for (command, state) in own {
                if let State::Ended(Some(status)) = state
                    && !status.success()
                {
                    let (host, status) = (command.host.clone(), status.to_string());
                    return Err(EmulateError::Ended { command: command.line.to_string(), host, status });
                }
            }
            let states = &self.states[..self.servers];
            let are_all = |wanted: fn(&State) -> bool| states.iter().all(wanted);
            let is_over = are_all(|state| matches!(state, State::Ended(_)));
            let runs = are_all(|state| *state != State::Waiting);
            if is_over || (runs && ports.iter_mut().all(|tun| tun.has_server())) {
                break;
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Starts the commands on stations.
    pub(crate) fn start(&self) {
        (self.servers..self.commands.len()).for_each(|number| self.closed.start(number));
    }

    /// Checks that all commands that should have started have.
    ///
    /// # Errors
    /// The first one that has not.
    pub(crate) fn check_started(&self) -> Result<(), EmulateError> {
        for (command, state) in self.commands.iter().zip(&self.states) {
            if let State::Failed(error) = state {
                let source = io::Error::from_raw_os_error(*error);
                return Err(EmulateError::Start { command: command.line.to_string(), source });
            }
        }
        Ok(())
    }

    /// Whether all commands on stations have ended.
    pub(crate) fn look(&mut self) -> bool {
        while let Some(news) = self.closed.news() {
            let (number, state) = match news {
                News::Started(number) => (number, State::Running),
                News::Failed(number, error) => (number, State::Failed(error)),
                News::Ended(number, status) => (number, State::Ended(Some(status))),
                News::Over => {
                    self.states.iter_mut().for_each(|state| {
                        if !matches!(state, State::Ended(Some(_))) {
                            *state = State::Ended(None);
                        }
                    });
                    break;
                }
            };
            if let Some(known) = self.states.get_mut(number) {
                *known = state;
            }
        }
        self.states.iter().skip(self.servers).all(|state| matches!(state, State::Ended(_)))
    }

    /// Asks all commands to end.
    pub(crate) fn terminate(&mut self) {
        for (number, state) in self.states.iter().enumerate() {
            if *state == State::Running {
                self.terminated[number] = true;
                self.closed.terminate(number);
            }
        }
    }

    /// Ends all commands; the code of the first one on a station that failed, else 0, and all that failed. If their `time_is_over`, those
    /// that were still running have not failed.
    pub(crate) fn end(self, time_is_over: bool) -> (u8, Vec<String>) {
        let Self { closed, commands, states, terminated, servers } = self;
        drop(closed);
        let (mut first, mut failed) = (0, Vec::new());
        for (number, (command, state)) in commands.into_iter().zip(states).enumerate() {
            let is_server = number < servers;
            let code = match state {
                State::Ended(Some(status)) if status.success() => continue,
                State::Ended(Some(_)) if time_is_over && terminated[number] => continue,
                State::Ended(Some(status)) => code(status),
                // A server that is no longer needed has not failed.
                _ if is_server || time_is_over => continue,
                // As by SIGKILL.
                _ => 137,
            };
            failed.push(format!("{} on {} ended with {code}", command.line, command.host));
            if !is_server && first == 0 {
                first = code;
            }
        }
        (first, failed)
    }
}

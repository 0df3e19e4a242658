//! Threads that own episodes: an episode stays on the thread that built it.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use airbound_sim::Episode;
use pyo3::prelude::*;

use crate::error::RunError;
use crate::runs::PANIC;

/// Work for a thread, which gets the number of its first episode and its episodes.
type Job = Box<dyn FnOnce(usize, &mut [Option<Episode>]) + Send>;

/// Threads with episodes; a thread ends with the last of its senders.
pub(super) struct Workers(Vec<Sender<Job>>);

impl Workers {
    /// Distributes `episodes`, none of which has begun, over at most so many threads.
    pub(super) fn new(episodes: usize, threads: usize) -> Self {
        let share = episodes.div_ceil(threads.max(1)).max(1);
        let worker = |first: usize| {
            let (give, jobs) = channel::<Job>();
            thread::spawn(move || {
                let mut own: Vec<Option<Episode>> =
                    (first..episodes.min(first + share)).map(|_| None).collect();
                jobs.into_iter().for_each(|job| job(first, &mut own));
            });
            give
        };
        Self((0..episodes).step_by(share).map(worker).collect())
    }

    /// Calls `act` with the number of each episode and the episode, without the interpreter's lock; returns the results in their order.
    pub(super) fn each<T: Send + 'static>(
        &self,
        py: Python<'_>,
        act: impl Fn(usize, &mut Option<Episode>) -> T + Send + Sync + 'static,
    ) -> PyResult<Vec<T>> {
        let act = Arc::new(act);
        py.detach(|| {
            let (reply, replies) = channel();
            for worker in &self.0 {
                let (act, reply) = (Arc::clone(&act), reply.clone());
                // A thread that has panicked takes no job: its reply is missing.
                let _ = worker.send(Box::new(move |first, own| {
                    let results: Vec<T> =
                        (first..).zip(own).map(|(number, episode)| act(number, episode)).collect();
                    let _ = reply.send((first, results));
                }));
            }
            drop(reply);
            let mut all: Vec<(usize, Vec<T>)> = replies.into_iter().collect();
            if all.len() < self.0.len() {
                return Err(RunError::new_err(PANIC));
            }
            all.sort_by_key(|(first, _)| *first);
            Ok(all.into_iter().flat_map(|(_, results)| results).collect())
        })
    }
}

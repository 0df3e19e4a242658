//! The job pool: many jobs on several threads.
//!
//! [`all`] gives results in the order of the jobs, whatever the number of threads. A job ends the pool early by failing: a stop that was
//! requested is an error of the job that saw it.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

/// Returns the number of threads to use: as many as asked for, or one for each core.
#[must_use]
pub fn threads(asked: Option<u16>) -> usize {
    asked.map_or_else(
        || std::thread::available_parallelism().map_or(1, NonZero::get),
        |threads| usize::from(threads).max(1),
    )
}

/// Applies `work` to all items on up to `threads` threads. No further item is begun after one has failed.
///
/// # Errors
/// That of the first item, in order, that failed.
///
/// ```
/// let squares = airbound_runs::jobs::all(2, &[1, 2, 3], |number| Ok::<_, ()>(number * number));
/// assert_eq!(squares, Ok(vec![1, 4, 9]));
/// ```
pub fn all<T: Sync, R: Send, E: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    counted(threads, items, &|_, _| (), work)
}

/// As [`all`], and calls `progress` with the number of items done and of all items after each.
///
/// # Errors
/// As [`all`].
pub fn counted<T: Sync, R: Send, E: Send>(
    threads: usize,
    items: &[T],
    progress: &(dyn Fn(usize, usize) + Sync),
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let mut list = List { next: 0, done: 0, failed: false, results: Vec::new(), progress };
    list.results.resize_with(items.len(), || None);
    drive(threads.min(items.len()), &mut list, |place| Ok(work(&items[*place])))?;
    // Items begin in order: whatever came before the first that failed has a result.
    list.results.into_iter().flatten().collect()
}

/// As [`all`], for work that begins with something that cannot change its thread: `begin` is called for the items at the places `first`
/// before any work, and the thread that called it works on that item next. Where another thread is free earlier, `work` gets `None`.
///
/// # Errors
/// The first of `begin` in the order of `first`, before any work; then as [`all`].
pub(crate) fn begun<T: Sync, B, R: Send, E: Send>(
    threads: usize,
    items: &[T],
    first: &[usize],
    begin: impl Fn(&T) -> Result<B, E> + Sync,
    work: impl Fn(&T, Option<B>) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let threads = threads.clamp(1, items.len().max(1));
    // Places that no thread works on, with the thread that has begun each.
    let owner = |place| first.iter().position(|begun| *begun == place).map(|number| number % threads);
    let open: BTreeMap<usize, Option<usize>> = (0..items.len()).map(|place| (place, owner(place))).collect();
    let mut results: Vec<Option<Result<R, E>>> = Vec::new();
    results.resize_with(items.len(), || None);
    let state = Mutex::new((open, results));
    let take = |thread: usize| {
        let (open, _) = &mut *state.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |owner| open.iter().find(|(_, known)| **known == owner);
        let (place, _) = of(Some(thread)).or_else(|| of(None)).or_else(|| open.iter().next_back())?;
        let place = *place;
        open.remove(&place).map(|_| place)
    };
    let accept = |place: usize, result: Result<R, E>| {
        let (open, results) = &mut *state.lock().unwrap_or_else(PoisonError::into_inner);
        if result.is_err() {
            // What comes before may have failed as well, and is then the error.
            open.retain(|other, _| *other < place);
        }
        results[place] = Some(result);
    };
    std::thread::scope(|scope| {
        let (errors, failed) = mpsc::channel();
        let mut starts = Vec::new();
        for thread in 0..threads {
            let (start, started) = mpsc::channel();
            starts.push(start);
            let (errors, begin, work, take, accept) = (errors.clone(), &begin, &work, &take, &accept);
            scope.spawn(move || {
                let mut own = BTreeMap::new();
                for (number, place) in first.iter().enumerate().skip(thread).step_by(threads) {
                    match begin(&items[*place]) {
                        Ok(begun) => drop(own.insert(*place, begun)),
                        Err(error) => return errors.send((number, error)).unwrap_or_default(),
                    }
                }
                drop(errors);
                if started.recv().is_err() {
                    return;
                }
                while let Some(place) = take(thread) {
                    accept(place, work(&items[place], own.remove(&place)));
                }
            });
        }
        drop(errors);
        // Ends when all threads have begun. One that has panicked is waited for by the scope, which passes the panic on.
        match failed.into_iter().min_by_key(|(number, _)| *number) {
            Some((_, error)) => Err(error),
            None => {
                starts.iter().for_each(|start| start.send(()).unwrap_or_default());
                Ok(())
            }
        }
    })?;
    let (_, results) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().flatten().collect()
}

/// A supply of jobs, which may depend on the results of earlier ones.
pub(crate) trait Supply {
    /// Description of a job.
    type Job;
    /// Result of a job.
    type Output;
    /// Cause for which the whole pool ends.
    type Error;

    /// The next job; `None` while there is none. The pool ends once there is none and no job is under way.
    fn take(&mut self) -> Result<Option<Self::Job>, Self::Error>;
    /// Takes the result of a job.
    fn accept(&mut self, job: Self::Job, output: Self::Output) -> Result<(), Self::Error>;
}

/// Does all jobs of a supply on up to `threads` threads.
///
/// # Errors
/// The first error in time, of the supply or of a job; no further job begins after it.
pub(crate) fn drive<S>(
    threads: usize,
    supply: &mut S,
    work: impl Fn(&S::Job) -> Result<S::Output, S::Error> + Sync,
) -> Result<(), S::Error>
where
    S: Supply<Error: Send> + Send,
{
    let pool = Pool {
        state: Mutex::new(State { supply, under_way: 0, ended: false, failed: None }),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| pool.work(&work));
        }
    });
    let state = pool.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.failed.map_or(Ok(()), Err)
}

/// State that the threads share.
struct State<'a, S: Supply> {
    supply: &'a mut S,
    under_way: usize,
    ended: bool,
    failed: Option<S::Error>,
}

struct Pool<'a, S: Supply> {
    state: Mutex<State<'a, S>>,
    changed: Condvar,
}

impl<'a, S: Supply> Pool<'a, S> {
    fn lock(&self) -> MutexGuard<'_, State<'a, S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, work: &impl Fn(&S::Job) -> Result<S::Output, S::Error>) {
        let _wake = Wake(self);
        let mut state = self.lock();
        while !state.ended {
            match state.supply.take() {
                Ok(Some(job)) => {
                    state.under_way += 1;
                    drop(state);
                    let output = work(&job);
                    state = self.lock();
                    state.under_way -= 1;
                    if let Err(error) = output.and_then(|output| state.supply.accept(job, output)) {
                        state.fail(error);
                    }
                    self.changed.notify_all();
                }
                Ok(None) if state.under_way > 0 => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                Ok(None) => state.ended = true,
                Err(error) => state.fail(error),
            }
        }
    }
}

impl<S: Supply> State<'_, S> {
    fn fail(&mut self, error: S::Error) {
        self.ended = true;
        self.failed.get_or_insert(error);
    }
}

/// Wakes the other threads at the end of one, and ends the pool if a job panicked: nobody waits for its result.
struct Wake<'p, 'a, S: Supply>(&'p Pool<'a, S>);

impl<S: Supply> Drop for Wake<'_, '_, S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().ended = true;
        }
        self.0.changed.notify_all();
    }
}

/// Items in order, and their results so far.
struct List<'a, R, E> {
    next: usize,
    done: usize,
    failed: bool,
    results: Vec<Option<Result<R, E>>>,
    progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl<R, E> Supply for List<'_, R, E> {
    type Job = usize;
    type Output = Result<R, E>;
    type Error = E;

    fn take(&mut self) -> Result<Option<usize>, E> {
        let place = self.next;
        self.next += 1;
        Ok((!self.failed && place < self.results.len()).then_some(place))
    }

    fn accept(&mut self, place: usize, result: Result<R, E>) -> Result<(), E> {
        self.failed |= result.is_err();
        self.results[place] = Some(result);
        self.done += 1;
        (self.progress)(self.done, self.results.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{all, begun, counted};

    #[test]
    fn results_come_in_order_with_any_number_of_threads() {
        let items: Vec<usize> = (0..50).collect();
        for threads in [0, 1, 2, 7] {
            let results = all(threads, &items, |number| {
                if number % 7 == 0 {
                    std::thread::yield_now();
                }
                Ok::<_, ()>(number * number)
            });
            assert_eq!(results, Ok(items.iter().map(|number| number * number).collect()));
        }
    }

    #[test]
    fn the_first_failure_in_order_is_returned_and_ends_the_pool() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [1, 2, 7] {
            let begun = AtomicUsize::new(0);
            let result = all(threads, &items, |number| {
                begun.fetch_add(1, Ordering::Relaxed);
                if *number == 3 {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                if [3, 4, 5, 9].contains(number) { Err(*number) } else { Ok(()) }
            });
            assert_eq!(result, Err(3));
            assert!(begun.into_inner() <= 4 + 2 * threads);
        }
        assert_eq!(all::<(), (), ()>(4, &[], |_| Err(())), Ok(vec![]));
    }

    #[test]
    fn what_was_begun_goes_on_in_its_thread_and_errors_of_it_come_before_all_work() {
        use std::cell::Cell;
        let items: Vec<usize> = (0..12).collect();
        for threads in [1, 2, 5, 20] {
            let worked = AtomicUsize::new(0);
            let work = |item: &usize, own: Option<Cell<usize>>| {
                worked.fetch_add(usize::from(own.is_some()), Ordering::Relaxed);
                assert!(own.is_none_or(|own| own.get() == *item));
                Ok(2 * item)
            };
            let result = begun(threads, &items, &[0, 4, 8], |item| Ok::<_, usize>(Cell::new(*item)), work);
            assert_eq!(result, Ok(items.iter().map(|item| 2 * item).collect()));
            assert!(threads > 1 || worked.into_inner() == 3);
            let refused = |item: &usize| if *item > 3 { Err(*item) } else { Ok(()) };
            let early = |_: &usize, _: Option<()>| -> Result<(), usize> { panic!("too early") };
            assert_eq!(begun(threads, &items, &[0, 4, 8], refused, early), Err(4));
            let failing = |item: &usize, _: Option<()>| if item % 5 == 3 { Err(*item) } else { Ok(()) };
            assert_eq!(begun(threads, &items, &[9], |_| Ok(()), failing), Err(3));
        }
    }

    #[test]
    fn progress_counts_up() {
        let most = AtomicUsize::new(0);
        let count = |done, of| {
            assert_eq!((most.swap(done, Ordering::Relaxed) + 1, of), (done, 20));
        };
        counted(3, &[0; 20], &count, |_| Ok::<_, ()>(())).expect("no item fails");
        assert_eq!(most.into_inner(), 20);
    }

    #[test]
    fn a_panic_ends_the_pool() {
        let panicked = std::panic::catch_unwind(|| {
            let _ = all(3, &[0, 1, 2, 3, 4], |number| {
                assert_ne!(*number, 1, "on purpose");
                Ok::<_, ()>(())
            });
        });
        assert!(panicked.is_err());
    }
}

//! Many jobs on several threads, their results in the order of the jobs.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Returns the number of threads to use: as many as asked for, or one for each core.
#[must_use]
pub fn threads(asked: Option<u16>) -> usize {
    asked.map_or_else(
        || std::thread::available_parallelism().map_or(1, NonZero::get),
        |threads| usize::from(threads).max(1),
    )
}

/// Does the jobs 0 to `count` on up to `threads` threads. No further job begins after one has failed.
///
/// # Errors
/// That of the first job in order that failed.
pub fn all<T: Send, E: Send>(
    threads: usize,
    count: usize,
    job: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let results = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let result = job(number);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    if let Ok(mut results) = results.lock() {
                        results.push((number, result));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::all;

    #[test]
    fn results_come_in_order_whoever_is_first() {
        for threads in [1, 2, 7] {
            let results: Result<Vec<usize>, ()> = all(threads, 50, |number| {
                if number % 7 == 0 {
                    std::thread::yield_now();
                }
                Ok(number * number)
            });
            assert_eq!(results, Ok((0..50).map(|number| number * number).collect()));
        }
    }

    #[test]
    fn a_failure_ends_it() {
        let result = all(1, 10, |number| if number < 3 { Ok(number) } else { Err(number) });
        assert_eq!(result, Err(3));
        assert_eq!(all::<(), ()>(4, 0, |_| Err(())), Ok(vec![]));
    }
}

//! Means over runs with different seeds, and the part of a difference to a reference that chance explains.

/// Mean of a figure over runs, and the variance of one run.
pub(crate) fn moments<R>(runs: &[R], of: impl Fn(&R) -> f64) -> (f64, f64) {
    let count = runs.len() as f64;
    let mean = runs.iter().map(&of).sum::<f64>() / count;
    let squares: f64 = runs.iter().map(|run| (of(run) - mean) * (of(run) - mean)).sum();
    (mean, squares / (count - 1.0).max(1.0))
}

/// Two standard errors of the difference to the mean of `theirs` runs of the reference, which differ as much as those here.
pub(crate) fn two_errors<R>(runs: &[R], theirs: u32, of: impl Fn(&R) -> f64) -> f64 {
    2.0 * (moments(runs, of).1 * (1.0 / f64::from(theirs.max(1)) + 1.0 / runs.len() as f64)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_both_means_count() {
        let runs = [1.0, 2.0, 3.0];
        assert_eq!(moments(&runs, |run| *run), (2.0, 1.0));
        // A variance of 1, three runs here and six there: a half in all.
        assert!((two_errors(&runs, 6, |run| *run) - 2.0_f64.sqrt()).abs() < 1e-12);
    }
}

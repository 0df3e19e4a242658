//! Student's t distribution, for intervals of means over few seeds.

/// The quantile at `share`, from 0.5 to below 1, of Student's distribution with `degrees` degrees of freedom, at least 1; by bisection.
#[must_use]
pub fn student_quantile(share: f64, degrees: u32) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if student_below(middle, degrees) < share { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// P(T <= t) for t >= 0 and whole degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4).
fn student_below(t: f64, degrees: u32) -> f64 {
    let theta = libm::atan(t / libm::sqrt(f64::from(degrees)));
    let (sine, cosine) = (libm::sin(theta), libm::cos(theta));
    let squared = cosine * cosine;
    let both = if degrees % 2 == 1 {
        let (mut term, mut sum) = (cosine, if degrees > 1 { cosine } else { 0.0 });
        for k in (3..=degrees.saturating_sub(2)).step_by(2) {
            term *= squared * f64::from(k - 1) / f64::from(k);
            sum += term;
        }
        std::f64::consts::FRAC_2_PI * (theta + sine * sum)
    } else {
        let (mut term, mut sum) = (1.0, 1.0);
        for k in (2..=degrees.saturating_sub(2)).step_by(2) {
            term *= squared * f64::from(k - 1) / f64::from(k);
            sum += term;
        }
        sine * sum
    };
    f64::midpoint(1.0, both)
}

#[cfg(test)]
mod tests {
    use super::student_quantile;

    #[test]
    fn quantiles_of_student_are_those_of_tables() {
        for (degrees, table) in
            [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (10, 2.228), (30, 2.042)]
        {
            let found = student_quantile(0.975, degrees);
            assert!((found - table).abs() < 5e-4, "{degrees}: {found} instead of {table}");
        }
    }
}

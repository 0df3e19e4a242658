//! Saturated contention in closed form.

//! The air: contention, transmissions, reception.

pub(crate) mod edcaf;
pub(crate) mod phy;
pub(crate) mod reorder;

//! What must hold after every step, one file each, named after what it protects.

mod one_view_per_number;
mod progress;

use crate::world::Observer;

pub use progress::{PROGRESS, unsettled};

/// All invariants, for one run.
pub fn all() -> Vec<Box<dyn Observer>> {
    vec![Box::new(one_view_per_number::OneViewPerNumber::default())]
}

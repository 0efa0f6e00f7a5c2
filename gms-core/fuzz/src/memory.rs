//! How much memory a piece of work took, as the thread's allocations count it.

use allocation_counter::measure;

/// Runs `work`; says what it returned, and the most bytes that were held beyond what was held before.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let mut done = None;
    let counted = measure(|| done = Some(work()));
    (done.expect("the work was done"), usize::try_from(counted.bytes_max).unwrap_or(usize::MAX))
}

/// What `value` holds: what is free once it is dropped.
pub fn held_by<T>(value: T) -> usize {
    let counted = measure(|| drop(value));
    usize::try_from(counted.bytes_current.saturating_neg()).unwrap_or(0)
}

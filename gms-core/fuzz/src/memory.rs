//! How much memory a piece of work took: counted by the allocator of the whole process, so that the work that is
//! measured must be the only one at the time.

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Runs `work`; says what it returned, and the most bytes that were held beyond what was held before.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let done = work();
    (done, ALLOCATOR.peak_usage().saturating_sub(before))
}

/// What `value` holds: what is free once it is dropped.
pub fn held_by<T>(value: T) -> usize {
    let before = ALLOCATOR.current_usage();
    drop(value);
    before.saturating_sub(ALLOCATOR.current_usage())
}

//! How much memory a piece of work took: counted by the allocator of the whole process, so that the work that is
//! measured must be the only one at the time.

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Runs `work`; says what it returned, the most bytes that were held beyond what was held before, and what is held of
/// them still.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, usize, usize) {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let done = work();
    let (peak, after) = (ALLOCATOR.peak_usage(), ALLOCATOR.current_usage());
    (done, peak.saturating_sub(before), after.saturating_sub(before))
}

//! Traces: a member's protocol steps as JSON lines. `docs/trace.md` fixes the format.

mod fields;
mod line;
mod write;

pub(crate) use line::{Line, parse};
pub(crate) use write::JsonTrace;

#[cfg(test)]
mod tests;

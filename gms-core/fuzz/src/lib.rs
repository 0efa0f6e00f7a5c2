//! What the fuzz targets do with one input, and what must hold of it.
//!
//! The targets in `fuzz_targets/` call these functions under libFuzzer; `gms-core/tests/fuzz_corpus.rs` includes this
//! file and calls them on the corpora and on mutated inputs. `docs/fuzzing.md` says how to run and to add to it.

#![allow(unreachable_pub, reason = "a crate of its own, and a module of the test that replays the corpora")]

mod draw;
mod memory;
mod node;
pub mod seeds;
mod wire;

#[allow(unused_imports, reason = "the targets only call the functions")]
pub use node::Account;
pub use node::{node, replay};
pub use wire::{datagram, frame};

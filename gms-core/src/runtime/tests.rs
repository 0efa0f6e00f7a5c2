//! Whole members over the network in memory.

mod start;

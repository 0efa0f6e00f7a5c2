//! Whole members over the network in memory.

mod cluster;
mod start;

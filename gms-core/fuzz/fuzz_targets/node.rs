//! Any bytes as a list of operations on one node.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gms_core_fuzz::node(bytes));

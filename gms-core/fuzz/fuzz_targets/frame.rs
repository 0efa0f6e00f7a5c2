//! Any bytes as what is read from a stream: whole frames, and frames cut into pieces.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gms_core_fuzz::frame(bytes));

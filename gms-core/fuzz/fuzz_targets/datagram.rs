//! Any bytes as a datagram, and as a check's question and answer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gms_core_fuzz::datagram(bytes));

//! The program `gms-bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gms_bench::main()
}

//! The `gms` program; everything is in the library beside.

use std::process::ExitCode;

fn main() -> ExitCode {
    gms_cli::main()
}

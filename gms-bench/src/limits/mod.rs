//! `gms-bench limits`
use crate::args::LimitsArgs;
use crate::failure::Failure;
pub(crate) fn command(_args: &LimitsArgs) -> Result<(), Failure> {
    Ok(())
}

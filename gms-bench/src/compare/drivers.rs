//! The drivers of the other crates: a package of their own, built when they are needed.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::tell;
use crate::failure::Failure;
use crate::system::Peer;

/// Builds what these peers need, and says where it is; `None` where nothing is needed.
pub(super) fn build(peers: &[Peer]) -> Result<Option<PathBuf>, Failure> {
    if !peers.iter().any(|peer| *peer != Peer::Serf) {
        return Ok(None);
    }
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/Cargo.toml");
    let target = target(&manifest);
    tell("building the members of other systems (gms-bench/peers); the first time takes some minutes");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--locked", "--quiet", "--manifest-path"])
        .arg(&manifest)
        .arg("--target-dir")
        .arg(&target)
        .status()
        .map_err(|error| Failure::fault(format!("cargo can't be run: {error}")))?;
    if !status.success() {
        return Err(Failure::fault(
            "the members of other systems could not be built: see above, or use --peers none",
        ));
    }
    Ok(Some(target.join("release")))
}

/// Beside the other targets, so that `cargo clean` takes it too.
fn target(manifest: &Path) -> PathBuf {
    let set = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let workspace = manifest.ancestors().nth(3).unwrap_or(manifest);
    set.unwrap_or_else(|| workspace.join("target")).join("peers")
}

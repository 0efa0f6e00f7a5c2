//! `gms certs`: a CA and certificates of members, for QUIC.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use gms_quic::certs::{self, CertsError, Pem, Validity};

use crate::args::{CertsArgs, CertsCommand};
use crate::exit::{Code, Failure};
use crate::output;

/// Who may read certificates, and who keys.
const CERT_MODE: u32 = 0o644;
const KEY_MODE: u32 = 0o600;

/// `gms certs`
pub(crate) fn command(args: &CertsArgs) -> Result<Code, Failure> {
    match &args.what {
        CertsCommand::Ca { out, valid_for } => {
            let made = certs::authority("gms CA", Validity::for_next(*valid_for)).map_err(refused)?;
            write(out, "ca", &made)?;
        }
        CertsCommand::Member { name, cluster, ca, out, valid_for } => {
            if name.is_empty() || name == "ca" || name.contains(['/', '\\']) || name.starts_with('.') {
                return Err(Failure::usage(format!("{name:?} can't be a file's name: choose another name")));
            }
            gms_core::Config::new(cluster.clone())
                .validate()
                .map_err(|error| Failure::usage(crate::run::config_sentence(&error)))?;
            let ca = Pem { cert: read(&ca.join("ca.pem"))?, key: read(&ca.join("ca.key"))? };
            let made = certs::member(&ca, cluster, name, Validity::for_next(*valid_for)).map_err(refused)?;
            write(out, name, &made)?;
        }
    }
    Ok(Code::Success)
}

fn refused(error: CertsError) -> Failure {
    Failure::fault(error.to_string())
}

fn read(file: &Path) -> Result<String, Failure> {
    crate::files::read_text(file).map_err(|error| {
        Failure::usage(format!(
            "{} can't be read ({error}): name with --ca the folder that `gms certs ca` wrote to",
            file.display()
        ))
    })
}

/// Writes both files. What is there already stays: a lost CA key can't be made again.
fn write(dir: &Path, name: &str, made: &Pem) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(|error| unwritable(dir, &error))?;
    let (cert, key) = (dir.join(format!("{name}.pem")), dir.join(format!("{name}.key")));
    for file in [&cert, &key] {
        if file.exists() {
            return Err(Failure::usage(format!(
                "{} exists: move it away first, or choose another --out",
                file.display()
            )));
        }
    }
    create(&key, KEY_MODE, &made.key)?;
    create(&cert, CERT_MODE, &made.cert)?;
    output::line(&format!("wrote {} and {}", cert.display(), key.display()))
}

fn create(file: &PathBuf, mode: u32, text: &str) -> Result<(), Failure> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(file)
        .and_then(|mut opened| opened.write_all(text.as_bytes()))
        .map_err(|error| unwritable(file, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::fault(format!("{} can't be written ({error}): choose another --out", path.display()))
}

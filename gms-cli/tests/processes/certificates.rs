//! Certificates of members over QUIC: demanded, looked at, replaced, and at their end.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use gms_quic::certs::{self, Validity};
use rustix::process::Signal;

use crate::quic::{QUIC, cluster};
use crate::support::{Member, outcome, run};

fn flag(dir: &Path, name: &str) -> String {
    dir.join(name).display().to_string()
}

/// Makes a member's certificate in `dir`, anew if there was one.
fn certify(dir: &Path, ca: &Path, cluster: &str) {
    for file in ["m.pem", "m.key"] {
        drop(std::fs::remove_file(dir.join(file)));
    }
    let (ca, dir) = (ca.display().to_string(), dir.display().to_string());
    let made = run(&["certs", "member", "m", "--cluster", cluster, "--ca", &ca, "--out", &dir]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn certificates_are_demanded_looked_at_and_read_again_at_hangup() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().display().to_string();
    assert!(run(&["certs", "ca", "--out", &out]).status.success());
    let (code, said) = outcome(&["certs", "ca", "--out", &out]);
    assert!(code == 2 && said.contains("exists: move it away first"), "{said}");
    certify(dir.path(), dir.path(), "default");
    let (cert, key, ca) = (flag(dir.path(), "m.pem"), flag(dir.path(), "m.key"), flag(dir.path(), "ca.pem"));
    let tls = ["--tls-cert", &cert, "--tls-key", &key, "--tls-ca", &ca];
    let mut members = cluster(&[&tls[..], &["--log", "info"]].concat());

    let seed = members[0].addr.clone();
    let join = ["run", "--bind", "127.0.0.1:0", "--http", "off", "--join", &seed, "--join-timeout", "2s"];
    let (code, said) = outcome(&[&join[..], &QUIC[..]].concat());
    let reason = format!("seed {seed} demands certificates, and this member has none: give it --tls-cert");
    assert!(code == 3 && said.contains(&reason) && said.contains("certificates do not fit"), "{said}");

    certify(dir.path(), dir.path(), "billing");
    let (code, said) = outcome(&[&join[..], &QUIC[..], &tls[..]].concat());
    assert!(code == 2 && said.contains("not for this cluster"), "{said}");
    members[1].signal(Signal::HUP);
    members[1].wait_log("the certificates in use stay");

    certify(dir.path(), dir.path(), "default");
    for member in &members {
        member.signal(Signal::HUP);
        member.wait_log("certificates were read again");
    }
    let flags = [&QUIC[..], &tls[..]].concat();
    let mut fourth = Member::start_at("m4", "127.0.0.1:0", &[&seed], &flags);
    fourth.wait_view(&["m1", "m2", "m3", "m4"]);
    // Nobody was dropped for it.
    let view = members[1].wait_view(&["m1", "m2", "m3", "m4"]);
    assert_eq!(view["crashed"].as_array().map(Vec::len), Some(0), "{view}");
}

#[test]
fn certificates_without_a_sensible_time_or_cluster_are_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().display().to_string();
    for time in ["3000000d", "36501d", "59s", "1ms", "0s"] {
        for what in [&["ca"][..], &["member", "m"]] {
            let (code, said) = outcome(&[&["certs"], what, &["--out", &out, "--valid-for", time]].concat());
            assert!(code == 2 && said.contains("--valid-for") && said.contains("1m to 36500d"), "{said}");
        }
    }
    let (code, said) = outcome(&["certs", "ca", "--out", &out, "--valid-for", "36500d"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = outcome(&["certs", "member", "m", "--cluster", "", "--ca", &out, "--out", &out]);
    assert!(code == 2 && said.contains("--cluster"), "{said}");
}

/// A folder with a CA's certificate and a member's; the paths of the member's flags.
struct Folder {
    dir: tempfile::TempDir,
    flags: Vec<String>,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = |name| flag(dir.path(), name);
        let flags = [
            QUIC[0],
            QUIC[1],
            "--tls-cert",
            &file("m.pem"),
            "--tls-key",
            &file("m.key"),
            "--tls-ca",
            &file("ca.pem"),
        ];
        let flags = flags.map(str::to_owned).to_vec();
        Self { dir, flags }
    }

    /// Writes certificates of a CA of its own, valid for so long.
    fn fill(&self, ca_valid: Validity, member_valid: Validity) {
        let ca = certs::authority("CA of a test", ca_valid).unwrap();
        let member = certs::member(&ca, "default", "m", member_valid).unwrap();
        for (name, text) in [("ca.pem", &ca.cert), ("m.pem", &member.cert), ("m.key", &member.key)] {
            let file = self.dir.path().join(name);
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    fn flags(&self) -> Vec<&str> {
        self.flags.iter().map(String::as_str).collect()
    }

    fn start(&self) -> Member {
        Member::start_at("m1", "127.0.0.1:0", &[], &self.flags())
    }
}

fn day() -> Validity {
    Validity::for_next(Duration::from_secs(86_400))
}

#[test]
fn the_flag_that_named_the_wrong_file_is_named() {
    let folder = Folder::new();
    folder.fill(Validity::ended(Duration::from_secs(60), Duration::from_secs(3600)), day());
    let flags = folder.flags();
    let refused = || outcome(&[&["run", "--bind", "127.0.0.1:0", "--http", "off"][..], &flags].concat());
    let (code, said) = refused();
    let ca = format!("gms: --tls-ca {}: its certificate expired at ", flag(folder.dir.path(), "ca.pem"));
    assert!(code == 2 && said.contains(&ca), "{said}");
    folder.fill(day(), day());
    let key = flag(folder.dir.path(), "m.key");
    std::fs::write(&key, "").unwrap();
    let (code, said) = refused();
    assert!(code == 2 && said.contains(&format!("gms: --tls-key {key}: holds no private key")), "{said}");
}

#[test]
fn the_end_of_a_certificate_is_told_ahead_and_when_it_is_there() {
    let folder = Folder::new();
    // Long enough for a process to start; it is told of at once, for certificates begin an hour ago.
    let soon = Validity::for_next(Duration::from_secs(8));
    folder.fill(day(), soon);
    let member = folder.start();
    let ahead = member.wait_log("after that new connections fail");
    assert!(
        ahead.contains("WARN") && ahead.contains("CN=m") && ahead.contains("m.pem expires at"),
        "{ahead}"
    );
    let over = member.wait_log("m.pem expired at");
    assert!(over.contains("write new files and have them read again (SIGHUP)"), "{over}");
    folder.fill(Validity::for_next(Duration::from_secs(60)), day());
    member.signal(Signal::HUP);
    member.wait_log("of another CA than before");
    member.wait_log("after that members that run go on to trust it");
}

#[test]
fn a_foreign_ca_is_warned_of_and_the_way_through_both_is_not() {
    let folder = Folder::new();
    let file = |name: &str| folder.dir.path().join(name);
    folder.fill(day(), day());
    let first = std::fs::read_to_string(file("ca.pem")).unwrap();
    let member =
        Member::start_at("m1", "127.0.0.1:0", &[], &[&folder.flags()[..], &["--log", "info"]].concat());
    let told = || {
        member.signal(Signal::HUP);
        member.wait_log_until("certificates were read again")
    };
    let is_warned =
        |lines: &[String]| lines.iter().any(|line| line.contains("WARN") && line.contains("of another CA"));
    let own = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    let before = (own("m.pem"), own("m.key"));
    folder.fill(day(), day());
    let (second, after) = (own("ca.pem"), (own("m.pem"), own("m.key")));
    let put = |ca: &str, (cert, key): &(String, String)| {
        for (name, text) in [("ca.pem", ca), ("m.pem", cert), ("m.key", key)] {
            std::fs::write(file(name), text).unwrap();
        }
    };
    let both = format!("{first}{second}");
    for (ca, own) in [(&both, &before), (&both, &after), (&second, &after)] {
        put(ca, own);
        let said = told();
        assert!(!is_warned(&said), "{said:?}");
    }
    put(&first, &before);
    let said = told();
    assert!(is_warned(&said), "{said:?}");
}

#[test]
fn a_key_that_others_can_read_is_warned_of() {
    let folder = Folder::new();
    folder.fill(day(), day());
    let key = folder.dir.path().join("m.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let said = folder.start().wait_log("open to others than its owner (mode 644)");
    assert!(said.contains("WARN") && said.contains(&format!("chmod 600 {}", key.display())), "{said}");
}

#[test]
fn a_hangup_ends_no_member_without_certificates() {
    for transport in ["udp", "quic"] {
        let flags = ["--log", "info", "--transport", transport];
        let mut member = Member::start_at("m1", "127.0.0.1:0", &[], &flags);
        member.signal(Signal::HUP);
        member.wait_log("there are no certificates to read again; the member goes on");
        assert!(member.is_running());
        member.signal(Signal::TERM);
        assert_eq!(member.ended(), Some(0));
    }
}

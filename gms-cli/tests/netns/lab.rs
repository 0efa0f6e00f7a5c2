//! A small network: a bridge in a namespace of its own, and hosts in theirs, on one machine.
//!
//! Nothing is added to the machine's own network. Each host is connected to the bridge by a veth pair, `eth0` at the
//! host's end and `v1`, `v2`, … at the bridge's. Cuts are nftables rules in the bridge's family, rewritten as one
//! transaction at each change. Neighbour entries are fixed, so that a cut is a silent hole at once, not an error
//! after some seconds.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The hosts and their bridge; taken down when dropped.
pub(crate) struct Lab {
    prefix: String,
    hosts: usize,
    cuts: BTreeSet<(usize, usize)>,
}

impl Lab {
    /// Why namespaces cannot be used here, or `None` if they can.
    pub(crate) fn obstacle() -> Option<String> {
        if !cfg!(target_os = "linux") {
            return Some("network namespaces need Linux".into());
        }
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
        if uid.split_whitespace().nth(1) != Some("0") {
            return Some("network namespaces need root".into());
        }
        for (tool, package) in [("ip", "iproute2"), ("nft", "nftables")] {
            if Command::new(tool).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
                return Some(format!("the program {tool} is missing: install {package}"));
            }
        }
        let probe = format!("gms{}-probe", std::process::id());
        let tried = Command::new("ip").args(["netns", "add", &probe]).output().ok()?;
        if !tried.status.success() {
            let error = String::from_utf8_lossy(&tried.stderr).trim().to_owned();
            return Some(format!("namespaces cannot be made: {error}"));
        }
        ip(&["netns", "del", &probe]);
        None
    }

    /// A network of `hosts` hosts, numbered from 1, that all hear each other.
    pub(crate) fn new(hosts: usize) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        remove_leftovers();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let lab =
            Self { prefix: format!("gms{}-{number}", std::process::id()), hosts, cuts: BTreeSet::new() };
        let bridge = lab.bridge();
        ip(&["netns", "add", &bridge]);
        ip(&["-n", &bridge, "link", "add", "br0", "type", "bridge", "stp_state", "0", "forward_delay", "0"]);
        ip(&["-n", &bridge, "link", "set", "br0", "up"]);
        for host in 1..=hosts {
            lab.add_host(host);
        }
        lab
    }

    /// The numbers of all hosts.
    pub(crate) fn hosts(&self) -> std::ops::RangeInclusive<usize> {
        1..=self.hosts
    }

    /// The address of a host.
    pub(crate) fn ip_of(host: usize) -> String {
        format!("10.214.77.{host}")
    }

    /// A command that will run `program` on `host`, as the very process that is spawned.
    pub(crate) fn command_on(&self, host: usize, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(host)]).arg(program);
        command
    }

    /// Pulls a host's cable.
    pub(crate) fn pull_cable(&self, host: usize) {
        ip(&["-n", &self.bridge(), "link", "set", &format!("v{host}"), "down"]);
    }

    /// Puts a host's cable back.
    pub(crate) fn plug_cable(&self, host: usize) {
        ip(&["-n", &self.bridge(), "link", "set", &format!("v{host}"), "up"]);
    }

    /// Loses everything that goes from a host of `from` to one of `to`, and only in this direction.
    pub(crate) fn cut_one_way(&mut self, from: &[usize], to: &[usize]) {
        let pairs = from.iter().flat_map(|a| to.iter().map(|b| (*a, *b)));
        self.cuts.extend(pairs.filter(|(a, b)| a != b));
        self.write_rules();
    }

    /// Loses everything between a host of `left` and one of `right`.
    pub(crate) fn cut(&mut self, left: &[usize], right: &[usize]) {
        self.cut_one_way(left, right);
        self.cut_one_way(right, left);
    }

    /// Ends all cuts.
    pub(crate) fn heal(&mut self) {
        self.cuts.clear();
        self.write_rules();
    }

    fn bridge(&self) -> String {
        format!("{}-br", self.prefix)
    }

    fn namespace(&self, host: usize) -> String {
        format!("{}-h{host}", self.prefix)
    }

    fn add_host(&self, host: usize) {
        let (bridge, namespace, port) = (self.bridge(), self.namespace(host), format!("v{host}"));
        let mac = |host: usize| format!("02:67:6d:73:00:{host:02x}");
        ip(&["netns", "add", &namespace]);
        ip(&[
            "-n", &bridge, "link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &namespace,
        ]);
        ip(&["-n", &bridge, "link", "set", &port, "master", "br0"]);
        ip(&["-n", &bridge, "link", "set", &port, "up"]);
        ip(&["-n", &namespace, "link", "set", "eth0", "address", &mac(host)]);
        ip(&["-n", &namespace, "link", "set", "lo", "up"]);
        ip(&["-n", &namespace, "link", "set", "eth0", "up"]);
        ip(&["-n", &namespace, "addr", "add", &format!("{}/24", Self::ip_of(host)), "dev", "eth0"]);
        for other in self.hosts().filter(|other| *other != host) {
            let (address, mac) = (Self::ip_of(other), mac(other));
            let entry = ["neigh", "replace", &address, "lladdr", &mac, "dev", "eth0", "nud", "permanent"];
            ip(&[&["-n", namespace.as_str()], entry.as_slice()].concat());
        }
    }

    fn write_rules(&self) {
        let mut rules = String::from("add table bridge lab\ndelete table bridge lab\ntable bridge lab {\n");
        rules.push_str("  chain cuts {\n    type filter hook forward priority 0; policy accept;\n");
        for (from, to) in &self.cuts {
            writeln!(rules, "    iifname \"v{from}\" oifname \"v{to}\" drop").expect("a string takes all");
        }
        rules.push_str("  }\n}\n");
        let mut nft = Command::new("ip")
            .args(["netns", "exec", &self.bridge(), "nft", "-f", "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("nft starts");
        nft.stdin.take().expect("a pipe").write_all(rules.as_bytes()).expect("nft reads its rules");
        assert_success("nft", &nft.wait_with_output().expect("nft ends"));
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        remove_namespaces(|name| name.starts_with(&format!("{}-", self.prefix)));
    }
}

/// Takes down what runs of this test that were killed left behind.
fn remove_leftovers() {
    remove_namespaces(|name| {
        let owner = name.strip_prefix("gms").and_then(|rest| rest.split('-').next());
        let owner = owner.and_then(|pid| pid.parse::<u32>().ok());
        owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    });
}

/// Removes namespaces; a failure shows itself in the next lab, not here, where a test may be failing already.
fn remove_namespaces(doomed: impl Fn(&str) -> bool) {
    let list = Command::new("ip").args(["netns", "list"]).output();
    let list = list.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    for name in list.lines().filter_map(|line| line.split_whitespace().next()).filter(|name| doomed(name)) {
        let removed = Command::new("ip").args(["netns", "del", name]).output();
        drop(removed);
    }
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().expect("ip starts");
    assert_success(&format!("ip {}", arguments.join(" ")), &output);
}

fn assert_success(what: &str, output: &Output) {
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr).trim());
}

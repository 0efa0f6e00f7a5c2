//! A small network: a bridge in a namespace of its own, and hosts in theirs, on one machine.
//!
//! Nothing is added to the machine's own network. Each host is connected to the bridge by a veth pair, `eth0` at the
//! host's end and `v1`, `v2`, … at the bridge's. Cuts and losses are nftables rules in the bridge's family, rewritten
//! as one transaction at each change: at the far end of a host's cable, since a drop in a host's own output is told
//! to the sender. Neighbour entries are fixed, so that a cut is a silent hole at once, not an error after some seconds.
//!
//! Needs Linux, root, `ip`, `nft` and `nsenter`: see [`Lab::obstacle`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Most hosts of one network.
pub const HOSTS_MAX: usize = 250;

/// A network that could not be made or changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{command}: {said}")]
pub struct LabError {
    /// What was run.
    command: String,
    /// What it said.
    said: String,
}

/// The hosts and their bridge; taken down when dropped.
#[derive(Debug)]
pub struct Lab {
    prefix: String,
    hosts: usize,
    cuts: BTreeSet<(usize, usize)>,
    losses: BTreeMap<(End, usize), u8>,
}

/// Which way of a host's cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum End {
    /// What the host sends.
    From,
    /// What is sent to it.
    To,
}

impl Lab {
    /// Why namespaces cannot be used here, or `None` if they can.
    pub fn obstacle() -> Option<String> {
        if !cfg!(target_os = "linux") {
            return Some("network namespaces need Linux".into());
        }
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
        if uid.split_whitespace().nth(1) != Some("0") {
            return Some("network namespaces need root".into());
        }
        for (tool, package) in [("ip", "iproute2"), ("nft", "nftables"), ("nsenter", "util-linux")] {
            if Command::new(tool).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
                return Some(format!("the program {tool} is missing: install {package}"));
            }
        }
        let probe = format!("gms{}-probe", std::process::id());
        let tried = ip(&["netns", "add", &probe]).and_then(|()| ip(&["netns", "del", &probe]));
        tried.err().map(|error| format!("namespaces cannot be made: {}", error.said))
    }

    /// A network of `hosts` hosts, numbered from 1, that all hear each other. What runs that were killed left behind is
    /// removed first.
    ///
    /// # Errors
    ///
    /// A command failed; nothing is left of the network.
    ///
    /// # Panics
    ///
    /// With more hosts than [`HOSTS_MAX`].
    pub fn new(hosts: usize) -> Result<Self, LabError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        assert!(hosts <= HOSTS_MAX, "a network has at most {HOSTS_MAX} hosts");
        remove_leftovers();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("gms{}-{number}", std::process::id());
        // Dropped where a command fails, which removes what is there so far.
        let lab = Self { prefix, hosts, cuts: BTreeSet::new(), losses: BTreeMap::new() };
        let bridge = lab.bridge();
        ip(&["netns", "add", &bridge])?;
        let mut commands =
            String::from("link add br0 type bridge stp_state 0 forward_delay 0\nlink set br0 up\n");
        for host in lab.hosts() {
            let namespace = lab.namespace(host);
            ip(&["netns", "add", &namespace])?;
            let line = format!(
                "link add v{host} type veth peer name eth0 netns {namespace}\nlink set v{host} master br0\nlink set v{host} up\n"
            );
            commands.push_str(&line);
        }
        ip_batch(&bridge, &commands)?;
        for host in lab.hosts() {
            ip_batch(&lab.namespace(host), &lab.host_commands(host))?;
        }
        Ok(lab)
    }

    /// The numbers of all hosts.
    pub fn hosts(&self) -> std::ops::RangeInclusive<usize> {
        1..=self.hosts
    }

    /// The address of a host.
    pub fn ip_of(host: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 214, 77, u8::try_from(host).unwrap_or(u8::MAX))
    }

    /// A command that will run `program` on `host`, as the very process that is spawned.
    pub fn command_on(&self, host: usize, program: &Path) -> Command {
        let mut command = enter(&self.namespace(host));
        command.arg(program);
        command
    }

    /// Pulls a host's cable.
    ///
    /// # Errors
    ///
    /// The command failed.
    pub fn pull_cable(&self, host: usize) -> Result<(), LabError> {
        ip_batch(&self.bridge(), &format!("link set v{host} down\n"))
    }

    /// Loses these hosts at one moment: nothing gets from or to any of them, as one transaction of the rules. Links that
    /// are set down one after the other wait for a lock of the kernel each, under which it also removes namespaces.
    ///
    /// # Errors
    ///
    /// The command failed, and nothing changed.
    pub fn lose_hosts(&mut self, hosts: &[usize]) -> Result<(), LabError> {
        let pairs =
            hosts.iter().flat_map(|lost| (1..=self.hosts).flat_map(|other| [(*lost, other), (other, *lost)]));
        self.cuts.extend(pairs.filter(|(a, b)| a != b));
        self.write_rules()
    }

    /// Puts a host's cable back.
    ///
    /// # Errors
    ///
    /// The command failed.
    pub fn plug_cable(&self, host: usize) -> Result<(), LabError> {
        ip_batch(&self.bridge(), &format!("link set v{host} up\n"))
    }

    /// Loses everything that goes from a host of `from` to one of `to`, and only in this direction.
    ///
    /// # Errors
    ///
    /// The command failed, and nothing changed.
    pub fn cut_one_way(&mut self, from: &[usize], to: &[usize]) -> Result<(), LabError> {
        let pairs = from.iter().flat_map(|a| to.iter().map(|b| (*a, *b)));
        self.cuts.extend(pairs.filter(|(a, b)| a != b));
        self.write_rules()
    }

    /// Loses everything between a host of `left` and one of `right`.
    ///
    /// # Errors
    ///
    /// The command failed, and nothing changed.
    pub fn cut(&mut self, left: &[usize], right: &[usize]) -> Result<(), LabError> {
        self.cut_one_way(left, right)?;
        self.cut_one_way(right, left)
    }

    /// Loses `percent` of all packets that these hosts send, by chance.
    ///
    /// # Errors
    ///
    /// The command failed, and nothing changed.
    pub fn lose_from(&mut self, hosts: &[usize], percent: u8) -> Result<(), LabError> {
        self.losses.extend(hosts.iter().map(|host| ((End::From, *host), percent)));
        self.write_rules()
    }

    /// Loses `percent` of all packets that are sent to these hosts, by chance.
    ///
    /// # Errors
    ///
    /// The command failed, and nothing changed.
    pub fn lose_to(&mut self, hosts: &[usize], percent: u8) -> Result<(), LabError> {
        self.losses.extend(hosts.iter().map(|host| ((End::To, *host), percent)));
        self.write_rules()
    }

    /// Ends all cuts and losses.
    ///
    /// # Errors
    ///
    /// The command failed, and nothing changed.
    pub fn heal(&mut self) -> Result<(), LabError> {
        self.cuts.clear();
        self.losses.clear();
        self.write_rules()
    }

    fn bridge(&self) -> String {
        format!("{}-br", self.prefix)
    }

    fn namespace(&self, host: usize) -> String {
        format!("{}-h{host}", self.prefix)
    }

    /// What sets up a host's end.
    fn host_commands(&self, host: usize) -> String {
        let mac = |host: usize| format!("02:67:6d:73:00:{host:02x}");
        let mut commands = format!(
            "link set eth0 address {}\nlink set lo up\nlink set eth0 up\naddr add {}/24 dev eth0\n",
            mac(host),
            Self::ip_of(host)
        );
        for other in self.hosts().filter(|other| *other != host) {
            let (address, mac) = (Self::ip_of(other), mac(other));
            let line = format!("neigh replace {address} lladdr {mac} dev eth0 nud permanent\n");
            commands.push_str(&line);
        }
        commands
    }

    fn rules(&self) -> String {
        let mut rules = String::from("add table bridge lab\ndelete table bridge lab\ntable bridge lab {\n");
        rules.push_str("  chain cuts {\n    type filter hook forward priority 0; policy accept;\n");
        for (from, to) in &self.cuts {
            writeln!(rules, "    iifname \"v{from}\" oifname \"v{to}\" drop").expect("a string takes all");
        }
        for ((end, host), percent) in &self.losses {
            let side = if *end == End::From { "iifname" } else { "oifname" };
            writeln!(rules, "    {side} \"v{host}\" numgen random mod 100 < {percent} drop")
                .expect("a string takes all");
        }
        rules.push_str("  }\n}\n");
        rules
    }

    fn write_rules(&self) -> Result<(), LabError> {
        let mut command = enter(&self.bridge());
        command.args(["nft", "-f", "-"]);
        run(command, &self.rules())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        remove_namespaces(|name| name.starts_with(&format!("{}-", self.prefix)));
    }
}

/// Takes down what runs that were killed left behind.
fn remove_leftovers() {
    remove_namespaces(|name| {
        let owner = name.strip_prefix("gms").and_then(|rest| rest.split('-').next());
        let owner = owner.and_then(|pid| pid.parse::<u32>().ok());
        owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    });
}

/// Removes namespaces; a failure shows itself in the next lab, not here, where something may be failing already.
fn remove_namespaces(doomed: impl Fn(&str) -> bool) {
    let list = Command::new("ip").args(["netns", "list"]).output();
    let list = list.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    for name in list.lines().filter_map(|line| line.split_whitespace().next()).filter(|name| doomed(name)) {
        let removed = Command::new("ip").args(["netns", "del", name]).output();
        drop(removed);
    }
}

/// A command that runs what its arguments will name in a namespace. `ip netns exec` would also copy all mounts for it, those of
/// the other namespaces among them: with a hundred of each that takes seconds.
fn enter(namespace: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{namespace}")).arg("--");
    command
}

fn ip(arguments: &[&str]) -> Result<(), LabError> {
    let mut command = Command::new("ip");
    command.args(arguments);
    run(command, "")
}

/// Runs commands of `ip`, one a line, in a namespace, in one process.
fn ip_batch(namespace: &str, commands: &str) -> Result<(), LabError> {
    let mut command = Command::new("ip");
    command.args(["-n", namespace, "-batch", "-"]);
    run(command, commands)
}

/// Runs a command with `input` and waits for its success.
fn run(mut command: Command, input: &str) -> Result<(), LabError> {
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    let name = [command.get_program().to_string_lossy().into_owned()].into_iter().chain(words);
    let name = name.collect::<Vec<_>>().join(" ");
    let failed = |said: String| LabError { command: name.clone(), said };
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    written.map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_the_far_ends_of_cables() {
        let lab = Lab {
            prefix: "gms-test".into(),
            hosts: 3,
            cuts: BTreeSet::from([(1, 2)]),
            losses: BTreeMap::from([((End::From, 3), 20), ((End::To, 3), 5)]),
        };
        let expected = "add table bridge lab\n\
             delete table bridge lab\n\
             table bridge lab {\n  chain cuts {\n    type filter hook forward priority 0; policy accept;\n    \
             iifname \"v1\" oifname \"v2\" drop\n    \
             iifname \"v3\" numgen random mod 100 < 20 drop\n    \
             oifname \"v3\" numgen random mod 100 < 5 drop\n  }\n}\n";
        assert_eq!(lab.rules(), expected);
    }
}

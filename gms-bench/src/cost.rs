//! What processes have used so far, from `/proc`.

use crate::failure::Failure;

/// What one process has used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Used {
    /// Nanoseconds of processor time of its threads.
    pub(crate) cpu: u64,
    /// Packets that its network's `eth0` sent.
    pub(crate) packets: u64,
    /// Bytes of them, Ethernet headers included.
    pub(crate) bytes: u64,
    /// Resident memory in KiB.
    pub(crate) rss: u64,
}

impl Used {
    /// What the process has used up to this moment.
    pub(crate) fn of(process: u32) -> Result<Self, Failure> {
        let read = |file: &str| {
            std::fs::read_to_string(format!("/proc/{process}/{file}"))
                .map_err(|error| Failure::fault(format!("/proc/{process}/{file} can't be read: {error}")))
        };
        let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
        let tasks = tasks.map_err(|error| Failure::fault(format!("a member has ended: {error}")))?;
        // A thread may end between being listed and being read.
        let schedstats =
            tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
        let cpu = schedstats.map(|text| first_number(&text)).sum();
        let (packets, bytes) = sent(&read("net/dev")?).unwrap_or_default();
        Ok(Self { cpu, packets, bytes, rss: resident(&read("status")?) })
    }
}

fn first_number(text: &str) -> u64 {
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Packets and bytes that `eth0` sent, from the text of `net/dev`.
fn sent(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("eth0:"))?;
    let numbers: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    Some((*numbers.get(9)?, *numbers.get(8)?))
}

/// KiB of resident memory, from the text of `status`.
fn resident(text: &str) -> u64 {
    text.lines().find_map(|line| line.strip_prefix("VmRSS:")).map_or(0, first_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_the_files_of_proc() {
        let dev = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
            lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n  \
            eth0:    1046      13    0    0    0     0          0         0     2876      31    0    0    0     0       0          0\n";
        assert_eq!(sent(dev), Some((31, 2876)));
        assert_eq!(sent("lo: 1 2"), None);
        assert_eq!(resident("Name:\tx\nVmRSS:\t    8704 kB\n"), 8704);
        assert_eq!(first_number("123456 789 2\n"), 123_456);
    }

    #[test]
    fn this_process_has_used_something() {
        let used = Used::of(std::process::id()).unwrap();
        assert!(used.rss > 0 && used.cpu > 0, "{used:?}");
    }
}

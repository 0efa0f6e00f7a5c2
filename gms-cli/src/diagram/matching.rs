//! Which received line belongs to which sent line, and in which order the lines of several members happened.

use std::collections::{BTreeMap, VecDeque};

use crate::trace::Line;

/// The traces of several members, told apart by place; in each, lines stand in the order in which they were written.
pub(super) struct Matched<'a> {
    /// All lines in an order in which causes come first: which trace, and the line.
    pub(super) ordered: Vec<(usize, &'a Line)>,
    /// Of each line in `ordered`, whether its other half is there too.
    pub(super) is_pair: Vec<bool>,
}

/// Place of a line: trace, line.
type Place = (usize, usize);

/// Which message this is, for its sender and its recipient alike.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key<'a> {
    /// Between members: numbers are counted per recipient and channel.
    Numbered { sender: &'a str, recipient: &'a str, channel: &'a str, number: u64 },
    /// To or from strangers: the first of a kind is received first.
    Stranger { sender: &'a str, recipient: &'a str, channel: &'a str, message: &'a str },
}

/// Matches and orders the lines, by the rules under "Merging" in `docs/trace.md`.
pub(super) fn matched(traces: &[Vec<Line>]) -> Matched<'_> {
    let senders = pair(traces);
    let total = traces.iter().map(Vec::len).sum();
    let mut next = vec![0; traces.len()];
    let mut placed: BTreeMap<Place, usize> = BTreeMap::new();
    let mut ordered = Vec::with_capacity(total);
    let mut is_pair = vec![false; total];
    while let Some(trace) = choose(traces, &next, &senders, &placed) {
        let place = (trace, next[trace]);
        next[trace] += 1;
        if let Some(sent) = senders.get(&place).and_then(|sender| placed.get(sender)) {
            is_pair[*sent] = true;
            is_pair[ordered.len()] = true;
        }
        placed.insert(place, ordered.len());
        ordered.push((trace, &traces[place.0][place.1]));
    }
    Matched { ordered, is_pair }
}

/// The trace whose next line comes next: the earliest whose cause is placed already. Where clocks disagree so much that
/// none is left, simply the earliest.
fn choose(
    traces: &[Vec<Line>],
    next: &[usize],
    senders: &BTreeMap<Place, Place>,
    placed: &BTreeMap<Place, usize>,
) -> Option<usize> {
    let waiting = |trace: usize| {
        let cause = senders.get(&(trace, next[trace]));
        cause.is_some_and(|cause| !placed.contains_key(cause))
    };
    let open = (0..traces.len()).filter(|trace| next[*trace] < traces[*trace].len());
    open.min_by_key(|trace| (waiting(*trace), traces[*trace][next[*trace]].at_ns))
}

/// Of each received line, the sent one.
fn pair(traces: &[Vec<Line>]) -> BTreeMap<Place, Place> {
    let addresses = addresses(traces);
    let mut sent: BTreeMap<Key<'_>, VecDeque<Place>> = BTreeMap::new();
    for (place, line) in lines(traces).filter(|(_, line)| line.step == "sent") {
        sent.entry(key(line, true, &addresses)).or_default().push_back(place);
    }
    let mut senders = BTreeMap::new();
    for (place, line) in lines(traces).filter(|(_, line)| line.step == "received") {
        if let Some(sender) = sent.get_mut(&key(line, false, &addresses)).and_then(VecDeque::pop_front) {
            senders.insert(place, sender);
        }
    }
    senders
}

fn key<'a>(line: &'a Line, is_sent: bool, addresses: &BTreeMap<&'a str, &'a str>) -> Key<'a> {
    let peer = line.peer_id.as_deref().unwrap_or_default();
    let (channel, message) = (line.channel.as_str(), line.message.as_str());
    if line.number > 0 && !peer.is_empty() {
        let (sender, recipient) = if is_sent { (line.id.as_str(), peer) } else { (peer, line.id.as_str()) };
        return Key::Numbered { sender, recipient, channel, number: line.number };
    }
    if is_sent {
        let addr = line.peer_addr.as_deref().unwrap_or_default();
        let recipient = addresses.get(addr).copied().unwrap_or(addr);
        return Key::Stranger { sender: &line.id, recipient, channel, message };
    }
    Key::Stranger { sender: peer, recipient: &line.me, channel, message }
}

/// Which member's name belongs to which address.
pub(super) fn addresses(traces: &[Vec<Line>]) -> BTreeMap<&str, &str> {
    let introduced = traces.iter().flatten().filter(|line| line.step == "incarnation");
    introduced
        .flat_map(|line| [(line.text("addr"), line.me.as_str()), (line.text("check_addr"), line.me.as_str())])
        .collect()
}

fn lines(traces: &[Vec<Line>]) -> impl Iterator<Item = (Place, &Line)> {
    traces
        .iter()
        .enumerate()
        .flat_map(|(trace, lines)| lines.iter().enumerate().map(move |(n, line)| ((trace, n), line)))
}

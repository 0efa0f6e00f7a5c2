//! The diagram itself: lanes, and rows of arrows and notes.

use std::collections::BTreeMap;

use super::label::{label, note};
use super::matching::{addresses, matched};
use crate::trace::Line;

/// Rows of one kind that lie this close together are drawn as one.
const TOGETHER_NS: u64 = 5_000_000;
/// How far back a row is looked for that a new arrow joins.
const LOOK_BACK: usize = 12;

/// Which part of the traces is drawn, by the boot clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    /// Where it begins; times in the diagram count from `zero_ns`.
    pub(crate) from_ns: u64,
    /// Where it ends.
    pub(crate) to_ns: u64,
    /// Time zero of the diagram.
    pub(crate) zero_ns: u64,
}

/// Something that the traces don't tell, such as a signal sent to a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    /// When.
    pub(crate) at_ns: u64,
    /// Beside whose lane.
    pub(crate) lane: String,
    /// What.
    pub(crate) text: String,
}

/// A sequence diagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sequence {
    /// Names of the lanes, from left to right.
    pub(crate) lanes: Vec<String>,
    /// From top to bottom.
    pub(crate) rows: Vec<Row>,
}

/// One row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    /// Nanoseconds since the diagram's zero; negative before it.
    pub(crate) at_ns: i64,
    /// What it shows.
    pub(crate) kind: RowKind,
}

/// What a row shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RowKind {
    /// Arrows with one label: from one sender to several, or from several on one side to one.
    Arrows {
        /// The arrows.
        arrows: Vec<Arrow>,
        /// What they carry.
        label: String,
    },
    /// Something that happened at these lanes.
    Note {
        /// Where.
        lanes: Vec<usize>,
        /// What.
        text: String,
        /// Whether it comes from outside.
        is_mark: bool,
    },
}

/// One message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrow {
    /// The sender's lane.
    pub(crate) from: usize,
    /// The recipient's lane.
    pub(crate) to: usize,
    /// Whether the recipient's trace shows it.
    pub(crate) arrived: bool,
}

impl Sequence {
    /// The diagram of these traces: one trace a lane, of the lane's name.
    pub(crate) fn build(lanes: &[String], traces: &[Vec<Line>], window: Window, marks: &[Mark]) -> Self {
        let mut builder = Builder::new(lanes, traces, window);
        let matched = matched(traces);
        let mut marks = marks.iter().peekable();
        for (n, (trace, line)) in matched.ordered.iter().enumerate() {
            while let Some(mark) = marks.next_if(|mark| mark.at_ns <= line.at_ns) {
                builder.mark(mark);
            }
            match line.step.as_str() {
                "sent" => builder.sent(*trace, line, matched.is_pair[n]),
                "received" if !matched.is_pair[n] => builder.orphan(*trace, line),
                _ => builder.other(*trace, line),
            }
        }
        marks.for_each(|mark| builder.mark(mark));
        Self { lanes: builder.lanes, rows: builder.rows }
    }
}

struct Builder<'a> {
    lanes: Vec<String>,
    ids: BTreeMap<&'a str, usize>,
    addresses: BTreeMap<&'a str, &'a str>,
    window: Window,
    rows: Vec<Row>,
    /// Of each lane, the first row that may still take a further arrow or note of it: those before lie before one of
    /// its own rows or of its causes.
    open_from: Vec<usize>,
}

impl<'a> Builder<'a> {
    fn new(lanes: &[String], traces: &'a [Vec<Line>], window: Window) -> Self {
        let introduced = |lines: &'a Vec<Line>| lines.iter().filter(|line| line.step == "incarnation");
        let ids = traces
            .iter()
            .enumerate()
            .flat_map(|(n, lines)| introduced(lines).map(move |l| (l.id.as_str(), n)));
        Self {
            lanes: lanes.to_vec(),
            ids: ids.collect(),
            addresses: addresses(traces),
            window,
            rows: Vec::new(),
            open_from: vec![0; lanes.len()],
        }
    }

    fn shows(&self, at_ns: u64) -> bool {
        (self.window.from_ns..=self.window.to_ns).contains(&at_ns)
    }

    fn peer_lane(&self, line: &Line) -> Option<usize> {
        let by_id = line.peer_id.as_deref().and_then(|id| self.ids.get(id).copied());
        let name = || line.peer_addr.as_deref().and_then(|addr| self.addresses.get(addr).copied());
        by_id.or_else(|| {
            let name = name().or(line.peer.as_deref())?;
            self.lanes.iter().position(|lane| lane == name)
        })
    }

    fn sent(&mut self, from: usize, line: &Line, arrived: bool) {
        let chatter = line.is_periodic() || (line.message == "Coordinator" && !arrived);
        let Some(to) = self.peer_lane(line).filter(|_| !chatter && self.shows(line.at_ns)) else { return };
        if from != to {
            self.arrow(line.at_ns, Arrow { from, to, arrived }, label(line));
        }
    }

    /// A message whose sender's trace does not show it: a killed sender takes its last lines along.
    fn orphan(&mut self, to: usize, line: &Line) {
        let Some(from) = self.peer_lane(line).filter(|_| !line.is_periodic() && self.shows(line.at_ns))
        else {
            return;
        };
        if from != to {
            self.arrow(line.at_ns, Arrow { from, to, arrived: true }, label(line));
        }
    }

    fn other(&mut self, lane: usize, line: &Line) {
        if let Some(text) = note(line).filter(|_| self.shows(line.at_ns)) {
            self.note(line.at_ns, lane, text, false);
        }
    }

    fn mark(&mut self, mark: &Mark) {
        if let Some(lane) = self.lanes.iter().position(|lane| *lane == mark.lane) {
            self.note(mark.at_ns, lane, mark.text.clone(), true);
        }
    }

    fn arrow(&mut self, at_ns: u64, arrow: Arrow, text: String) {
        let at = self.since_zero(at_ns);
        let place = self.row_to_join(
            arrow.from,
            at,
            |kind| matches!(kind, RowKind::Arrows { arrows, label } if *label == text && fits(arrows, arrow)),
        );
        let place = match (place, place.map(|n| &mut self.rows[n].kind)) {
            (Some(place), Some(RowKind::Arrows { arrows, .. })) => {
                arrows.push(arrow);
                place
            }
            _ => {
                self.rows.push(Row { at_ns: at, kind: RowKind::Arrows { arrows: vec![arrow], label: text } });
                self.rows.len() - 1
            }
        };
        self.open_from[arrow.from] = self.open_from[arrow.from].max(place);
        if arrow.arrived {
            self.open_from[arrow.to] = self.open_from[arrow.to].max(place + 1);
        }
    }

    fn note(&mut self, at_ns: u64, lane: usize, what: String, marks: bool) {
        let at = self.since_zero(at_ns);
        let place = self.row_to_join(lane, at, |kind| {
            matches!(kind, RowKind::Note { lanes, text, is_mark }
                if *text == what && *is_mark == marks && !lanes.contains(&lane))
        });
        let place = match (place, place.map(|n| &mut self.rows[n].kind)) {
            (Some(place), Some(RowKind::Note { lanes, .. })) => {
                lanes.push(lane);
                place
            }
            _ => {
                self.rows.push(Row {
                    at_ns: at,
                    kind: RowKind::Note { lanes: vec![lane], text: what, is_mark: marks },
                });
                self.rows.len() - 1
            }
        };
        self.open_from[lane] = self.open_from[lane].max(place);
    }

    /// A row of the same kind, close enough, and not before anything that this lane saw or did.
    fn row_to_join(&self, lane: usize, at: i64, same: impl Fn(&RowKind) -> bool) -> Option<usize> {
        let first = self.open_from[lane].max(self.rows.len().saturating_sub(LOOK_BACK));
        let close = |row: &Row| at.abs_diff(row.at_ns) <= TOGETHER_NS;
        (first..self.rows.len()).rev().find(|n| close(&self.rows[*n]) && same(&self.rows[*n].kind))
    }

    fn since_zero(&self, at_ns: u64) -> i64 {
        let zero = self.window.zero_ns;
        let distance = i64::try_from(at_ns.abs_diff(zero)).unwrap_or(i64::MAX);
        if at_ns >= zero { distance } else { -distance }
    }
}

/// Whether a further arrow keeps the row a fan: one sender, or one recipient with all senders on one side.
fn fits(arrows: &[Arrow], new: Arrow) -> bool {
    let fans_out = arrows.iter().all(|a| a.from == new.from) && arrows.iter().all(|a| a.to != new.to);
    let side = |a: &Arrow| a.from < a.to;
    let fans_in = arrows
        .iter()
        .all(|a| a.to == new.to && a.from != new.from && side(a) == side(&new) && a.arrived == new.arrived);
    fans_out || fans_in
}

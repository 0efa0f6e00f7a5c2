//! The diagram for a terminal: a column a member, what was said at the right.

use super::model::{Arrow, Row, RowKind, Sequence};

/// Columns of the time in front.
const TIME_WIDTH: usize = 12;
/// Narrowest lane.
const LANE_WIDTH_MIN: usize = 7;

/// Draws the diagram.
pub(super) fn render(sequence: &Sequence) -> String {
    let widest = sequence.lanes.iter().map(|name| name.chars().count() + 2).max().unwrap_or(0);
    let grid = Grid { width: widest.max(LANE_WIDTH_MIN), lanes: sequence.lanes.len() };
    let mut out = format!("{:>TIME_WIDTH$} ", "ms");
    for name in &sequence.lanes {
        out.push_str(&format!("{name:^width$}", width = grid.width));
    }
    let mut lines = vec![out.trim_end().to_owned()];
    lines.extend(sequence.rows.iter().map(|row| grid.line(row)));
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// Where lanes stand.
struct Grid {
    width: usize,
    lanes: usize,
}

impl Grid {
    fn line(&self, row: &Row) -> String {
        let mut cells = vec![' '; self.width * self.lanes];
        (0..self.lanes).for_each(|lane| cells[self.column(lane)] = '|');
        let text = match &row.kind {
            RowKind::Arrows { arrows, label } => {
                self.draw(&mut cells, arrows);
                label
            }
            RowKind::Note { lanes, text, is_mark } => {
                lanes.iter().for_each(|lane| cells[self.column(*lane)] = if *is_mark { '#' } else { '*' });
                text
            }
        };
        let cells: String = cells.into_iter().collect();
        format!("{:>TIME_WIDTH$} {cells} {text}", time(row.at_ns))
    }

    /// The middle of the lane's name.
    const fn column(&self, lane: usize) -> usize {
        lane * self.width + (self.width - 1) / 2
    }

    fn draw(&self, cells: &mut [char], arrows: &[Arrow]) {
        let ends = || arrows.iter().flat_map(|a| [a.from, a.to]);
        let (Some(left), Some(right)) = (ends().min(), ends().max()) else { return };
        for (n, cell) in cells.iter_mut().enumerate().take(self.column(right)).skip(self.column(left)) {
            // A lane that the line only crosses stays visible.
            let crossed = (0..self.lanes).any(|lane| self.column(lane) == n);
            *cell = if crossed { '+' } else { '-' };
        }
        for arrow in arrows {
            cells[self.column(arrow.from)] = 'o';
        }
        for arrow in arrows {
            cells[self.column(arrow.to)] = match (arrow.arrived, arrow.from < arrow.to) {
                (false, _) => 'x',
                (true, true) => '>',
                (true, false) => '<',
            };
        }
    }
}

/// Milliseconds with three decimals.
pub(super) fn time(at_ns: i64) -> String {
    let sign = if at_ns < 0 { "-" } else { "+" };
    let micros = at_ns.unsigned_abs() / 1000;
    format!("{sign}{}.{:03}", micros / 1000, micros % 1000)
}

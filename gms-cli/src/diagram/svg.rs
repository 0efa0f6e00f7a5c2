//! The diagram as a picture.

use super::model::{Arrow, Row, RowKind, Sequence};
use super::text::time;

const ROW_HEIGHT: usize = 22;
const TOP: usize = 50;
const TIME_WIDTH: usize = 90;
const LANE_WIDTH: usize = 110;
const LABEL_WIDTH: usize = 420;

/// Draws the diagram.
pub(super) fn render(sequence: &Sequence) -> String {
    let width = TIME_WIDTH + LANE_WIDTH * sequence.lanes.len() + LABEL_WIDTH;
    let height = TOP + ROW_HEIGHT * (sequence.rows.len() + 1);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"12\">\n{STYLE}"
    );
    out.push_str(&format!("<rect width=\"{width}\" height=\"{height}\" class=\"ground\"/>\n"));
    for (lane, name) in sequence.lanes.iter().enumerate() {
        let x = column(lane);
        out.push_str(&format!(
            "<text x=\"{x}\" y=\"20\" class=\"name\">{}</text>\n<line x1=\"{x}\" y1=\"30\" x2=\"{x}\" y2=\"{height}\" class=\"lane\"/>\n",
            escape(name)
        ));
    }
    for (n, row) in sequence.rows.iter().enumerate() {
        draw(&mut out, row, TOP + ROW_HEIGHT * n, sequence.lanes.len());
    }
    out.push_str("</svg>\n");
    out
}

const STYLE: &str = "\
<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
<path d=\"M0 0L8 4L0 8z\" class=\"tip\"/></marker></defs>
<style>.ground{fill:#fff}.lane{stroke:#bbb;stroke-dasharray:4 3}.name{text-anchor:middle;font-weight:bold}\
.time{text-anchor:end;fill:#666}.arrow{stroke:#1f5fa8;marker-end:url(#head)}.tip{fill:#1f5fa8}\
.lost{stroke:#b3261e;stroke-dasharray:5 3}.cross{stroke:#b3261e;stroke-width:2}.note{fill:#f2c94c;stroke:#8a6d00}\
.mark{fill:#b3261e}</style>
";

fn draw(out: &mut String, row: &Row, y: usize, lanes: usize) {
    let text = match &row.kind {
        RowKind::Arrows { arrows, label } => {
            arrows.iter().for_each(|a| arrow(out, *a, y));
            label
        }
        RowKind::Note { lanes, text, is_mark } => {
            let class = if *is_mark { "mark" } else { "note" };
            for lane in lanes {
                out.push_str(&format!(
                    "<circle cx=\"{}\" cy=\"{y}\" r=\"5\" class=\"{class}\"/>\n",
                    column(*lane)
                ));
            }
            text
        }
    };
    out.push_str(&format!(
        "<text x=\"{}\" y=\"{}\" class=\"time\">{}</text>\n<text x=\"{}\" y=\"{}\">{}</text>\n",
        TIME_WIDTH - 10,
        y + 4,
        time(row.at_ns),
        TIME_WIDTH + LANE_WIDTH * lanes,
        y + 4,
        escape(text)
    ));
}

fn arrow(out: &mut String, arrow: Arrow, y: usize) {
    let (x1, x2) = (column(arrow.from), column(arrow.to));
    let class = if arrow.arrived { "arrow" } else { "lost" };
    out.push_str(&format!("<line x1=\"{x1}\" y1=\"{y}\" x2=\"{x2}\" y2=\"{y}\" class=\"{class}\"/>\n"));
    if !arrow.arrived {
        let (l, r, t, b) = (x2 - 4, x2 + 4, y - 4, y + 4);
        out.push_str(&format!("<path d=\"M{l} {t}L{r} {b}M{l} {b}L{r} {t}\" class=\"cross\"/>\n"));
    }
}

const fn column(lane: usize) -> usize {
    TIME_WIDTH + LANE_WIDTH * lane + LANE_WIDTH / 2
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

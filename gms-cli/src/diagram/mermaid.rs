//! The diagram as Mermaid's `sequenceDiagram`.

use super::model::{RowKind, Sequence};
use super::text::time;

/// Writes the diagram.
pub(super) fn render(sequence: &Sequence) -> String {
    let mut out = String::from("sequenceDiagram\n");
    for (n, name) in sequence.lanes.iter().enumerate() {
        out.push_str(&format!("    participant L{n} as {}\n", escape(name)));
    }
    for row in &sequence.rows {
        let at = time(row.at_ns);
        match &row.kind {
            RowKind::Arrows { arrows, label } => {
                for arrow in arrows {
                    let line = if arrow.arrived { "->>" } else { "--x" };
                    out.push_str(&format!(
                        "    L{}{line}L{}: {at} ms {}\n",
                        arrow.from,
                        arrow.to,
                        escape(label)
                    ));
                }
            }
            RowKind::Note { lanes, text, .. } => {
                for lane in lanes {
                    out.push_str(&format!("    Note over L{lane}: {at} ms {}\n", escape(text)));
                }
            }
        }
    }
    out
}

/// Characters with a meaning to Mermaid as their entity codes.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '#' | ';' | '<' | '>' | '"' => out.push_str(&format!("#{};", u32::from(c))),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

//! The diagram as PlantUML.

use super::model::{RowKind, Sequence};
use super::text::time;

/// Writes the diagram.
pub(super) fn render(sequence: &Sequence) -> String {
    let mut out = String::from("@startuml\nhide footbox\n");
    for (n, name) in sequence.lanes.iter().enumerate() {
        out.push_str(&format!("participant \"{}\" as L{n}\n", escape(name)));
    }
    for row in &sequence.rows {
        let at = time(row.at_ns);
        match &row.kind {
            RowKind::Arrows { arrows, label } => {
                for arrow in arrows {
                    let line = if arrow.arrived { "->" } else { "-->x" };
                    out.push_str(&format!(
                        "L{} {line} L{} : {at} ms {}\n",
                        arrow.from,
                        arrow.to,
                        escape(label)
                    ));
                }
            }
            RowKind::Note { lanes, text, .. } => {
                for lane in lanes {
                    out.push_str(&format!("note over L{lane} : {at} ms {}\n", escape(text)));
                }
            }
        }
    }
    out.push_str("@enduml\n");
    out
}

/// Quotes, and the backslash that starts PlantUML's own escapes, as characters that have no meaning to it.
fn escape(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '"' => '\'',
            '\\' => '/',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}

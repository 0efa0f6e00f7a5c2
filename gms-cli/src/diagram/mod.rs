//! Sequence diagrams of traces: who said what to whom, merged over the members and ordered by cause.

mod label;
mod matching;
mod mermaid;
mod model;
mod plantuml;
mod svg;
mod text;

use std::path::Path;

use crate::exit::Failure;

pub(crate) use label::label;
pub(crate) use model::{Mark, Sequence, Window};

/// How a diagram is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// A picture.
    Svg,
    /// Mermaid's sequence diagram.
    Mermaid,
    /// PlantUML's sequence diagram.
    PlantUml,
}

impl Format {
    /// The format that the file's extension names.
    ///
    /// # Errors
    ///
    /// Another extension.
    pub(crate) fn of(file: &Path) -> Result<Self, Failure> {
        match file.extension().and_then(|e| e.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("mmd") => Ok(Self::Mermaid),
            Some("puml") => Ok(Self::PlantUml),
            _ => Err(Failure::usage(format!(
                "--diagram {}: the extension names no format, use .svg, .mmd (Mermaid) or .puml (PlantUML)",
                file.display()
            ))),
        }
    }

    /// The diagram in this format.
    pub(crate) fn render(self, sequence: &Sequence) -> String {
        match self {
            Self::Svg => svg::render(sequence),
            Self::Mermaid => mermaid::render(sequence),
            Self::PlantUml => plantuml::render(sequence),
        }
    }
}

/// The diagram for a terminal.
pub(crate) fn text(sequence: &Sequence) -> String {
    text::render(sequence)
}

#[cfg(test)]
mod tests;

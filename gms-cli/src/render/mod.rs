//! Text for people: events as lines, members and views as tables. Made from the JSON that programs read, so that the
//! two never tell different stories.

mod event;
mod step;
mod table;

pub(crate) use event::{event_line, event_sentence};
pub(crate) use step::step_sentence;
pub(crate) use table::{members_table, view_text};

/// Colours of text, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// What went wrong.
    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    /// What needs attention.
    pub(crate) fn warn(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// What went well.
    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// What stands back.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }
}

#[cfg(test)]
mod tests;

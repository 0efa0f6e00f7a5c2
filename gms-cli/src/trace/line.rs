//! Reads traces back.

use serde::Deserialize;
use serde_json::Value;

use crate::event_json::Object;

/// One line of a trace; what a kind of line does not have is empty.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Line {
    /// The boot clock.
    pub(crate) at_ns: u64,
    /// The member's name.
    pub(crate) me: String,
    /// Its incarnation, the first 8 bytes.
    pub(crate) id: String,
    /// What it is about: `sent`, `received`, `event`, …
    pub(crate) step: String,
    /// `datagram` or `stream`.
    pub(crate) channel: String,
    /// The message's name.
    pub(crate) message: String,
    /// The other end's name, if known, else its address.
    pub(crate) peer: Option<String>,
    /// The other end's incarnation.
    pub(crate) peer_id: Option<String>,
    /// The other end's address.
    pub(crate) peer_addr: Option<String>,
    /// The message's number.
    pub(crate) number: u64,
    /// Everything else.
    #[serde(flatten)]
    pub(crate) rest: Object,
}

impl Line {
    /// A field that is text.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.rest.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// A field that is a whole number.
    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        self.rest.get(key).and_then(Value::as_u64)
    }

    /// A field that is a list of texts.
    pub(crate) fn list(&self, key: &str) -> Vec<&str> {
        let items = self.rest.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        items.iter().filter_map(Value::as_str).collect()
    }

    /// Whether this is the periodic heartbeat that answers nothing.
    pub(crate) fn is_periodic(&self) -> bool {
        self.message == "Heartbeat" && self.text("answers") == "nothing"
    }
}

/// One line, or `None` where it is none: a killed process may leave half a line behind.
pub(crate) fn parse(line: &str) -> Option<Line> {
    serde_json::from_str(line).ok()
}

//! Reads server-sent events out of bytes that arrive in any pieces.

/// Longest event kept; a stream that sends more without an end is no event stream.
const EVENT_BYTES_MAX: usize = 16 << 20;

/// One event of the stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Message {
    /// Its number, if it has one.
    pub(super) id: Option<String>,
    /// What it carries.
    pub(super) data: String,
}

/// Collects bytes until events are whole.
#[derive(Debug, Default)]
pub(super) struct Parser {
    buffer: Vec<u8>,
    message: Message,
}

impl Parser {
    /// Takes bytes and returns the events that they complete; `None` if this is no event stream.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Option<Vec<Message>> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() + self.message.data.len() > EVENT_BYTES_MAX {
            return None;
        }
        let mut whole = Vec::new();
        while let Some(end) = self.buffer.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            self.take_line(line.trim_end_matches(['\r', '\n']), &mut whole);
        }
        Some(whole)
    }

    fn take_line(&mut self, line: &str, whole: &mut Vec<Message>) {
        if line.is_empty() {
            let message = std::mem::take(&mut self.message);
            if !message.data.is_empty() {
                whole.push(message);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.message.id = Some(value.to_owned()),
            "data" => {
                if !self.message.data.is_empty() {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_from_pieces_and_comments_are_skipped() {
        let mut parser = Parser::default();
        assert_eq!(parser.take(b": keep-alive\n\nid: 7\nev"), Some(vec![]));
        assert_eq!(parser.take(b"ent: paused\ndata: {\"a\":"), Some(vec![]));
        let expected = Message { id: Some("7".into()), data: "{\"a\":1}".into() };
        assert_eq!(parser.take(b"1}\n\nid: 8\n"), Some(vec![expected]));
    }
}

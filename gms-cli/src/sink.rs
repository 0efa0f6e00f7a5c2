//! Lines that are written by a thread of their own, so that no full pipe or slow disk ever holds who writes them.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Takes whole lines.
pub(crate) trait Lines {
    /// Takes one, with or without its end.
    fn push(&self, line: Vec<u8>);
}

/// The near end of a bounded queue of lines. What does not fit is counted, and the count is written in its place.
#[derive(Clone, Debug)]
pub(crate) struct LineSink {
    queue: SyncSender<Vec<u8>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Lines taken into the queue.
    queued: AtomicU64,
    /// Lines that did not fit since the last report.
    lost: AtomicU64,
    /// Lines written and flushed, or given up.
    written: Mutex<u64>,
    progress: Condvar,
}

impl LineSink {
    /// Starts the thread that writes to `target`, with room for `capacity` lines; `lost_line` makes the line that
    /// tells how many are missing.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub(crate) fn spawn(
        name: &str,
        capacity: usize,
        target: impl Write + Send + 'static,
        lost_line: fn(u64) -> String,
    ) -> io::Result<Self> {
        let (queue, lines) = mpsc::sync_channel(capacity);
        let shared = Arc::new(Shared::default());
        let far = Arc::clone(&shared);
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || write_lines(&lines, target, &far, lost_line))?;
        Ok(Self { queue, shared })
    }

    /// Waits until everything queued so far is written, at most for `timeout`.
    pub(crate) fn flush(&self, timeout: Duration) {
        let goal = self.shared.queued.load(Ordering::Acquire);
        let written = self.shared.written.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.shared.progress.wait_timeout_while(written, timeout, |written| *written < goal));
    }
}

impl Lines for LineSink {
    /// Queues a line, or counts it as lost. Never waits.
    fn push(&self, mut line: Vec<u8>) {
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        // Counted before it is queued: a waiting `flush` must never see more written than queued.
        self.shared.queued.fetch_add(1, Ordering::AcqRel);
        if self.queue.try_send(line).is_err() {
            self.shared.queued.fetch_sub(1, Ordering::AcqRel);
            self.shared.lost.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl Write for LineSink {
    /// Takes one whole line a call.
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.push(buffer.to_vec());
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_lines(
    lines: &Receiver<Vec<u8>>,
    mut target: impl Write,
    shared: &Shared,
    lost_line: fn(u64) -> String,
) {
    let mut broken = false;
    while let Ok(first) = lines.recv() {
        let mut taken = 0;
        let mut next = Some(first);
        while let Some(line) = next {
            taken += 1;
            broken = broken || write_one(&mut target, &line, shared, lost_line).is_err();
            next = lines.try_recv().ok();
        }
        broken = broken || target.flush().is_err();
        *shared.written.lock().unwrap_or_else(PoisonError::into_inner) += taken;
        shared.progress.notify_all();
    }
    drop(target.flush());
}

fn write_one(
    target: &mut impl Write,
    line: &[u8],
    shared: &Shared,
    lost_line: fn(u64) -> String,
) -> io::Result<()> {
    target.write_all(line)?;
    let lost = shared.lost.swap(0, Ordering::AcqRel);
    if lost > 0 {
        target.write_all(lost_line(lost).as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target that takes nothing until it is told to.
    #[derive(Clone)]
    struct Gate {
        open: Arc<(Mutex<bool>, Condvar)>,
        got: Arc<Mutex<Vec<u8>>>,
    }

    impl Gate {
        fn closed() -> Self {
            Self { open: Arc::default(), got: Arc::default() }
        }

        fn open(&self) {
            *self.open.0.lock().unwrap() = true;
            self.open.1.notify_all();
        }
    }

    impl Write for Gate {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            let open = self.open.0.lock().unwrap();
            drop(self.open.1.wait_while(open, |open| !*open).unwrap());
            self.got.lock().unwrap().extend_from_slice(buffer);
            Ok(buffer.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_blocked_target_holds_nobody_and_what_is_lost_is_counted() {
        let gate = Gate::closed();
        let sink = LineSink::spawn("test", 2, gate.clone(), |n| format!("lost {n}\n")).unwrap();
        for n in 0..100 {
            sink.push(format!("line {n}").into_bytes());
        }
        gate.open();
        sink.flush(Duration::from_secs(30));
        let text = String::from_utf8(gate.got.lock().unwrap().clone()).unwrap();
        let lost: u64 =
            text.lines().filter_map(|l| l.strip_prefix("lost ")).map(|n| n.parse::<u64>().unwrap()).sum();
        let kept = text.lines().filter(|l| l.starts_with("line ")).count() as u64;
        assert!(text.starts_with("line 0\n"), "{text}");
        assert!(lost >= 97, "{text}");
        assert_eq!(lost + kept, 100, "{text}");
    }

    #[test]
    fn a_target_that_fails_is_left_alone() {
        struct Broken;
        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let sink = LineSink::spawn("test", 2, Broken, |_| String::new()).unwrap();
        sink.push(b"one".to_vec());
        sink.flush(Duration::from_secs(30));
        sink.push(b"two".to_vec());
        sink.flush(Duration::from_secs(30));
        assert_eq!(*sink.shared.written.lock().unwrap(), 2);
    }
}

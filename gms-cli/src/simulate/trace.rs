//! The trace of a whole world: one file with the lines of all members, in the order in which they happened.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gms_core::member::MemberId;
use gms_core::runtime::{TraceSink, TraceStep};
use gms_sim::World;

use crate::exit::Failure;
use crate::names::Names;
use crate::sink::Lines;
use crate::trace::JsonTrace;

/// Lines that all go to one place. Unlike the trace of a running member it waits for the disk: simulated time stands
/// still meanwhile.
#[derive(Debug)]
pub(super) struct Shared<W> {
    target: Arc<Mutex<Target<W>>>,
}

#[derive(Debug)]
struct Target<W> {
    writer: W,
    failed: Option<io::Error>,
}

impl<W> Clone for Shared<W> {
    fn clone(&self) -> Self {
        Self { target: Arc::clone(&self.target) }
    }
}

impl<W: Write> Shared<W> {
    /// Lines to this writer.
    pub(super) fn new(writer: W) -> Self {
        Self { target: Arc::new(Mutex::new(Target { writer, failed: None })) }
    }

    /// Does something with the writer; after the first error nothing more.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut W) -> T) -> T {
        act(&mut self.target.lock().unwrap_or_else(PoisonError::into_inner).writer)
    }

    fn finish(&self) -> io::Result<()> {
        let mut target = self.target.lock().unwrap_or_else(PoisonError::into_inner);
        match target.failed.take() {
            Some(error) => Err(error),
            None => target.writer.flush(),
        }
    }
}

impl<W: Write> Lines for Shared<W> {
    fn push(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        let mut target = self.target.lock().unwrap_or_else(PoisonError::into_inner);
        if target.failed.is_none() {
            target.failed = target.writer.write_all(&line).err();
        }
    }
}

/// Takes the steps of all members: each has a trace of its own, all into the same lines.
pub(super) struct WorldTrace<W> {
    lines: Shared<W>,
    members: BTreeMap<MemberId, JsonTrace<Shared<W>>>,
}

impl<W: Write + Send + 'static> WorldTrace<W> {
    /// A trace that begins here: members know the names of those in their views.
    pub(super) fn new(lines: Shared<W>, world: &World) -> Self {
        let mut members = BTreeMap::new();
        for process in world.up() {
            let mut names = Names::default();
            if let Some(view) = process.view() {
                names.learn_view(view);
            }
            members.insert(process.member().id, JsonTrace::new(lines.clone(), names));
        }
        Self { lines, members }
    }
}

impl<W: Write + Send + 'static> TraceSink for WorldTrace<W> {
    fn record(&mut self, step: TraceStep<'_>) {
        let trace = self
            .members
            .entry(step.me.id)
            .or_insert_with(|| JsonTrace::new(self.lines.clone(), Names::default()));
        trace.record(step);
    }
}

/// The file of `--trace`.
#[derive(Debug)]
pub(super) struct TraceFile {
    path: PathBuf,
    lines: Shared<BufWriter<File>>,
}

impl TraceFile {
    /// Makes the file, empty.
    ///
    /// # Errors
    ///
    /// It can't be made.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| {
            Failure::usage(format!(
                "--trace {} can't be written ({error}): name a file in a writable place",
                path.display()
            ))
        })?;
        let lines = Shared::new(BufWriter::with_capacity(1 << 16, file));
        Ok(Self { path: path.to_owned(), lines })
    }

    /// Records everything that happens in a world from here on.
    pub(super) fn follow(&self, world: &mut World) {
        let trace = WorldTrace::new(self.lines.clone(), world);
        world.set_trace(Box::new(trace));
    }

    /// Writes what is still held back.
    ///
    /// # Errors
    ///
    /// A line could not be written.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        self.lines.finish().map_err(|error| {
            Failure::fault(format!(
                "--trace {} can't be written ({error}): make room, or name another file",
                self.path.display()
            ))
        })
    }
}

//! The progress bar on stderr: how far, how fast, how much.

use std::io::IsTerminal as _;
use std::time::Duration;

use gms_core::Timestamp;
use gms_core::runtime::clock;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

/// Steps of a bar: milliseconds of simulated time, or seeds.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    began: Timestamp,
}

impl Progress {
    /// A bar of so many steps, where somebody is there to see it.
    pub(super) fn new(steps: u64, is_wanted: bool) -> Self {
        let is_shown = is_wanted && std::io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(steps), target);
        let template = if output::colour_of_log() {
            "{bar:10.green} {percent:>3}% {wide_msg}"
        } else {
            "{bar:10} {percent:>3}% {wide_msg}"
        };
        let style = ProgressStyle::with_template(template).expect("the template is well-formed");
        bar.set_style(style.progress_chars("=> "));
        Self { bar, began: clock::now() }
    }

    /// Says how far a single run is.
    pub(super) fn run(&self, simulated: Duration, events: u64) {
        self.bar.set_position(u64::try_from(simulated.as_millis()).unwrap_or(u64::MAX));
        self.bar.set_message(self.sentence(simulated, events));
    }

    /// Says that the members are still forming.
    pub(super) fn forming(&self, events: u64) {
        self.bar.set_message(format!("the members form, {events} events"));
    }

    /// Says how many seeds are done.
    pub(super) fn seeds(&self, done: u64, seeds: u64, simulated: Duration, events: u64) {
        self.bar.set_position(done);
        self.bar.set_message(format!("{done} of {seeds} seeds, {}", self.sentence(simulated, events)));
    }

    /// Says something else.
    pub(super) fn say(&self, text: &'static str) {
        self.bar.set_message(text);
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// Real time since the beginning.
    pub(super) fn took(&self) -> Duration {
        clock::now().since(self.began)
    }

    fn sentence(&self, simulated: Duration, events: u64) -> String {
        let took = self.took().as_secs_f64().max(1e-9);
        let speed = simulated.as_secs_f64() / took;
        let millions = events as f64 / 1e6;
        format!("{:.0} s, {speed:.0} x real time, {millions:.1} M events", simulated.as_secs_f64())
    }
}

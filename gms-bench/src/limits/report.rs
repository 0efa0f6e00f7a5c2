//! What the pairs amount to.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::stats::Spread;

/// Largest time to encode and decode a heartbeat, in nanoseconds.
const CODEC_NS_MAX: f64 = 150.0;
/// Largest heartbeat that is not sealed, in bytes.
const HEARTBEAT_BYTES_MAX: usize = 48;
/// Least share of the bare loop, in percent.
const RECEIVED_MIN: f64 = 60.0;
const SENT_MIN: f64 = 80.0;
/// Least share of what quinn alone carries, in percent.
const QUIC_MIN: f64 = 80.0;

/// How many datagrams went through in what time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rate {
    /// Datagrams.
    pub datagrams: u64,
    /// Seconds that passed.
    pub seconds: f64,
    /// Seconds of processor time of the threads that did it.
    pub cpu_seconds: f64,
}

impl Rate {
    /// Datagrams per second.
    pub fn per_second(&self) -> f64 {
        self.datagrams as f64 / self.seconds
    }

    /// Nanoseconds of processor time for each.
    pub fn cpu_ns(&self) -> f64 {
        self.cpu_seconds * 1e9 / self.datagrams as f64
    }
}

/// All pairs: the bare loop, then GMS.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LimitsReport {
    /// How many peers were sent to and heard.
    pub peers: usize,
    /// How many heartbeats were under way at most while receiving.
    pub window: u64,
    /// Received.
    pub received: Vec<(Rate, Rate)>,
    /// Sent.
    pub sent: Vec<(Rate, Rate)>,
    /// From one endpoint to another over QUIC: through quinn alone, then through gms-quic.
    #[serde(default)]
    pub quic: Vec<(Rate, Rate)>,
    /// Nanoseconds to encode a heartbeat and decode it.
    pub codec_ns: Vec<f64>,
    /// Bytes of the largest heartbeat.
    pub heartbeat_bytes: usize,
}

impl LimitsReport {
    /// An empty report.
    pub fn new(peers: usize) -> Self {
        Self { peers, ..Self::default() }
    }

    /// Whether nothing was measured.
    pub(crate) fn is_empty(&self) -> bool {
        [&self.received, &self.sent, &self.quic].iter().all(|pairs| pairs.is_empty())
    }

    /// For programs.
    pub(crate) fn json(&self) -> Result<String, Failure> {
        let failed = |error| Failure::fault(format!("the report can't be written as JSON: {error}"));
        serde_json::to_string_pretty(self).map(|text| text + "\n").map_err(failed)
    }

    /// For people.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# Heartbeats against bare sockets, {} peers\n\n\
             At most {} are under way to the one socket that receives. Over QUIC there are {} peers.\n\n\
             | what | bare loop, per second | GMS, per second | share: median (smallest to largest) | CPU each, bare / GMS | demanded | held |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n",
            self.peers,
            self.window,
            super::quic::PEERS,
        );
        text.push_str(&row("received, decoded and recorded", &self.received, RECEIVED_MIN));
        text.push_str(&row("encoded and sent to distinct peers", &self.sent, SENT_MIN));
        text.push_str(&row(
            "over QUIC: encoded, sent, received, decoded; beside quinn",
            &self.quic,
            QUIC_MIN,
        ));
        if let Some(spread) = Spread::of(self.codec_ns.iter().copied()) {
            let held = |is_held: bool| if is_held { "yes" } else { "**no**" };
            text.push_str(&format!(
                "\n| what | measured | demanded | held |\n| --- | --- | --- | --- |\n\
                 | a heartbeat encoded and decoded | {:.0} ns ({:.0} to {:.0}) | less than {CODEC_NS_MAX} ns | {} |\n\
                 | largest heartbeat, not sealed | {} bytes | at most {HEARTBEAT_BYTES_MAX} bytes | {} |\n",
                spread.median,
                spread.min,
                spread.max,
                held(spread.median < CODEC_NS_MAX),
                self.heartbeat_bytes,
                held(self.heartbeat_bytes <= HEARTBEAT_BYTES_MAX),
            ));
        }
        text
    }
}

fn row(what: &str, pairs: &[(Rate, Rate)], least: f64) -> String {
    let median = |of: fn(&(Rate, Rate)) -> f64| Spread::of(pairs.iter().map(of)).map_or(0.0, |s| s.median);
    let shares = Spread::of(pairs.iter().map(|(bare, own)| own.per_second() / bare.per_second() * 100.0));
    let Some(shares) = shares else { return String::new() };
    format!(
        "| {what} | {:.0} | {:.0} | {:.0} % ({:.0} to {:.0}, {} pairs) | {:.0} / {:.0} ns | at least {least} % | {} |\n",
        median(|pair| pair.0.per_second()),
        median(|pair| pair.1.per_second()),
        shares.median,
        shares.min,
        shares.max,
        shares.count,
        median(|pair| pair.0.cpu_ns()),
        median(|pair| pair.1.cpu_ns()),
        if shares.median >= least { "yes" } else { "**no**" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_taken_within_pairs() {
        let rate = |datagrams| Rate { datagrams, seconds: 2.0, cpu_seconds: 1.0 };
        let report = LimitsReport {
            peers: 3,
            window: 4096,
            received: vec![(rate(1000), rate(500)), (rate(2000), rate(1400)), (rate(400), rate(200))],
            sent: vec![(rate(100), rate(90))],
            quic: vec![(rate(200), rate(180))],
            codec_ns: vec![120.4, 160.0, 100.0],
            heartbeat_bytes: 49,
        };
        let expected = "# Heartbeats against bare sockets, 3 peers\n\n\
            At most 4096 are under way to the one socket that receives. Over QUIC there are 8 peers.\n\n\
            | what | bare loop, per second | GMS, per second | share: median (smallest to largest) | CPU each, bare / GMS | demanded | held |\n\
            | --- | --- | --- | --- | --- | --- | --- |\n\
            | received, decoded and recorded | 500 | 250 | 50 % (50 to 70, 3 pairs) | 1000000 / 2000000 ns | at least 60 % | **no** |\n\
            | encoded and sent to distinct peers | 50 | 45 | 90 % (90 to 90, 1 pairs) | 10000000 / 11111111 ns | at least 80 % | yes |\n\
            | over QUIC: encoded, sent, received, decoded; beside quinn | 100 | 90 | 90 % (90 to 90, 1 pairs) | 5000000 / 5555556 ns | at least 80 % | yes |\n\
            \n| what | measured | demanded | held |\n| --- | --- | --- | --- |\n\
            | a heartbeat encoded and decoded | 120 ns (100 to 160) | less than 150 ns | yes |\n\
            | largest heartbeat, not sealed | 49 bytes | at most 48 bytes | **no** |\n";
        assert_eq!(report.markdown(), expected);
    }
}

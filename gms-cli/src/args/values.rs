//! Values of flags: addresses, durations and tags, each with a sentence that says what is wrong with a bad one.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use gms_core::config::{CrashDetection, HeartbeatRecipients};

/// Parses `5s`, `250ms`, `1m 30s`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| String::from("not a duration: write it like 5s, 250ms or 1m"))
}

/// How long certificates may be valid.
const VALID_MIN: Duration = Duration::from_secs(60);
const VALID_MAX: Duration = Duration::from_secs(36_500 * 24 * 60 * 60);

/// Parses how long a certificate is valid.
pub(crate) fn validity(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if (VALID_MIN..=VALID_MAX).contains(&time) {
        Ok(time)
    } else {
        Err(String::from("certificates are valid for 1m to 36500d (100 years): choose a time in between"))
    }
}

/// Parses `auto`, `all` or a number; whether that is in bounds, the configuration says.
pub(crate) fn heartbeat_recipients(text: &str) -> Result<HeartbeatRecipients, String> {
    match text {
        "auto" => Ok(HeartbeatRecipients::Auto),
        "all" => Ok(HeartbeatRecipients::All),
        _ => text.parse().map(HeartbeatRecipients::Predecessors).map_err(|_| {
            String::from(
                "write auto, all, or to how many members before it in the ring a member sends, such as 3",
            )
        }),
    }
}

/// Parses `fast` or `strict`.
pub(crate) fn crash_detection(text: &str) -> Result<CrashDetection, String> {
    match text {
        "fast" => Ok(CrashDetection::Fast),
        "strict" => Ok(CrashDetection::Strict),
        _ => Err(String::from("write fast or strict")),
    }
}

/// Parses `K=V`.
pub(crate) fn tag(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(String::from("not a tag: write it as KEY=VALUE, such as zone=eu-1")),
    }
}

/// Parses a seed: `HOST:PORT` or `dns:NAME:PORT`.
pub(crate) fn seed(text: &str) -> Result<String, String> {
    let wrong = || String::from("not a seed: write HOST:PORT, such as 10.0.0.1:7790, or dns:NAME:PORT");
    let rest = text.strip_prefix("dns:").unwrap_or(text);
    let (host, port) = rest.rsplit_once(':').ok_or_else(wrong)?;
    match port.parse::<u16>() {
        Ok(port) if port > 0 && !host.is_empty() => Ok(text.to_owned()),
        _ => Err(wrong()),
    }
}

/// Parses `IP:PORT`.
pub(crate) fn bind(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| String::from("not an address: write IP:PORT, such as 0.0.0.0:7790; port 0 picks one"))
}

/// Where other members reach this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AdvertiseAddr {
    /// The address.
    pub(crate) ip: IpAddr,
    /// The port, where it differs from the one bound.
    pub(crate) port: Option<u16>,
}

impl FromStr for AdvertiseAddr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = if let Ok(ip) = text.parse::<IpAddr>() {
            Some(Self { ip, port: None })
        } else {
            text.parse::<SocketAddr>().ok().map(|addr| Self { ip: addr.ip(), port: Some(addr.port()) })
        };
        parsed.filter(|a| !a.ip.is_unspecified() && !a.ip.is_multicast() && a.port != Some(0)).ok_or_else(
            || String::from("not an address that others can send to: write IP or IP:PORT, such as 10.0.0.1"),
        )
    }
}

/// Where the HTTP interface listens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HttpAddr {
    /// Nowhere.
    Off,
    /// There.
    At(SocketAddr),
}

impl FromStr for HttpAddr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        text.parse()
            .map(Self::At)
            .map_err(|_| String::from("not an address: write IP:PORT, such as 127.0.0.1:7780, or off"))
    }
}

/// Parses `HOST:PORT` of a running member's HTTP interface.
pub(crate) fn at(text: &str) -> Result<String, String> {
    let bare = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
    seed(bare).map_err(|_| String::from("not an address: write HOST:PORT, such as 127.0.0.1:7780"))
}

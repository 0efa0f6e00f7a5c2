//! Values in scenario files that people may write in several ways: shares, hosts, seeds.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

use crate::network::{HOSTS_MAX, Host};

/// A share: `0.02` or `"2%"`.
pub(crate) fn share<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    struct Share;

    impl Visitor<'_> for Share {
        type Value = f64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a share such as 0.02 or \"2%\"")
        }

        fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
            Ok(value)
        }

        fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
            // Whatever is not 0 or 1 is refused by its bounds later, with its name.
            Ok(value as f64)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
            parse_share(text).map_err(E::custom)
        }
    }

    from.deserialize_any(Share)
}

/// Parses `0.02` or `2%`.
///
/// # Errors
///
/// What to write, as a sentence.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text:?} is no share: write 0.02 or 2%");
    // One division of whole numbers, so that 2% is the same number as 0.02.
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map_err(|_| wrong())? / 100.0,
        None => text.trim().parse::<f64>().map_err(|_| wrong())?,
    };
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err(format!("{text} is not between 0 and 100%")) }
}

/// Hosts: `3`, `[3, 4, 8]`, `"3-5"`, `["3-5", 8]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hosts(pub(super) Vec<Host>);

impl<'de> Deserialize<'de> for Hosts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(HostsVisitor)
    }
}

struct HostsVisitor;

impl<'de> Visitor<'de> for HostsVisitor {
    type Value = Hosts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hosts such as [3, 4] or \"3-5\"")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Hosts, E> {
        let host = usize::try_from(value).ok().filter(|host| *host < HOSTS_MAX);
        host.map(|host| Hosts(vec![host])).ok_or_else(|| out_of_range(&value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Hosts, E> {
        let mut hosts = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let parse = |end: &str| {
                let host = end.trim().parse::<Host>();
                host.map_err(|_| E::custom(format!("{text:?} names no hosts: write them like \"3-5, 8\"")))
            };
            let (first, last) = (parse(first)?, parse(last)?);
            if last >= HOSTS_MAX {
                return Err(out_of_range(&last));
            }
            if first > last {
                return Err(E::custom(format!("{part:?} begins after its end: write the lower host first")));
            }
            hosts.extend(first..=last);
        }
        Ok(Hosts(hosts))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Hosts, A::Error> {
        let mut hosts = Vec::new();
        while let Some(Hosts(more)) = list.next_element()? {
            hosts.extend(more);
        }
        Ok(Hosts(hosts))
    }
}

fn out_of_range<E: Error>(value: &dyn fmt::Display) -> E {
    E::custom(format!("host {value} is out of range: hosts are 0 to {}", HOSTS_MAX - 1))
}

/// Groups of hosts, each as [`Hosts`].
pub(super) fn groups<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<Host>>, D::Error> {
    let groups = Vec::<Hosts>::deserialize(from)?;
    Ok(groups.into_iter().map(|Hosts(hosts)| hosts).collect())
}

/// Seeds have 64 bits and TOML's numbers 63: larger seeds are written as text.
pub(super) mod seed {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(in super::super) fn serialize<S: Serializer>(seed: &u64, to: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(*seed) {
            Ok(seed) => to.serialize_i64(seed),
            Err(_) => to.serialize_str(&seed.to_string()),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a seed is a number from 0 up")]
        enum Seed {
            Number(u64),
            Text(String),
        }
        match Seed::deserialize(from)? {
            Seed::Number(seed) => Ok(seed),
            Seed::Text(text) => {
                text.parse().map_err(|_| D::Error::custom(format!("{text:?} is no seed: write a number")))
            }
        }
    }
}

/// Who gets heartbeats, by the names of the flags of `gms run`.
pub(super) mod recipients {
    use gms_core::config::HeartbeatRecipients;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// A number of predecessors, or a name.
    #[derive(Serialize, Deserialize)]
    #[serde(untagged, expecting = "heartbeat_recipients is auto, all, or a number of predecessors")]
    enum Recipients {
        Number(u16),
        Named(Name),
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Name {
        Auto,
        All,
    }

    #[expect(clippy::ref_option, reason = "the signature that serde wants")]
    pub(in super::super) fn serialize<S: Serializer>(
        recipients: &Option<HeartbeatRecipients>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let named = recipients.map(|recipients| match recipients {
            HeartbeatRecipients::Auto => Recipients::Named(Name::Auto),
            HeartbeatRecipients::All => Recipients::Named(Name::All),
            HeartbeatRecipients::Predecessors(n) => Recipients::Number(n),
        });
        named.serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<HeartbeatRecipients>, D::Error> {
        Ok(Some(match Recipients::deserialize(from)? {
            Recipients::Named(Name::Auto) => HeartbeatRecipients::Auto,
            Recipients::Named(Name::All) => HeartbeatRecipients::All,
            Recipients::Number(n) => HeartbeatRecipients::Predecessors(n),
        }))
    }
}

//! Scenario files: a [`Scenario`] as TOML, read with the line of each mistake, and written.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Table, Value};

use super::check::fault_of;
use super::values::Hosts;
use super::{Fault, Scenario, ScenarioError, Step};
use crate::network::Host;

/// What a file may contain.
const KEYS: [&str; 15] = [
    "members",
    "seeds",
    "seed",
    "member_timeout",
    "heartbeat_recipients",
    "crash_detection",
    "transport",
    "start",
    "for",
    "heal",
    "rejoin",
    "not_eligible",
    "network",
    "weights",
    "fault",
];
/// From so many neighbours on, a list of hosts is written as a range.
const RANGE_MIN: usize = 4;

/// A mistake and its place in the file.
struct Mistake {
    span: Option<Range<usize>>,
    text: String,
}

impl Mistake {
    fn at(span: &Range<usize>, text: impl Into<String>) -> Self {
        Self { span: Some(span.clone()), text: text.into() }
    }

    /// The mistake with the line in which it is.
    fn in_file(self, file: &str) -> ScenarioError {
        let text = self.text.trim_end().replace('\n', ", ");
        let Some(before) = self.span.and_then(|span| file.get(..span.start)) else {
            return ScenarioError::File(text);
        };
        let number = before.matches('\n').count();
        let line = file.lines().nth(number).unwrap_or_default().trim();
        ScenarioError::File(format!("line {}, {line:?}: {text}", number + 1))
    }
}

impl From<toml::de::Error> for Mistake {
    fn from(error: toml::de::Error) -> Self {
        Self { span: error.span(), text: error.message().to_owned() }
    }
}

impl Scenario {
    /// Reads a scenario: what it does not name has its default. `docs/simulate.md` describes the format.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] with the line: unknown keys and kinds of faults with what is possible, values of the wrong
    /// type or out of bounds, and hosts on which no process ever starts.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        let (scenario, spans) = scenario(text).map_err(|mistake| mistake.in_file(text))?;
        scenario.validate()?;
        match scenario.stray() {
            Some((step, host)) => Err(Mistake::at(&spans[step], scenario.no_process(host)).in_file(text)),
            None => scenario.check_hosts().map(|()| scenario),
        }
    }

    /// Writes the scenario as a file that [`Scenario::from_toml`] reads back, save what can't have an effect since no
    /// process ever starts on the host.
    pub fn to_toml(&self) -> String {
        let scenario = self.without_strays();
        let mut out = toml::to_string(&scenario).expect("all values have a form in TOML");
        for row in rows(&scenario.faults) {
            out.push('\n');
            out.push_str(&row.text().expect("all values have a form in TOML"));
        }
        out
    }
}

/// The scenario in the file, and where each of its steps stands.
fn scenario(text: &str) -> Result<(Scenario, Vec<Range<usize>>), Mistake> {
    let root = DeTable::parse(text)?;
    let span = root.span();
    let mut table = root.into_inner();
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.get_ref().as_ref())) {
        let message = format!("unknown key `{}`, possible are {}", key.get_ref(), KEYS.join(", "));
        return Err(Mistake::at(&key.span(), message));
    }
    let faults = table.remove("fault").map(tables).transpose()?.unwrap_or_default();
    let mut scenario: Scenario = read(Spanned::new(span, DeValue::Table(table)))?;
    let mut spans = Vec::new();
    for fault in faults {
        let span = fault.span();
        for step in steps(fault)? {
            if let Some(problem) = fault_of(&step.fault) {
                return Err(Mistake::at(&span, problem));
            }
            scenario.faults.push(step);
            spans.push(span.clone());
        }
    }
    Ok((scenario, spans))
}

/// The tables of an array of tables.
fn tables(value: Spanned<DeValue<'_>>) -> Result<Vec<Spanned<DeTable<'_>>>, Mistake> {
    let wrong = |span: Range<usize>| Mistake::at(&span, "faults are tables: write [[fault]] above each");
    let span = value.span();
    let DeValue::Array(list) = value.into_inner() else { return Err(wrong(span)) };
    let each = list.into_iter().map(|item| {
        let span = item.span();
        match item.into_inner() {
            DeValue::Table(table) => Ok(Spanned::new(span, table)),
            _ => Err(wrong(span)),
        }
    });
    each.collect()
}

/// The steps that one `[[fault]]` describes: one for each host.
fn steps(fault: Spanned<DeTable<'_>>) -> Result<Vec<Step>, Mistake> {
    let span = fault.span();
    let mut table = fault.into_inner();
    let mut needed = |key: &str, text: &str| table.remove(key).ok_or_else(|| Mistake::at(&span, text));
    let at = needed("at", "the fault has no `at`: write when it happens, such as at = \"10s\"")?;
    let kind = needed("do", "the fault has no `do`: write what happens, such as do = \"crash\"")?;
    let at = humantime_serde::deserialize(ValueDeserializer::from(at))?;
    let Some(name) = kind.get_ref().as_str().map(str::to_owned) else {
        return Err(Mistake::at(&kind.span(), "`do` is the name of what happens, such as \"crash\""));
    };
    let named = Spanned::new(kind.span(), name);
    let Some((key, hosts)) = table.remove_entry("hosts") else {
        return Ok(vec![Step { at, fault: fault_named(&named, span, table)? }]);
    };
    if table.contains_key("host") {
        return Err(Mistake::at(&key.span(), "the fault has both `host` and `hosts`: write one of them"));
    }
    let place = hosts.span();
    let Hosts(hosts) = read(hosts)?;
    if hosts.is_empty() {
        return Err(Mistake::at(&place, "`hosts` names none"));
    }
    let numbers: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let each = numbers.iter().map(|number| {
        let mut table = table.clone();
        let number = DeValue::parse(number)?.into_inner();
        table.insert(Spanned::new(key.span(), "host".into()), Spanned::new(place.clone(), number));
        Ok(Step { at, fault: fault_named(&named, span.clone(), table)? })
    });
    each.collect()
}

/// The fault of this name with these values.
fn fault_named(name: &Spanned<String>, span: Range<usize>, values: DeTable<'_>) -> Result<Fault, Mistake> {
    let mut whole = DeTable::new();
    let key = Spanned::new(name.span(), name.get_ref().as_str().into());
    whole.insert(key, Spanned::new(span.clone(), DeValue::Table(values)));
    read(Spanned::new(span, DeValue::Table(whole)))
}

fn read<T: DeserializeOwned>(value: Spanned<DeValue<'_>>) -> Result<T, Mistake> {
    Ok(T::deserialize(ValueDeserializer::from(value))?)
}

/// A `[[fault]]`: steps that differ in nothing but their host.
struct Row {
    at: Duration,
    name: String,
    values: Table,
    hosts: Vec<Host>,
}

/// Steps as rows, neighbours joined.
fn rows(steps: &[Step]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for step in steps {
        let Row { at, name, values, hosts } = row(step);
        match rows.last_mut() {
            Some(last)
                if !hosts.is_empty() && last.at == at && last.name == name && last.values == values =>
            {
                last.hosts.extend(hosts);
            }
            _ => rows.push(Row { at, name, values, hosts }),
        }
    }
    rows
}

/// A fault's name and values.
fn parts(fault: &Fault) -> (String, Table) {
    match Value::try_from(fault).expect("all faults have a form in TOML") {
        Value::Table(table) => {
            let (name, values) = table.into_iter().next().expect("a fault is a table of one name");
            (name, values.try_into().expect("a fault's values are a table"))
        }
        other => (other.as_str().expect("a fault without values is a name").to_owned(), Table::new()),
    }
}

/// As in a file, in one line: `crash, host = 3`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, values) = parts(self);
        f.write_str(&name)?;
        values.iter().try_for_each(|(key, value)| write!(f, ", {key} = {value}"))
    }
}

fn row(step: &Step) -> Row {
    let (name, mut values) = parts(&step.fault);
    let host = values.remove("host").and_then(|host| host.as_integer());
    let hosts = host.and_then(|host| Host::try_from(host).ok()).into_iter().collect();
    Row { at: step.at, name, values, hosts }
}

impl Row {
    fn text(&self) -> Result<String, toml::ser::Error> {
        #[derive(serde::Serialize)]
        struct Faults<'a> {
            fault: [&'a Row; 1],
        }
        toml::to_string(&Faults { fault: [self] })
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("at", &humantime_serde::Serde::from(self.at))?;
        map.serialize_entry("do", &self.name)?;
        match self.hosts.as_slice() {
            [] => {}
            [host] => map.serialize_entry("host", host)?,
            hosts => map.serialize_entry("hosts", &hosts_text(hosts))?,
        }
        for (key, value) in &self.values {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Hosts as a list, or as a range where they are many neighbours.
fn hosts_text(hosts: &[Host]) -> Value {
    let follow = hosts.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    match hosts {
        [first, .., last] if follow && hosts.len() >= RANGE_MIN => format!("{first}-{last}").into(),
        _ => hosts.iter().map(|host| i64::try_from(*host).unwrap_or(i64::MAX)).collect::<Vec<_>>().into(),
    }
}

#[cfg(test)]
mod tests;

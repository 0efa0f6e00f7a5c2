//! What the compiler does not check: budgets, forbidden words, and things that are said in two places.
//!
//! Looks at the repository's text only. A failure lists every place at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gms_core::config::{AUTO_RECIPIENTS_VIEW_MAX, MEMBER_TIMEOUT_MAX, MEMBER_TIMEOUT_MIN, Profile, Timing};

/// Most lines of a source file, tests not counted.
const FILE_LINES_MAX: usize = 400;
/// Most lines of a function.
const FUNCTION_LINES_MAX: usize = 70;
/// Files of these kinds are read.
const TEXT_EXTENSIONS: &[&str] = &["rs", "md", "toml", "sh", "yml", "yaml", "txt", "html", "css", "js"];
/// This file, which names what it forbids.
const SELF: &str = "gms-core/tests/tidy.rs";
/// The faults that tests plant.
const PLANTED: &str = "gms-core/src/planted.rs";

#[test]
fn source_files_stay_within_their_budget() {
    let over = product_files().filter_map(|file| {
        let lines = file.product().lines().count();
        (lines > FILE_LINES_MAX).then(|| format!("{}: {lines} lines, tests not counted", file.name))
    });
    expect_none("files over the budget of 400 lines: split them", over);
}

#[test]
fn functions_stay_within_their_budget() {
    let over = product_files().flat_map(|file| {
        functions(&code_only(file.product()))
            .into_iter()
            .filter(|f| f.lines > FUNCTION_LINES_MAX)
            .map(|f| format!("{}:{}: {} has {} lines", file.name, f.first_line, f.name, f.lines))
            .collect::<Vec<_>>()
    });
    expect_none("functions over the budget of 70 lines: split them", over);
}

#[test]
fn every_module_says_what_it_is_for() {
    // A file named tests.rs is about the module in whose folder it lies.
    let silent = rust_files()
        .filter(|file| !file.text.starts_with("//! ") && !file.name.ends_with("/tests.rs"))
        .map(|file| file.name);
    expect_none("these modules do not begin with a `//!` line", silent);
}

#[test]
fn the_pure_part_is_pure() {
    const BANNED: &[&str] = &[
        "UdpSocket",
        "TcpStream",
        "TcpListener",
        "std::thread",
        "thread::spawn",
        "thread_local!",
        "Mutex",
        "RwLock",
        "Condvar",
        "OnceLock",
        "LazyLock",
        "mpsc",
        "static mut",
        "async fn",
        "async move",
        ".await",
        "std::fs",
        "std::env",
        "std::process",
        "std::io",
        "Instant",
        "SystemTime",
        "HashMap",
        "HashSet",
        "RandomState",
        "Rng::new",
        "getrandom",
        "tokio",
        "mio",
        "tracing",
        "println!",
        "eprintln!",
    ];
    let impure = product_files()
        .filter(|file| file.name.starts_with("gms-core/src/"))
        .filter(|file| !is_outside_the_pure_part(&file.name))
        .flat_map(|file| hits(&file.name, &code_only(file.product()), BANNED));
    expect_none("in the pure part of gms-core (time and chance are arguments; use Vec or BTreeMap)", impure);
}

#[test]
fn planted_faults_are_used_listed_and_never_shipped() {
    let planted = read(PLANTED);
    let (_, list) = planted.split_once("\nfaults! {").expect("planted.rs lists its faults");
    let list = list.split("\n}").next().unwrap_or_default();
    let names = list.lines().filter_map(|line| line.trim().strip_suffix(','));
    let names: Vec<&str> = names.filter(|name| name.chars().all(char::is_alphanumeric)).collect();
    assert!(names.len() > 30, "found only {names:?} in {PLANTED}");
    let table = read("docs/planted-faults.md");
    let code: String = product_files()
        .filter(|file| file.name.starts_with("gms-core/src/") && file.name != PLANTED)
        .map(|file| code_only(file.product()))
        .collect();
    let mut wrong = Vec::new();
    for name in names {
        if !code.contains(&format!("planted::is(Planted::{name})")) {
            wrong.push(format!("{name}: no code asks for it"));
        }
        if !table.contains(&format!("| `{name}` |")) {
            wrong.push(format!("{name}: docs/planted-faults.md has no row for it"));
        }
    }
    for file in text_files().filter(|file| file.name.ends_with("Cargo.toml")) {
        let shipped = file.text.split("[dev-dependencies]").next().unwrap_or_default();
        let is_core = file.name == "gms-core/Cargo.toml";
        let named = lines_with(&file.name, shipped, &["planted"]).into_iter();
        wrong.extend(
            named.filter(|line| !is_core || !(line.contains("planted = []") || line.contains(": #"))),
        );
    }
    expect_none("planted faults", wrong);
}

#[test]
fn only_the_codec_sees_bytes_and_only_programs_see_json() {
    let bincode = product_files()
        .filter(|file| !["codec", "seal"].iter().any(|m| is_module(&file.name, "gms-core/src", m)))
        .flat_map(|file| hits(&file.name, &code_only(file.product()), &["bincode"]));
    let json = product_files()
        .filter(|file| !file.name.starts_with("gms-cli/") && !file.name.starts_with("gms-bench/"))
        .flat_map(|file| hits(&file.name, &code_only(file.product()), &["serde_json"]));
    expect_none("bincode outside the codec, or JSON outside the programs", bincode.chain(json));
}

#[test]
fn transports_and_the_driver_hold_no_rule_of_the_protocol() {
    let ruled = product_files()
        .filter(|file| {
            let driver = file.name.starts_with("gms-core/src/runtime/driver");
            driver || file.name == "gms-core/src/transport.rs" || is_transport_crate(&file.name)
        })
        .flat_map(|file| {
            // The name of an attribute of a record is no rule.
            let lower = file.product().to_lowercase().replace("coordinator_eligible", "");
            lines_with(&file.name, &lower, &["suspect", "coordinator"])
        });
    expect_none("these words belong to the protocol, not here", ruled);
}

#[test]
fn each_built_rule_has_code_and_a_test_and_no_marker_is_lost() {
    let rules = rules();
    assert!(
        rules.len() > 60,
        "docs/protocol.md lists only {} rules: is its form still the same?",
        rules.len()
    );
    let mut in_code = BTreeSet::new();
    let mut in_tests = BTreeSet::new();
    let mut faults = Vec::new();
    for file in rust_files().filter(|file| file.name != SELF) {
        for (number, line) in file.text.lines().enumerate() {
            let Some(marker) = line.trim_start().strip_prefix("//=") else { continue };
            let at = format!("{}:{}", file.name, number + 1);
            match marker.strip_prefix(" docs/protocol.md#") {
                Some(rule) if rules.contains_key(rule) => {
                    let seen = if file.is_test_line(number) { &mut in_tests } else { &mut in_code };
                    seen.insert(rule.to_owned());
                }
                Some(rule) => faults.push(format!("{at}: there is no rule {rule:?}")),
                None => faults.push(format!("{at}: not of the form `//= docs/protocol.md#fd-1`")),
            }
        }
    }
    for (rule, _) in rules.iter().filter(|(_, status)| status.starts_with("built")) {
        match (in_code.contains(rule), in_tests.contains(rule)) {
            (true, true) => {}
            (true, false) => faults.push(format!("{rule}: no test names it")),
            (false, true) => faults.push(format!("{rule}: no code names it")),
            (false, false) => faults.push(format!("{rule}: neither code nor a test names it")),
        }
    }
    expect_none("rules and their markers", faults);
}

#[test]
fn each_reason_to_wake_stands_in_the_timer_table() {
    let timer = read("gms-core/src/timer.rs");
    let variants: BTreeSet<String> = code_only(&timer)
        .lines()
        .map(|line| line.trim().trim_end_matches(','))
        .filter(|word| word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphanumeric))
        .map(str::to_owned)
        .collect();
    assert!(variants.len() > 10, "found only {variants:?} in timer.rs");
    let table: BTreeSet<String> = table_after(&read("docs/protocol.md"), "## Timers")
        .into_iter()
        .map(|row| row[0].trim_matches('`').to_owned())
        .collect();
    assert_eq!(variants, table, "WakeReason (left) and the timer table of docs/protocol.md (right)");
}

#[test]
fn the_documented_timing_is_the_default_timing() {
    let Timing {
        member_timeout,
        heartbeat_interval,
        check_timeout,
        final_check_timeout,
        refused_grace,
        batch_window,
        heartbeat_recipients,
        suspect_recipients,
        verifiers,
        crash_detection,
    } = Timing::default();
    let expected: BTreeMap<&str, String> = [
        ("member_timeout", human(member_timeout)),
        ("heartbeat_interval", human(heartbeat_interval)),
        ("check_timeout", human(check_timeout)),
        ("final_check_timeout", human(final_check_timeout)),
        ("refused_grace", human(refused_grace)),
        ("batch_window", human(batch_window)),
        ("heartbeat_recipients", format!("`{heartbeat_recipients}`")),
        ("suspect_recipients", suspect_recipients.to_string()),
        ("verifiers", verifiers.to_string()),
        ("crash_detection", format!("`{crash_detection}`")),
    ]
    .into();
    for (document, heading) in [("README.md", "## Defaults"), ("docs/protocol.md", "## Timing")] {
        let rows = table_after(&read(document), heading);
        let found: BTreeMap<&str, String> = rows
            .iter()
            .map(|row| (row[0].trim_end_matches(" (T)").trim_matches('`'), row[2].clone()))
            .collect();
        assert_eq!(found, expected, "{document} (left) and Timing::default() (right)");
    }
}

#[test]
fn the_documented_bounds_and_profiles_are_those_of_the_code() {
    let [local, lan, wan] =
        [Profile::Local, Profile::Lan, Profile::Wan].map(|profile| human(profile.member_timeout()));
    let bounds = format!("{} to {} min", human(MEMBER_TIMEOUT_MIN), MEMBER_TIMEOUT_MAX.as_secs() / 60);
    let expected = [
        ("README.md", format!("Profiles: `local` T = {local}, `lan` {lan}, `wan` {wan}.")),
        ("docs/protocol.md", format!("Profiles set T: `local` {local}, `lan` {lan}, `wan` {wan}.")),
        ("docs/protocol.md", format!("| {} | {} | {bounds} |", lan, lan)),
        ("docs/protocol.md", format!("views of up to {AUTO_RECIPIENTS_VIEW_MAX};")),
    ];
    let missing = expected
        .into_iter()
        .filter(|(document, sentence)| !read(document).contains(sentence.as_str()))
        .map(|(document, sentence)| format!("{document}: {sentence}"));
    expect_none("these should stand there, word for word", missing);
}

#[test]
fn the_readme_names_the_oldest_rust_that_the_manifest_allows() {
    let manifest = read("Cargo.toml");
    let msrv = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \""))
        .and_then(|rest| rest.strip_suffix('"'))
        .expect("the workspace has a rust-version");
    let sentence = format!("Rust {msrv} or newer");
    assert!(read("README.md").contains(&sentence), "README.md does not say {sentence:?}");
}

#[test]
fn the_readme_and_the_code_map_name_every_crate() {
    let manifest = read("Cargo.toml");
    let members = manifest
        .lines()
        .find_map(|line| line.strip_prefix("members = ["))
        .expect("the workspace lists its members on one line");
    let missing = members.split('"').filter(|part| part.starts_with("gms-")).flat_map(|name| {
        ["README.md", "ARCHITECTURE.md"]
            .into_iter()
            .filter(move |document| !read(document).contains(&format!("`{name}`")))
            .map(move |document| format!("{document}: {name}"))
    });
    expect_none("crates that are not mentioned", missing);
}

#[test]
fn bincode_is_pinned_as_its_decision_says() {
    assert!(read("Cargo.toml").contains("bincode = { version = \"=2.0.1\""));
    assert!(read("docs/decisions/0001-bincode.md").contains("pinned to `=2.0.1`"));
    assert!(read("deny.toml").contains("RUSTSEC-2025-0141"));
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for file in text_files().filter(|file| file.name.ends_with(".md")) {
        let here = root().join(&file.name);
        for target in file.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.contains(char::is_whitespace) {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() { here.clone() } else { here.with_file_name("").join(path) };
            let linked = fs::read_to_string(&path).unwrap_or_default();
            if !path.exists() || !(anchor.is_empty() || anchors_of(&linked).contains(anchor)) {
                broken.push(format!("{}: {target}", file.name));
            }
        }
    }
    expect_none("broken links", broken);
}

#[test]
fn each_decision_is_listed() {
    let list = fs::read_to_string(root().join("docs/README.md")).expect("the list of documents");
    let decisions = text_files().filter_map(|file| file.name.strip_prefix("docs/").map(String::from));
    let unlisted = decisions
        .filter(|name| name.starts_with("decisions/0"))
        .filter(|name| !list.contains(&format!("({name})")));
    expect_none("not listed in docs/README.md", unlisted);
}

#[test]
fn nothing_waits_to_be_filled_in() {
    let waiting = text_files()
        .filter(|file| file.name != SELF)
        .flat_map(|file| lines_with(&file.name, &file.text, &["<!-- PASTE", "TODO", "FIXME", "XXX"]));
    expect_none("to be filled in", waiting);
}

#[test]
fn nothing_speaks_of_how_or_where_the_text_was_made() {
    // Put together here, so that this file does not contain them.
    let banned = [
        concat!("ag", "ent"),
        concat!("ag", "ents"),
        concat!("ses", "sion"),
        concat!("ses", "sions"),
        concat!("cla", "ude"),
        concat!("anth", "ropic"),
        concat!("chat", "gpt"),
        concat!("language", " model"),
        concat!("ai", "-generated"),
    ];
    let paths = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
    let found = text_files().flat_map(|file| {
        let lower = file.text.to_lowercase().replace(concat!("user-ag", "ent"), "");
        // A command of serf's program, which has no other name.
        let lower = lower.replace(concat!("\"serf\", \"ag", "ent\""), "");
        let mut found = hits(&file.name, &lower, &banned);
        found.extend(lines_with(&file.name, &lower, &paths));
        found
    });
    expect_none("words that have no place in the repository", found);
}

#[test]
fn every_test_named_in_the_scenarios_exists() {
    let text = read("docs/scenarios.md");
    let named = text
        .lines()
        .filter(|l| l.starts_with('|'))
        .flat_map(|line| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>());
    let sources: String = rust_files().map(|file| file.text).collect();
    let missing = named.filter(|name| !sources.contains(&format!("fn {name}(")));
    expect_none("tests that docs/scenarios.md names and nobody wrote", missing);
}

#[test]
fn the_reader_of_sources_sees_code_and_nothing_else() {
    let text = "a(\"HashMap \\\" {\"); // HashMap\nb(r#\"Hash\"Map{\"#); c('{', '\\''); /* x\n{ */ y";
    let code = code_only(text);
    assert_eq!(code.lines().count(), text.lines().count());
    assert!(!code.contains("Hash") && !code.contains('{'), "{code}");
    assert!(code.contains("c(") && code.trim_end().ends_with('y'), "{code}");
    assert_eq!(code_only("fn f<'a>(x: &'a str, r#type: u8) {}"), "fn f<'a>(x: &'a str, r#type: u8) {}");
}

#[test]
fn the_reader_of_functions_counts_their_lines() {
    let text = "fn a() {\n  if x {\n  }\n}\nimpl B {\n  fn b(\n  ) -> u8 {\n    1\n  }\n  fn c();\n  f: fn(u8),\n}\n";
    let seen: Vec<_> = functions(text).iter().map(|f| (f.name.clone(), f.first_line, f.lines)).collect();
    assert_eq!(seen, [("a".into(), 1, 4), ("b".into(), 6, 4), ("c".into(), 10, 1)]);
}

#[test]
fn words_are_found_whole() {
    assert_eq!(hits("f", "InstantaneousInstant Instant;", &["Instant"]), ["f:1: Instant"]);
    assert_eq!(hits("f", "MyInstant x.await", &["Instant", ".await"]), ["f:1: .await"]);
}

/// One file of the repository.
struct File {
    /// Path from the repository's root.
    name: String,
    text: String,
}

impl File {
    /// The part before the inline test module.
    fn product(&self) -> &str {
        self.text.split_once("\n#[cfg(test)]\nmod tests {").map_or(&self.text, |(product, _)| product)
    }

    /// Whether the file has nothing but tests and what only tests use.
    fn is_test(&self) -> bool {
        let mut parts = self.name.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part));
        let names = ["tests", "testing", "benches", "examples"];
        parts.any(|part| names.contains(&part) || part.ends_with("_tests") || part.ends_with("_props"))
    }

    /// Whether the line with this index from 0 is a test's.
    fn is_test_line(&self, number: usize) -> bool {
        self.is_test() || number >= self.product().lines().count()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace").to_path_buf()
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every text of the repository, in the order of its name.
fn text_files() -> impl Iterator<Item = File> {
    let mut paths = Vec::new();
    collect_texts(&root(), &mut paths);
    paths.sort();
    paths.into_iter().map(|path| File {
        name: path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned(),
        text: fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    })
}

fn collect_texts(folder: &Path, into: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            if name != ".git" && !name.starts_with("target") {
                collect_texts(&path, into);
            }
        } else {
            let is_text = |e: &std::ffi::OsStr| TEXT_EXTENSIONS.contains(&e.to_string_lossy().as_ref());
            if path.extension().is_some_and(is_text) || folder.file_name().is_some_and(|n| n == ".ci") {
                into.push(path);
            }
        }
    }
}

fn rust_files() -> impl Iterator<Item = File> {
    text_files().filter(|file| file.name.ends_with(".rs"))
}

/// Sources that are not only tests.
fn product_files() -> impl Iterator<Item = File> {
    rust_files().filter(|file| !file.is_test())
}

/// Whether `name` is the module `module` of the folder `folder`, as a file or as a folder of its own.
fn is_module(name: &str, folder: &str, module: &str) -> bool {
    name == format!("{folder}/{module}.rs") || name.starts_with(&format!("{folder}/{module}/"))
}

/// `planted.rs` keeps which faults a test planted, for its thread, and reads their names from the environment; that part of
/// it exists with the feature `planted` only, and `planted_faults_are_used_listed_and_never_shipped` looks who turns that on.
fn is_outside_the_pure_part(name: &str) -> bool {
    name == PLANTED || ["runtime", "transport"].iter().any(|module| is_module(name, "gms-core/src", module))
}

fn is_transport_crate(name: &str) -> bool {
    name.starts_with("gms-udp/src/") || name.starts_with("gms-quic/src/")
}

fn expect_none(what: &str, found: impl IntoIterator<Item = String>) {
    let mut report = String::new();
    for line in found {
        writeln!(report, "  {line}").expect("a string takes everything");
    }
    assert!(report.is_empty(), "{what}:\n{report}");
}

/// Places where one of `words` stands as a word of its own.
fn hits(name: &str, text: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for word in words {
            let whole = line.match_indices(word).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let after = line[at + word.len()..].chars().next();
                let joined = word.starts_with(is_identifier) && before.is_some_and(is_identifier);
                !joined && !after.is_some_and(is_identifier)
            });
            if whole {
                found.push(format!("{name}:{}: {word}", number + 1));
            }
        }
    }
    found
}

/// Places where one of `parts` occurs.
fn lines_with(name: &str, text: &str, parts: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if parts.iter().any(|part| line.contains(part)) {
            found.push(format!("{name}:{}: {}", number + 1, line.trim()));
        }
    }
    found
}

/// The rules of docs/protocol.md and their status: an anchor line, then `**fd-1** *(built)*`.
fn rules() -> BTreeMap<String, String> {
    let protocol = read("docs/protocol.md");
    let mut lines = protocol.lines();
    let mut rules = BTreeMap::new();
    while let Some(line) = lines.next() {
        let Some(rule) = line.strip_prefix("<a id=\"").and_then(|rest| rest.strip_suffix("\"></a>")) else {
            continue;
        };
        let head = format!("**{rule}** *(");
        let status = lines
            .next()
            .and_then(|next| next.strip_prefix(&head))
            .and_then(|rest| rest.split(")*").next())
            .unwrap_or_else(|| panic!("docs/protocol.md: the line after the anchor {rule} has no status"));
        assert!(status.starts_with("built") || status == "later", "{rule} has the unknown status {status:?}");
        assert_eq!(rules.insert(rule.to_owned(), status.to_owned()), None, "{rule} is there twice");
    }
    rules
}

/// The cells of the first table after `heading`, without its two head lines.
fn table_after(text: &str, heading: &str) -> Vec<Vec<String>> {
    text.lines()
        .skip_while(|line| *line != heading)
        .skip_while(|line| !line.starts_with("| "))
        .take_while(|line| line.starts_with("| "))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// Link targets of a Markdown text: explicit anchors, and headings as GitHub turns them into anchors.
fn anchors_of(text: &str) -> BTreeSet<String> {
    let explicit = text.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    });
    explicit.map(str::to_owned).chain(headings).collect()
}

/// A duration as the documents write it.
fn human(duration: Duration) -> String {
    if duration < Duration::from_secs(1) {
        format!("{} ms", duration.as_millis())
    } else {
        format!("{} s", duration.as_secs_f64())
    }
}

/// The text with comments, strings and character literals blanked, line by line as before.
fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        let skipped = match rest {
            ['/', '/', ..] => rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
            ['/', '*', ..] => {
                rest.windows(2).position(|pair| pair == ['*', '/']).map_or(rest.len(), |p| p + 2)
            }
            ['"', ..] => end_of_string(rest),
            ['r', '"' | '#', ..] if at == 0 || !is_identifier(chars[at - 1]) => end_of_raw_string(rest),
            ['\'', '\\', _, tail @ ..] => 3 + tail.iter().position(|c| *c == '\'').map_or(0, |p| p + 1),
            ['\'', _, '\'', ..] => 3,
            _ => 0,
        };
        let end = (at + skipped).min(chars.len());
        out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
        if skipped == 0 {
            out.push(chars[at]);
        }
        at = end.max(at + 1);
    }
    out
}

fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of the string at the start of `text`.
fn end_of_string(text: &[char]) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != '"' {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Length of the raw string at the start of `text`, or 0 if it is no raw string (`r#type` is a name).
fn end_of_raw_string(text: &[char]) -> usize {
    let hashes = text[1..].iter().take_while(|c| **c == '#').count();
    if text.get(1 + hashes) != Some(&'"') {
        return 0;
    }
    let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = &text[2 + hashes..];
    let end = body.windows(close.len()).position(|part| part == close.as_slice());
    end.map_or(text.len(), |at| 2 + hashes + at + close.len())
}

struct Function {
    name: String,
    first_line: usize,
    lines: usize,
}

/// The functions of `code`, which has neither comments nor strings, by counting braces.
fn functions(code: &str) -> Vec<Function> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(place) = words.iter().position(|word| *word == "fn") else { continue };
        let name = words.get(place + 1).map_or("", |rest| rest.split(['(', '<']).next().unwrap_or_default());
        let mut depth = 0;
        let mut opened = false;
        for (last, line) in lines.iter().enumerate().skip(first) {
            opened |= line.contains('{');
            depth += line.matches('{').count();
            depth = depth.saturating_sub(line.matches('}').count());
            if (opened && depth == 0) || (!opened && line.trim_end().ends_with(';')) {
                let (name, lines) = (name.to_owned(), last + 1 - first);
                found.push(Function { name, first_line: first + 1, lines });
                break;
            }
        }
    }
    found
}

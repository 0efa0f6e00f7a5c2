//! The fuzz targets without a fuzzer: their corpora, and inputs mutated from these by a fixed seed.

#![allow(clippy::print_stderr, reason = "says which input broke")]

#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

/// Mutated inputs for a decoder, and for a node, which takes a hundred times longer over one. The fuzzers run more;
/// these find what breaks at once.
const MUTATED_MESSAGES: usize = 4_000;
const MUTATED_LIVES: usize = 400;
/// Longest mutated input: the fuzzers' own bound.
const INPUT_BYTES_MAX: usize = 4_096;

type Target = fn(&[u8]);

const TARGETS: [(&str, Target); 3] =
    [("datagram", fuzz::datagram), ("frame", fuzz::frame), ("node", fuzz::node)];

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target)
}

/// Every input of a corpus, in the order of the names.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(folder(target)).expect("a corpus");
    let mut inputs: Vec<_> = files
        .map(|file| {
            let path = file.expect("a readable folder").path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            (name.expect("a file in a folder has a name"), fs::read(&path).expect("a readable file"))
        })
        .collect();
    inputs.sort();
    inputs
}

/// Runs a target; where it panics, says on which input.
#[allow(clippy::print_stderr, reason = "the input is what whoever looks for the cause needs")]
fn run(target: Target, name: &str, bytes: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(bytes))) {
        eprintln!("the input was {name}, in hex: {}", hex(bytes));
        resume_unwind(panic);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_input_of_the_corpora_passes() {
    for (target, check) in TARGETS {
        let inputs = corpus(target);
        assert!(inputs.len() >= fuzz::seeds::of(target).len(), "the corpus of {target} is not there");
        for (name, bytes) in inputs {
            run(check, &format!("corpus/{target}/{name}"), &bytes);
        }
    }
}

/// After a change of the golden bytes or of the operations: `UPDATE_SEEDS=1 cargo test -p gms-core --test fuzz_corpus`.
#[test]
fn the_corpora_contain_the_seeds() {
    for (target, _) in TARGETS {
        let seeds = fuzz::seeds::of(target);
        if std::env::var_os("UPDATE_SEEDS").is_some() {
            for (name, _) in corpus(target).into_iter().filter(|(name, _)| name.starts_with("seed-")) {
                fs::remove_file(folder(target).join(name)).expect("a file that was just listed");
            }
            for (name, bytes) in &seeds {
                fs::write(folder(target).join(name), bytes).expect("a writable corpus");
            }
        }
        let kept = corpus(target).into_iter().filter(|(name, _)| name.starts_with("seed-"));
        assert_eq!(kept.collect::<Vec<_>>(), seeds, "the seeds of {target}: run with UPDATE_SEEDS=1");
    }
}

#[test]
fn mutated_datagrams_pass() {
    mutate("datagram", fuzz::datagram, MUTATED_MESSAGES);
}

#[test]
fn mutated_streams_pass() {
    mutate("frame", fuzz::frame, MUTATED_MESSAGES);
}

#[test]
fn mutated_lives_of_a_node_pass() {
    mutate("node", fuzz::node, MUTATED_LIVES);
}

fn mutate(name: &str, target: Target, inputs: usize) {
    let corpus = corpus(name);
    let mut rng = fastrand::Rng::with_seed(0x6d73_6731);
    for number in 0..inputs {
        let bytes = mutated(&corpus, &mut rng);
        run(target, &format!("number {number} of {name}"), &bytes);
    }
}

/// An input of the corpus after a few of the changes that fuzzers make.
fn mutated(corpus: &[(String, Vec<u8>)], rng: &mut fastrand::Rng) -> Vec<u8> {
    let of = |rng: &mut fastrand::Rng| corpus[rng.usize(..corpus.len())].1.clone();
    let mut bytes = of(rng);
    for _ in 0..=rng.usize(..6) {
        let at = rng.usize(..=bytes.len());
        match rng.usize(..8) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, rng.u8(..)),
            2 => bytes.splice(at..at, (0..rng.usize(..32)).map(|_| rng.u8(..))).for_each(drop),
            3 => {
                let other = of(rng);
                bytes.truncate(at);
                bytes.extend(&other[rng.usize(..=other.len())..]);
            }
            4 => {
                let part = bytes[at..].iter().take(32).copied().collect::<Vec<_>>();
                bytes.splice(at..at, part).for_each(drop);
            }
            _ if at < bytes.len() => match rng.usize(..3) {
                0 => bytes[at] ^= 1 << rng.u32(..8),
                1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xfa, 0xfb, 0xfd, 0xff][rng.usize(..8)],
                _ => bytes[at] = rng.u8(..),
            },
            _ => bytes.push(rng.u8(..)),
        }
    }
    bytes.truncate(INPUT_BYTES_MAX);
    bytes
}

#[test]
fn the_same_input_gives_the_same_outputs() {
    for (name, bytes) in corpus("node") {
        assert_eq!(fuzz::replay(&bytes), fuzz::replay(&bytes), "corpus/node/{name}");
    }
}

#[test]
fn the_corpus_gives_a_node_every_kind_of_message() {
    let mut given = BTreeSet::new();
    for (_, bytes) in corpus("node") {
        given.extend(fuzz::replay(&bytes).kinds);
    }
    // Checks are no messages, and a hub's heartbeat is a heartbeat.
    let is_kind = |line: &&str| !line.starts_with("check") && !line.starts_with("hub's ");
    let golden = include_str!("../src/codec/golden.txt").lines().filter(is_kind);
    let kinds: BTreeSet<String> =
        golden.map(|line| line.rsplit_once(' ').expect("a name and bytes").0.to_owned()).collect();
    assert_eq!(given, kinds);
}

/// The stories would say nothing if the operations had changed under them.
#[test]
fn stories_come_to_their_end() {
    let seeds = fuzz::seeds::of("node");
    let views_of = |story: &str| {
        let name = format!("seed-story-{story}");
        let (_, bytes) = seeds.iter().find(|(seed, _)| *seed == name).expect("a seed of that name");
        fuzz::replay(bytes).views
    };
    let stories = ["joins", "dies", "coordinator-dies", "joins-then-dies", "follows", "expels", "founds"];
    assert_eq!(stories.map(views_of), [2, 2, 2, 3, 5, 2, 1]);
}

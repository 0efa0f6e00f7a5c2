//! Inputs from which the fuzzers start: each kind of message, and a few lives of a node.

/// The golden bytes of every kind of message.
const GOLDEN: &str = include_str!("../../src/codec/golden.txt");

/// Every seed of `target`, in the order of the names of their files.
///
/// # Panics
///
/// If there is no such target.
pub fn of(target: &str) -> Vec<(String, Vec<u8>)> {
    let mut seeds: Vec<_> = match target {
        "datagram" => golden("datagram").chain(golden("check")).collect(),
        "frame" => golden("frame").map(|(name, bytes)| (name, framed(&bytes))).collect(),
        "node" => lives(),
        other => panic!("there is no target {other:?}"),
    };
    seeds.sort();
    seeds
}

fn golden(channel: &str) -> impl Iterator<Item = (String, Vec<u8>)> {
    GOLDEN.lines().enumerate().filter(move |(_, line)| line.starts_with(channel)).map(|(number, line)| {
        let (name, hex) = line.rsplit_once(' ').expect("a name and bytes");
        (format!("seed-{:03}-{}", number + 1, name.replace(' ', "-").to_lowercase()), bytes_of(hex))
    })
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok()).expect("a digit");
    hex.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The size of pieces, then the frame twice, each with its length.
fn framed(frame: &[u8]) -> Vec<u8> {
    let length = u32::try_from(frame.len()).expect("a small frame").to_be_bytes();
    let mut stream = vec![7];
    for _ in 0..2 {
        stream.extend(length);
        stream.extend(frame);
    }
    stream
}

/// Operations by their place in the table of `node.rs`, with the choices that follow.
const WAKE_OFTEN: [u8; 2] = [1, 15];
const BEAT: [u8; 2] = [2, 0];
const ANSWER: [u8; 2] = [3, 0];
const DATAGRAM: u8 = 4;
const FRAME: u8 = 5;

/// Lives of a node: where it stands at first, then operations.
fn lives() -> Vec<(String, Vec<u8>)> {
    let mut lives = Vec::new();
    for (name, how) in [("founder", 0), ("joiner", 1), ("member", 2)] {
        for place in [0, 3, 11, 20] {
            let mut life = vec![how, place, 0, 0];
            for _ in 0..6 {
                life.extend([WAKE_OFTEN, BEAT, ANSWER].concat());
            }
            // Then the others fall silent, but answer what they are asked.
            life.extend([WAKE_OFTEN, WAKE_OFTEN, ANSWER].concat().repeat(4));
            lives.push((format!("seed-{name}-{place:02}"), life));
        }
    }
    lives.extend(stories());
    // Each kind of message once, from member 1.
    for (name, operation, kinds) in [("datagram", DATAGRAM, 9), ("frame", FRAME, 25)] {
        for kind in 0..kinds {
            let mut life = vec![2, 3, 0, 0];
            life.extend([BEAT, WAKE_OFTEN, BEAT].concat());
            life.extend([operation, 1, 0, 0, kind]);
            life.extend([0; 24]);
            life.extend([ANSWER, BEAT, WAKE_OFTEN, ANSWER].concat());
            lives.push((format!("seed-{name}-{kind:02}"), life));
        }
    }
    lives
}

/// Lives in which something comes to its end: with answers from all, and from all but member 1.
fn stories() -> Vec<(String, Vec<u8>)> {
    const WAKE: [u8; 1] = [0];
    const BEAT_BUT_1: [u8; 2] = [2, 1 << 1];
    const ANSWER_BUT_1: [u8; 2] = [3, 1 << 1];
    const REFUSED: [u8; 5] = [6, 0, 1, 0, 1];
    const ALIVE: [u8; 5] = [6, 0, 1, 0, 0];
    const JOIN: [u8; 11] = [FRAME, 11, 0, 0, 12, 11, 0, 0, 0, 0, 0];
    const PREPARE: [u8; 14] = [FRAME, 1, 0, 0, 18, 0, 1, 0, 0, 5, 0, 0, 0, 0];
    const INSTALL: [u8; 14] = [FRAME, 1, 0, 0, 23, 0, 0, 0, 5, 0, 0, 0, 0, 0];
    const PROMISE: [u8; 11] = [FRAME, 1, 0, 0, 16, 0, 2, 2, 0, 0, 0];
    const KNOCK: [u8; 8] = [DATAGRAM, 11, 0, 0, 0, 0, 0, 0];
    const SICK: [u8; 4] = [7, 0, 11, 1];
    const ASKED: [u8; 3] = [10, 0, 0];
    const COORDINATOR_OF_5: [u8; 4] = [2, 3, 0, 0];
    const SECOND_OF_6: [u8; 4] = [2, 11, 0, 0];
    const SEEDED: [u8; 4] = [1, 0, 0, 0];

    let all = |steps: &[&[u8]]| steps.concat();
    let settled = [&BEAT[..], &WAKE, &ANSWER].concat().repeat(3);
    let silence = [&BEAT_BUT_1[..], &WAKE, &ANSWER_BUT_1].concat();
    let removal = all(&[&silence.repeat(14), &REFUSED, &ANSWER_BUT_1, &silence.repeat(10)]);
    let admission = all(&[&JOIN, &ANSWER, &ALIVE, &settled, &settled]);
    let changes = all(&[&PREPARE, &INSTALL, &BEAT, &WAKE]);
    let leave = [7, 0, 14];
    let check = [7, 1, 4];
    let expel = [7, 1, 9, 0, 0];
    let expel_at_length = |n| [FRAME, 1, 0, 0, 15, n, 15, 15, 0, 0];
    // A whole view with the last number that there is.
    let last_view = [FRAME, 1, 0, 0, 23, 0, 1, 0, 0, 5, 0, 0, 0, 4, 8, 0, 0];
    // Members promise the successor, and say that they accepted that a stranger leaves.
    let promised = |n| [FRAME, n, 0, 0, 17, 0, 0, 0, 1, 0, 0, 0, 0, 1, 11, 0, 0, 0, 0];
    let promised = [&ANSWER_BUT_1[..], &[2, 3, 4].map(promised).concat(), &WAKE].concat();
    let nonsense = all(&[&silence.repeat(11), &promised.repeat(6)]);
    let lengthy = [2, 3, 4].map(expel_at_length).concat();
    [
        ("joins", all(&[&COORDINATOR_OF_5, &settled, &admission])),
        ("dies", all(&[&COORDINATOR_OF_5, &settled, &removal])),
        ("coordinator-dies", all(&[&SECOND_OF_6, &settled, &removal])),
        ("joins-then-dies", all(&[&COORDINATOR_OF_5, &settled, &admission, &removal])),
        ("follows", all(&[&SECOND_OF_6, &settled, &changes.repeat(4)])),
        ("promises", all(&[&SECOND_OF_6, &settled, &PROMISE, &PREPARE, &settled])),
        ("is-asked", all(&[&COORDINATOR_OF_5, &settled, &ASKED, &SICK, &ASKED, &settled])),
        ("leaves", all(&[&COORDINATOR_OF_5, &settled, &leave, &settled, &settled])),
        ("follower-leaves", all(&[&SECOND_OF_6, &settled, &leave, &settled, &settled])),
        ("checks", all(&[&COORDINATOR_OF_5, &settled, &check, &ANSWER, &ALIVE, &settled])),
        ("expels", all(&[&COORDINATOR_OF_5, &settled, &expel, &settled, &settled])),
        ("joins-others", all(&[&[1, 1, 0, 0], &[0, 3, 1].repeat(40)])),
        ("expels-at-length", all(&[&COORDINATOR_OF_5, &settled, &lengthy, &settled, &settled])),
        ("last-number", all(&[&[1, 1, 0, 0], &last_view, &INSTALL, &settled, &changes])),
        ("stranger-knocks", all(&[&SECOND_OF_6, &settled, &PREPARE, &KNOCK, &settled])),
        ("promised-nonsense", all(&[&SECOND_OF_6, &settled, &nonsense, &silence.repeat(10)])),
        ("founds", all(&[&SEEDED, &[0, 3, 1, 3, 1].repeat(20)])),
    ]
    .map(|(name, life)| (format!("seed-story-{name}"), life))
    .into()
}

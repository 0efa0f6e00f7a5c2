//! Inputs from which the fuzzers start: each kind of message, and a few lives of a node.

/// The golden bytes of every kind of message.
const GOLDEN: &str = include_str!("../../src/codec/golden.txt");

/// Every seed of `target`, with the name of its file.
///
/// # Panics
///
/// If there is no such target.
pub fn of(target: &str) -> Vec<(String, Vec<u8>)> {
    match target {
        "datagram" => golden("datagram").chain(golden("check")).collect(),
        "frame" => golden("frame").map(|(name, bytes)| (name, framed(&bytes))).collect(),
        "node" => lives(),
        other => panic!("there is no target {other:?}"),
    }
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

//! Why a member could not join, and what to do about it.

use std::net::SocketAddr;
use std::time::Duration;

use gms_core::event::{JoinFailure, SeedAnswer};
use gms_core::input::Misfit;

use crate::args::RunArgs;
use crate::event_json::UNRESOLVED;
use crate::exit::{Code, Failure};

/// The reason first, then what each seed answered.
pub(super) fn failure(args: &RunArgs, why: &JoinFailure) -> Failure {
    let cluster = &args.cluster;
    // Tenths say enough.
    let tried = Duration::from_millis(crate::event_json::whole_millis(why.tried_for) / 100 * 100);
    let mut sentence = match &why.refusal {
        Some(refusal) => format!("could not join cluster {cluster:?}: {refusal}"),
        None => format!("could not join cluster {cluster:?} in {tried:?}: {}", what_lacks(args, why)),
    };
    for (seed, answer) in &why.seeds {
        sentence.push_str(&format!("\n  seed {seed}: {answer}"));
    }
    for seed in &why.unresolved {
        sentence.push_str(&format!("\n  seed {seed}: {UNRESOLVED}"));
    }
    Failure { code: Code::NotJoined, sentence }
}

/// What keeps a joiner that nobody refused from getting in, and what to do about it.
fn what_lacks(args: &RunArgs, why: &JoinFailure) -> String {
    if let Some((seed, answer)) = why.seeds.iter().find(|(_, answer)| answer.is_misfit()) {
        return what_fits(args, *seed, answer);
    }
    if let Some(coordinator) = why.seeds.iter().find_map(|(_, answer)| match answer {
        SeedAnswer::Coordinator(addr) => Some(addr),
        _ => None,
    }) {
        return format!(
            "the coordinator at {coordinator} did not let this member in within that time: see that it runs and that this member \
             and it reach each other, or wait longer with --join-timeout"
        );
    }
    let count = |answer: &SeedAnswer| why.seeds.iter().filter(|(_, given)| given == answer).count();
    let waiting = count(&SeedAnswer::NotInCluster);
    let silent = count(&SeedAnswer::NoAnswer) + count(&SeedAnswer::Refused);
    let listed = why.seeds.len() + why.unresolved.len();
    let is_known = args.member.expect.is_some() || !args.join.iter().any(|seed| seed.starts_with("dns:"));
    let total = args.member.expect.map_or(listed, usize::from).max(listed);
    let needed = total / 2 + 1;
    if is_known && total > 1 && waiting + silent == why.seeds.len() && waiting < needed {
        let answers = if waiting == 1 { "answers" } else { "answer" };
        return format!(
            "{waiting} of {total} seeds {answers}, and {needed} are needed to found a cluster: start members at more of \
             the seeds, or correct --join"
        );
    }
    String::from("start a member at one of the seeds, or correct --join")
}

/// What to change so that this member fits a seed that said it does not.
fn what_fits(args: &RunArgs, seed: SocketAddr, answer: &SeedAnswer) -> String {
    let advice = match answer {
        SeedAnswer::OtherCluster(name) => {
            format!("start this member with --cluster {name:?}, or correct --join")
        }
        SeedAnswer::Misfit(Misfit::Cluster) => "correct --cluster or --join".into(),
        SeedAnswer::Misfit(Misfit::Transport) => {
            let own = args.transport.name();
            return format!(
                "seed {seed} speaks another transport than this member ({own}): start it with the --transport of the others, or \
                 correct --join"
            );
        }
        SeedAnswer::Misfit(Misfit::Certificate) if args.quic.tls_cert.is_none() => {
            return format!(
                "seed {seed} demands certificates, and this member has none: give it --tls-cert, --tls-key and --tls-ca"
            );
        }
        SeedAnswer::Misfit(Misfit::Certificate) => {
            "give both certificates of one CA for this cluster, or correct --join".into()
        }
        _ => "correct --join".into(),
    };
    format!("seed {seed}: {answer}: {advice}")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command};

    #[test]
    fn a_coordinator_that_does_not_answer_is_what_was_waited_for() {
        let Ok(Cli { command: Command::Run(args) }) =
            Cli::try_parse_from(["gms", "run", "--join", "127.0.0.1:7801"])
        else {
            panic!("these are arguments of gms run");
        };
        let seed = SocketAddr::from(([127, 0, 0, 1], 7801));
        let coordinator = SocketAddr::from(([127, 0, 0, 1], 7802));
        let why = JoinFailure {
            refusal: None,
            seeds: vec![(seed, SeedAnswer::Coordinator(coordinator))],
            unresolved: Vec::new(),
            tried_for: Duration::from_secs(2),
        };
        let said = failure(&args, &why).sentence;
        assert!(
            said.contains("in 2s: the coordinator at 127.0.0.1:7802 did not let this member in"),
            "{said}"
        );
        assert!(said.contains("--join-timeout"), "{said}");
    }
}

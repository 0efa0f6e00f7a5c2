//! The command line as users see it.

use clap::CommandFactory as _;
use clap::Parser as _;

use super::*;

/// The help of every command, as a width of 100 columns shows it. To accept a change, run the tests with
/// `GMS_UPDATE_SNAPSHOTS=1` and look at the difference.
#[test]
fn the_help_of_every_command_is_as_recorded() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots/help.txt");
    let mut command = Cli::command().term_width(100);
    command.build();
    let mut text = command.render_long_help().to_string();
    for sub in command.get_subcommands_mut() {
        let name = sub.get_name().to_owned();
        if name != "help" {
            text.push_str(&format!(
                "\n==== gms {name} ====\n\n{}",
                sub.clone().term_width(100).render_help()
            ));
        }
    }
    let text: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    if std::env::var_os("GMS_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), text);
}

#[test]
fn every_command_shows_examples() {
    let mut command = Cli::command();
    command.build();
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let after = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(after.contains("Examples:"), "gms {} has no examples", sub.get_name());
    }
}

#[test]
fn the_definition_of_the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

fn refusal(args: &[&str]) -> String {
    let error = Cli::try_parse_from(args).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
    error.to_string()
}

#[test]
fn bad_values_are_refused_with_what_to_write_instead() {
    for (args, hint) in [
        (["gms", "run", "--member-timeout", "5"], "5s, 250ms"),
        (["gms", "run", "--join", "nowhere"], "HOST:PORT"),
        (["gms", "run", "--bind", "7790"], "IP:PORT"),
        (["gms", "run", "--tag", "zone"], "KEY=VALUE"),
        (["gms", "run", "--advertise", "0.0.0.0"], "IP or IP:PORT"),
        (["gms", "run", "--http", "localhost"], "127.0.0.1:7780, or off"),
        (["gms", "run", "--transport", "tcp"], "udp, quic"),
        (["gms", "run", "--heartbeat-recipients", "some"], "auto, all, or"),
        (["gms", "view", "--at", "7780"], "HOST:PORT"),
    ] {
        let text = refusal(&args);
        assert!(text.contains(hint), "{args:?}: {text}");
    }
}

#[test]
fn seeds_may_be_repeated_and_separated_by_commas() {
    let cli = Cli::try_parse_from(["gms", "run", "--join", "a:1,b:2", "--join", "dns:c:3", "--tag", "k=v=w"])
        .unwrap();
    let Command::Run(args) = cli.command else { panic!("run was asked for") };
    assert_eq!(args.join, ["a:1", "b:2", "dns:c:3"]);
    assert_eq!(args.member.tag, [("k".to_owned(), "v=w".to_owned())]);
}

#[test]
fn heartbeats_go_to_all_or_to_few_or_as_the_size_wants_it() {
    use gms_core::config::HeartbeatRecipients::{All, Auto, Predecessors};
    for (text, expected) in [("auto", Auto), ("all", All), ("3", Predecessors(3))] {
        let cli = Cli::try_parse_from(["gms", "run", "--heartbeat-recipients", text]).unwrap();
        let Command::Run(args) = cli.command else { panic!("run was asked for") };
        assert_eq!(args.timing.heartbeat_recipients, Some(expected));
    }
}

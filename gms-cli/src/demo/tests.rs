//! What the demo refuses, and whom it picks.

use clap::Parser as _;

use super::plan::Plan;
use crate::args::{Cli, Command};
use crate::exit::{Code, Failure};

fn plan(args: &[&str]) -> Result<Plan, Failure> {
    let cli = Cli::try_parse_from([&["gms", "demo"], args].concat()).unwrap();
    let Command::Demo(args) = cli.command else { panic!("demo was asked for") };
    Plan::of(&args)
}

#[test]
fn plans_without_a_majority_are_refused() {
    for args in [
        &["--members", "2", "--coordinator"][..],
        &["--members", "5", "--victims", "3"],
        &["--members", "4", "--victims", "2", "--coordinator"],
        &["--members", "3", "--victims", "3", "--fault", "leave"],
        &["--member-timeout", "50ms"],
    ] {
        assert_eq!(plan(args).unwrap_err().code, Code::Usage, "{args:?}");
    }
    for args in [
        &["--members", "2"][..],
        &["--members", "5", "--victims", "2", "--coordinator"],
        &["--members", "4", "--victims", "2"],
        &["--members", "3", "--victims", "2", "--fault", "leave"],
    ] {
        assert!(plan(args).is_ok(), "{args:?}");
    }
}

#[test]
fn victims_are_neighbours_in_the_middle_or_begin_with_the_coordinator() {
    let members: Vec<String> = (1..=5).map(|n| format!("m{n}")).collect();
    assert_eq!(plan(&[]).unwrap().choose(&members), ["m3"]);
    assert_eq!(plan(&["--victims", "2"]).unwrap().choose(&members), ["m3", "m4"]);
    assert_eq!(plan(&["--coordinator", "--victims", "2"]).unwrap().choose(&members), ["m1", "m2"]);
    assert_eq!(plan(&["--members", "2"]).unwrap().choose(&members[..2]), ["m2"]);
}

#[test]
fn a_diagram_that_cannot_be_written_is_refused_before_anything_runs_and_one_that_can_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("death.svg");
    super::can_write(&file).unwrap();
    assert!(!file.exists());
    std::fs::write(&file, "old").unwrap();
    super::can_write(&file).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
    let cli = Cli::try_parse_from(["gms", "demo", "--diagram", "/nonexistent/death.svg"]).unwrap();
    let Command::Demo(args) = cli.command else { panic!("demo was asked for") };
    assert_eq!(super::command(&args).unwrap_err().code, Code::Usage);
}

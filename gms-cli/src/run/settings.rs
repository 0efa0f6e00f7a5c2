//! From flags to the member's configuration.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use gms_core::config::{Config, ConfigError, Profile, QuorumLoss, TimingOverrides};
use gms_core::member::{Endpoint, Member, MemberId, RecordFault, Weight};
use gms_core::runtime::{Advertise, Builder, Gms};
use serde_json::{Value, json};

use crate::args::{HttpAddr, OnQuorumLoss, ProfileName, QuicWatch, RunArgs, TransportName};
use crate::event_json::millis;
use crate::exit::Failure;

/// Refuses what is out of bounds, before anything is opened.
pub(super) fn validate(args: &RunArgs) -> Result<(), Failure> {
    let timing = timing(args);
    let config = Config {
        timing: TimingOverrides { member_timeout: member_timeout(args), ..timing },
        has_seeds: !args.join.is_empty(),
        expected_seeds: args.member.expect,
        join_timeout: args.member.join_timeout,
        leave_timeout: args.member.leave_timeout,
        quorum_loss_timeout: args.member.quorum_loss_timeout,
        ..Config::new(args.cluster.clone())
    };
    config.validate().map_err(|error| Failure::usage(config_sentence(&error)))?;
    // The address is the transport's to give: any valid one serves for the rest of the record.
    let anywhere = Endpoint::single(([127, 0, 0, 1], 1).into());
    let mut record = Member::new(MemberId::from_bytes([0; 16]), name(args)?, anywhere);
    record.tags.clone_from(&args.member.tag);
    if let Some(fault) = record.fault() {
        return Err(Failure::usage(record_sentence(&record, fault)));
    }
    if args.join.is_empty() && args.member.weight == 0 {
        return Err(Failure::usage(
            "--weight 0 without --join would found a cluster that can decide nothing: give the founder a weight above 0, \
             or name seeds",
        ));
    }
    if args.transport == TransportName::Udp {
        if args.quic.tls_cert.is_some() {
            return Err(Failure::usage(
                "--tls-cert needs --transport quic: over udp nothing is encrypted or checked; add that flag, or leave the \
                 certificates out",
            ));
        }
        if args.quic.quic_watch == QuicWatch::Tcp {
            return Err(Failure::usage(
                "--quic-watch tcp needs --transport quic: over udp members are always watched so; leave it out",
            ));
        }
    }
    match &args.outside.on_event {
        Some(program) if !is_runnable(program) => Err(Failure::usage(format!(
            "--on-event {} can't be run: name an executable file",
            program.display()
        ))),
        _ => Ok(()),
    }
}

/// Whether there is such a program, where the system looks for it.
fn is_runnable(program: &Path) -> bool {
    let is_executable =
        |file: &Path| file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    if program.components().count() > 1 {
        return is_executable(program);
    }
    // Without the variable the system has a list of its own.
    std::env::var_os("PATH")
        .is_none_or(|dirs| std::env::split_paths(&dirs).any(|dir| is_executable(&dir.join(program))))
}

/// What is out of bounds in the member's record, with the flag that says so.
fn record_sentence(record: &Member, fault: RecordFault) -> String {
    match fault {
        RecordFault::Name => format!("--{fault}, unlike {:?}: choose another", record.name),
        RecordFault::Tags => format!("--tag: {fault}: leave some out, or shorten them"),
        _ => format!("--{fault}"),
    }
}

/// What is out of bounds, with the flag's name in front.
pub(crate) fn config_sentence(error: &ConfigError) -> String {
    match error {
        ConfigError::ClusterName(_) => format!("--cluster: {error}"),
        _ => format!("--{error}: set it within these bounds, or leave it out"),
    }
}

/// The member that these flags describe.
pub(super) fn builder(args: &RunArgs) -> Result<Builder, Failure> {
    let weight =
        Weight::new(args.member.weight).ok_or_else(|| Failure::usage("--weight must be 0 to 100"))?;
    let mut builder = Gms::builder(args.cluster.clone())
        .name(name(args)?)
        .join(args.join.clone())
        .timing(timing(args))
        .weight(weight)
        .coordinator_eligible(!args.member.not_coordinator)
        .join_timeout(args.member.join_timeout)
        .quorum_loss(match args.member.quorum_loss {
            OnQuorumLoss::Wait => QuorumLoss::Wait,
            OnQuorumLoss::Leave => QuorumLoss::Leave,
        })
        .rejoin(!args.member.no_rejoin);
    if let Some(profile) = profile(args).filter(|_| args.timing.member_timeout.is_none()) {
        builder = builder.profile(profile);
    }
    if let Some(timeout) = args.member.leave_timeout {
        builder = builder.leave_timeout(timeout);
    }
    if let Some(timeout) = args.member.quorum_loss_timeout {
        builder = builder.quorum_loss_timeout(timeout);
    }
    if let Some(seeds) = args.member.expect {
        builder = builder.expect_seeds(seeds);
    }
    if let Some(addr) = args.advertise {
        builder = builder.advertise(Advertise { ip: addr.ip, port: addr.port });
    }
    for (key, value) in &args.member.tag {
        builder = builder.tag(key.clone(), value.clone());
    }
    Ok(builder)
}

fn name(args: &RunArgs) -> Result<String, Failure> {
    if let Some(name) = &args.name {
        return Ok(name.clone());
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if host.is_empty() {
        Err(Failure::usage("this host has no name: give the member one with --name"))
    } else {
        Ok(host)
    }
}

/// T, where the flags say it.
pub(super) fn member_timeout(args: &RunArgs) -> Option<Duration> {
    args.timing.member_timeout.or_else(|| profile(args).map(Profile::member_timeout))
}

fn profile(args: &RunArgs) -> Option<Profile> {
    args.timing.profile.map(|profile| match profile {
        ProfileName::Local => Profile::Local,
        ProfileName::Lan => Profile::Lan,
        ProfileName::Wan => Profile::Wan,
    })
}

fn timing(args: &RunArgs) -> TimingOverrides {
    let timing = &args.timing;
    TimingOverrides {
        member_timeout: timing.member_timeout,
        heartbeat_interval: timing.heartbeat_interval,
        check_timeout: timing.check_timeout,
        final_check_timeout: timing.final_check_timeout,
        refused_grace: timing.refused_grace,
        batch_window: timing.batch_window,
        heartbeat_recipients: timing.heartbeat_recipients,
        suspect_recipients: timing.suspect_recipients,
        verifiers: timing.verifiers,
        crash_detection: timing.crash_detection,
    }
}

/// The configuration as `GET /v1/config` shows it; the token's place is shown, the token is not.
pub(super) fn json(args: &RunArgs, me: &Member) -> Value {
    let time = |duration: Option<Duration>| duration.map(millis);
    let file = |path: &Option<std::path::PathBuf>| path.as_ref().map(|p| p.display().to_string());
    json!({
        "cluster": args.cluster,
        "name": me.name,
        "bind": args.bind.to_string(),
        "addr": me.endpoint.addr.to_string(),
        "join": args.join,
        "transport": args.transport.name(),
        "tls_cert": file(&args.quic.tls_cert),
        "tls_ca": file(&args.quic.tls_ca),
        "weight": args.member.weight,
        "coordinator_eligible": !args.member.not_coordinator,
        "tags": args.member.tag.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect::<serde_json::Map<_, _>>(),
        "quorum_loss": match args.member.quorum_loss {
            OnQuorumLoss::Wait => "wait",
            OnQuorumLoss::Leave => "leave",
        },
        "quorum_loss_timeout_ms": time(args.member.quorum_loss_timeout),
        "join_timeout_ms": millis(args.member.join_timeout),
        "leave_timeout_ms": time(args.member.leave_timeout),
        "rejoin": !args.member.no_rejoin,
        "expect": args.member.expect,
        "http": match args.outside.http {
            HttpAddr::Off => Value::Null,
            HttpAddr::At(addr) => addr.to_string().into(),
        },
        "http_token": file(&args.outside.http_token),
        "on_event": file(&args.outside.on_event),
        "trace": file(&args.outside.trace),
    })
}

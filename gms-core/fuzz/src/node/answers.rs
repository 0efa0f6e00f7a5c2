//! Peers that answer what the node asked them, as a healthy member would: the way to states that lie deep.

use gms_core::Input;
use gms_core::evidence::Finding;
use gms_core::input::ReplyHandle;
use gms_core::message::{
    Answers, ClusterInfo, Datagram, DatagramBody, Frame, FrameBody, Installation, Membership,
};

use super::stage::{Question, Stage};
use super::{cast, heads};

/// What a peer says to a question.
#[expect(clippy::large_enum_variant, reason = "made one at a time, and never kept")]
enum Reply {
    Datagram(DatagramBody),
    Frame(FrameBody),
}

/// Some peers answer all that they were asked since the last time; what was put to the others is lost.
pub fn answer(stage: &mut Stage<'_>) {
    let deaf = stage.draw.byte();
    for (n, question) in std::mem::take(&mut stage.said.questions) {
        if n < 8 && deaf & (1 << n) != 0 {
            continue;
        }
        for reply in replies(stage, n, &question) {
            give(stage, n, reply);
        }
    }
}

fn give(stage: &mut Stage<'_>, n: usize, reply: Reply) {
    let (from, received_at) = (cast::address_of(n), stage.now);
    match reply {
        Reply::Datagram(body) => {
            let head = heads::proper_datagram(stage, n);
            stage.feed(Input::Datagram { from, received_at, datagram: Datagram { head, body } });
        }
        Reply::Frame(body) => {
            let (head, reply) = (heads::proper(stage, n), ReplyHandle(stage.fresh()));
            stage.feed(Input::Frame { from, reply, received_at, frame: Frame { head, body } });
        }
    }
}

fn replies(stage: &Stage<'_>, n: usize, question: &Question) -> Vec<Reply> {
    match question {
        Question::Datagram(body) => to_datagram(stage, n, body).into_iter().collect(),
        Question::Frame(body) => to_frame(stage, n, body),
    }
}

fn to_datagram(stage: &Stage<'_>, n: usize, body: &DatagramBody) -> Option<Reply> {
    let heartbeat = |answers| Some(Reply::Datagram(DatagramBody::Heartbeat { answers }));
    match body {
        DatagramBody::HeartbeatRequest { request, .. } => heartbeat(Answers::Request(*request)),
        DatagramBody::SuspectMembers { accusation, .. } => heartbeat(Answers::Accusation(*accusation)),
        DatagramBody::VerifyRequest { check, suspect } => {
            let (check, suspect, finding) = (*check, *suspect, Finding::Refused);
            Some(Reply::Datagram(DatagramBody::VerifyReply { check, suspect, finding }))
        }
        DatagramBody::FindCoordinator { .. } => {
            Some(Reply::Datagram(DatagramBody::Coordinator(Box::new(info(stage, n)))))
        }
        _ => None,
    }
}

fn to_frame(stage: &Stage<'_>, n: usize, body: &FrameBody) -> Vec<Reply> {
    let one = match body {
        FrameBody::Fence { base, members, .. } => {
            let granted = members.iter().map(|target| {
                let (member, check) = (target.member, target.check);
                Reply::Frame(FrameBody::Fenced { base: *base, member, check })
            });
            return granted.collect();
        }
        FrameBody::Promise { ballot, base, .. } => {
            FrameBody::Promised { ballot: *ballot, base: *base, accepted: None }
        }
        FrameBody::Prepare { ballot, change } => FrameBody::Accepted { ballot: *ballot, base: change.base },
        FrameBody::Install(Installation::Changes(changes)) => match changes.last() {
            Some(last) => FrameBody::Installed { view: last.change.makes() },
            None => return Vec::new(),
        },
        FrameBody::Install(Installation::Whole(view)) => FrameBody::Installed { view: view.id() },
        FrameBody::FindCoordinator { .. } => FrameBody::Coordinator(info(stage, n)),
        FrameBody::FoundPromise { ballot, .. } => {
            FrameBody::FoundPromised { ballot: *ballot, accepted: None }
        }
        FrameBody::FoundAccept { ballot, .. } => FrameBody::FoundAccepted { ballot: *ballot },
        _ => return Vec::new(),
    };
    vec![Reply::Frame(one)]
}

/// What `n` says about its cluster: odd ones are in the node's, even ones in none.
fn info(stage: &Stage<'_>, n: usize) -> ClusterInfo {
    let membership = (n % 2 == 1).then(|| {
        let record = cast::member(n);
        Membership {
            cluster: stage.cluster(),
            coordinator: record.id,
            endpoint: record.endpoint,
            view: gms_core::view::ViewId(stage.view_number().max(1)),
            size: 2,
            isolated: false,
            age: stage.timing().member_timeout,
        }
    });
    let cluster_name = String::from(cast::CLUSTER_NAME);
    ClusterInfo { cluster_name, sender: cast::id_of(n), age: stage.timing().member_timeout, membership }
}

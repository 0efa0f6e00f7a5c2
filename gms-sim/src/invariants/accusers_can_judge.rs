//! Who accuses by silence is connected, and has heard somebody since the accused fell silent (fd-18, fd-27).

use gms_core::evidence::Reason;
use gms_core::runtime::StepKind;
use gms_core::{Event, MemberId, quorum};

use crate::world::{Look, Observer};

/// Judges each accusation when it is raised.
#[derive(Debug, Default)]
pub(crate) struct AccusersCanJudge;

impl AccusersCanJudge {
    fn judge(look: Look<'_>, by: usize, accused: &MemberId) -> Result<(), String> {
        let process = &look.processes[by];
        let me = process.member();
        let Some(view) = process.view() else { return Ok(()) };
        let name = view.name_of(accused);
        let local = process.clock.local(look.now);
        if process.node().connected_until() <= local {
            return Err(format!("{} is isolated and accuses {name}", me.name));
        }
        let heard = |id: &MemberId| look.truth.last_heard_local(by, look.process_of(id)?);
        let (Some(fell_silent), true) = (heard(accused), look.truth.follows_pairs()) else { return Ok(()) };
        let is_alone = view.len() <= 2 || quorum::is_majority(view.weight_of(&me.id), view.weight());
        let others = view.members().iter().map(|m| m.member.id).filter(|id| *id != me.id && id != accused);
        let newest = others.filter_map(|id| heard(&id)).max();
        if is_alone || newest.is_some_and(|newest| newest > fell_silent + view.timing().member_timeout / 2) {
            return Ok(());
        }
        Err(format!("{} accuses {name} and has heard nobody since", me.name))
    }
}

impl Observer for AccusersCanJudge {
    fn name(&self) -> &'static str {
        "who accuses can judge"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let StepKind::Event(Event::MemberSuspected { member, by: accuser, reason: Reason::Silent, .. }) =
            kind
        else {
            return Ok(());
        };
        if accuser.id == look.processes[by].member().id { Self::judge(look, by, &member.id) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, formed, id};
    use super::*;
    use crate::scenario::Fault;

    #[test]
    fn an_accuser_that_hears_nobody_or_is_isolated_is_seen() {
        let mut world = formed(4);
        let accused = id(&world, 3);
        let error = AccusersCanJudge::judge(world.look(), 1, &accused).unwrap_err();
        assert!(error.contains("has heard nobody since"), "{error}");
        world.inflict(Fault::Down { host: 3 });
        world.run_for(T);
        assert_eq!(AccusersCanJudge::judge(world.look(), 1, &accused), Ok(()));
        world.inflict(Fault::Down { host: 1 });
        world.run_for(T);
        let error = AccusersCanJudge::judge(world.look(), 1, &accused).unwrap_err();
        assert!(error.contains("is isolated and accuses"), "{error}");
    }
}

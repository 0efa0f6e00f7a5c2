//! What must hold after every step, one file each, named after what it protects.
//!
//! | promise | kept by |
//! | --- | --- |
//! | p-2 | `dead_leave_in_time`, `lost_together` |
//! | p-3 | `healthy_stay`, `gone_is_gone` |
//! | p-4 | `one_view_per_number`, `views_go_on`, `majority_decides`, `coordinator_proposes`, `no_ghosts` |
//! | p-5 | `fences_are_honest`, `fences_of_this_base`, `isolated_first`, `isolated_soon`, `voters_know` |
//! | p-6 | `removals_explained` |
//! | rules of the health monitor | `contact_is_first_hand`, `accusers_can_judge`, `one_check_at_a_time`, `pauses_are_noticed`, `verdicts_follow` |
//! | rules of the views | `protected_in_contact`, `newcomers_are_few`, `leavers_leave_last` |
//! | other rules | `last_word`, `bounded`, and after healing `progress` |

mod accusers_can_judge;
mod bounded;
mod contact_is_first_hand;
mod coordinator_proposes;
mod dead_leave_in_time;
mod fences_are_honest;
mod fences_of_this_base;
mod gone_is_gone;
mod healthy_stay;
mod isolated_first;
mod isolated_soon;
mod last_word;
mod leavers_leave_last;
mod losses;
mod lost_together;
mod majority_decides;
mod newcomers_are_few;
mod no_ghosts;
mod one_check_at_a_time;
mod one_view_per_number;
mod pauses_are_noticed;
mod progress;
mod protected_in_contact;
mod removals_explained;
#[cfg(test)]
mod testing;
mod verdicts_follow;
mod views;
mod views_go_on;
mod voters_know;

use crate::world::Observer;

pub use progress::{PROGRESS, unsettled};

/// All invariants, for one run.
pub fn all() -> Vec<Box<dyn Observer>> {
    vec![
        Box::<one_view_per_number::OneViewPerNumber>::default(),
        Box::<views_go_on::ViewsGoOn>::default(),
        Box::<majority_decides::MajorityDecides>::default(),
        Box::<coordinator_proposes::CoordinatorProposes>::default(),
        Box::<no_ghosts::NoGhosts>::default(),
        Box::<fences_are_honest::FencesAreHonest>::default(),
        Box::<isolated_first::IsolatedFirst>::default(),
        Box::<healthy_stay::HealthyStay>::default(),
        Box::<gone_is_gone::GoneIsGone>::default(),
        Box::<removals_explained::RemovalsExplained>::default(),
        Box::<dead_leave_in_time::DeadLeaveInTime>::default(),
        Box::<lost_together::LostTogether>::default(),
        Box::<last_word::LastWord>::default(),
        Box::<isolated_soon::IsolatedSoon>::default(),
        Box::<voters_know::VotersKnow>::default(),
        Box::<fences_of_this_base::FencesOfThisBase>::default(),
        Box::<verdicts_follow::VerdictsFollow>::default(),
        Box::<leavers_leave_last::LeaversLeaveLast>::default(),
        Box::<contact_is_first_hand::ContactIsFirstHand>::default(),
        Box::<accusers_can_judge::AccusersCanJudge>::default(),
        Box::<one_check_at_a_time::OneCheckAtATime>::default(),
        Box::<pauses_are_noticed::PausesAreNoticed>::default(),
        Box::<protected_in_contact::ProtectedInContact>::default(),
        Box::<newcomers_are_few::NewcomersAreFew>::default(),
        Box::<bounded::Bounded>::default(),
    ]
}

//! What must hold after every step, one file each, named after what it protects.
//!
//! | promise | kept by |
//! | --- | --- |
//! | p-2 | [`dead_leave_in_time`], [`lost_together`] |
//! | p-3 | [`healthy_stay`], [`gone_is_gone`] |
//! | p-4 | [`one_view_per_number`], [`views_go_on`], [`majority_decides`], [`coordinator_proposes`], [`no_ghosts`] |
//! | p-5 | [`fences_are_honest`], [`isolated_first`] |
//! | p-6 | [`removals_explained`] |
//! | rules | [`last_word`], [`bounded`], and after healing [`progress`] |

mod bounded;
mod coordinator_proposes;
mod dead_leave_in_time;
mod fences_are_honest;
mod gone_is_gone;
mod healthy_stay;
mod isolated_first;
mod last_word;
mod losses;
mod lost_together;
mod majority_decides;
mod no_ghosts;
mod one_view_per_number;
mod progress;
mod removals_explained;
#[cfg(test)]
mod testing;
mod views;
mod views_go_on;

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
        Box::<bounded::Bounded>::default(),
    ]
}

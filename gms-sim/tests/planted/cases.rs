//! Which fault what workload brings to light, and what notices it.

use gms_core::planted::Planted::{self, *};
use gms_sim::{Scenario, World, mixed};

use crate::scripts;

/// What should come about, and whether it did not.
type Aim = (&'static str, fn(&World) -> bool);

/// Scenarios from seeds.
#[derive(Clone, Copy)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) scenario: fn(u64) -> Scenario,
    /// What should come about beside the invariants, and whether it did not; looked at every simulated second.
    pub(crate) aim: Option<Aim>,
}

/// A fault that is caught.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) faults: &'static [Planted],
    pub(crate) workload: &'static Workload,
    /// Some of the seeds from 0 up to this one must break the invariant: several times what was measured.
    pub(crate) seeds: u64,
    pub(crate) caught_by: &'static str,
}

const fn plain(name: &'static str, scenario: fn(u64) -> Scenario) -> Workload {
    Workload { name, scenario, aim: None }
}

const fn case(
    faults: &'static [Planted],
    workload: &'static Workload,
    seeds: u64,
    caught_by: &'static str,
) -> Case {
    Case { faults, workload, seeds, caught_by }
}

pub(crate) static MIXED: Workload = plain("mixed", mixed::scenario);
static SPLIT: Workload = plain("even split", scripts::even_split);
static LEAVERS: Workload = plain("leavers kept it connected", scripts::leavers_kept_it_connected);
static MISSED: Workload = plain("the next in office missed it", scripts::the_next_in_office_missed_it);
static JOINER: Workload = plain("a joiner missed its time", scripts::a_joiner_missed_its_time);
static CROWD: Workload = plain("a crowd joins", scripts::a_crowd_joins);
static PARTED: Workload = plain("parted between vote and view", scripts::parted_between_vote_and_view);
static BEHIND: Workload = plain("stays behind with friends", scripts::stays_behind_with_friends);
static CLEARED: Workload = plain("cleared before it died", scripts::cleared_before_it_died);
static RETURNS: Workload = plain("the old coordinator returns", scripts::old_coordinator_returns);
static LATE: Workload = plain("echoes come late", scripts::echoes_come_late);
static EXPELLED: Workload = plain("expelled among laggards", scripts::expelled_among_laggards);
static BURIED: Workload = plain("buried and asked", scripts::buried_and_asked);
static VIEWS: Workload = plain("views change while votes come", scripts::views_change_while_votes_come);
static BROKEN: Workload = plain("silent and broken", scripts::silent_and_broken);
static LOST: Workload = plain("a lost host", scripts::lost_host);
static USURPER: Workload = plain("a usurper", scripts::usurper);
static BESIDE: Workload = plain("lost after another", scripts::lost_after_another);
static STAR: Workload = plain("the middle of a star", scripts::the_middle_of_a_star);
static PAUSES: Workload = plain("a coordinator pauses", scripts::coordinator_pauses);
static UNQUORATE: Workload = plain("a hub without a majority", scripts::a_hub_without_a_majority);
static ONE_HUB: Workload = plain("one hub hears it", scripts::one_hub_hears_it);
static HUBLESS: Workload = plain("without hubs", scripts::without_hubs);
static DEAF: Workload = Workload {
    name: "deaf",
    scenario: scripts::deaf,
    aim: Some(("who hears nobody is out in time", scripts::deaf_is_still_in)),
};

/// Names of invariants that several cases break.
const FIRST_HAND: &str = "contact is first-hand and new";
const JUDGE: &str = "who accuses can judge";
const EVIDENCE: &str = "every removal has its evidence";
const FOLLOWS: &str = "a verdict follows from what was found";
const ONE_VIEW: &str = "no number names two views";
const ISOLATED: &str = "isolated before removed";
const HONEST: &str = "fences are honest";
const MAJORITY: &str = "only a majority of the base decides";
const PROGRESS: &str = gms_sim::invariants::PROGRESS;

/// One for each fault that is not masked.
pub(crate) static CASES: &[Case] = &[
    case(&[HearsayIsContact], &LEAVERS, 8, FIRST_HAND),
    case(&[StaleIsContact], &JOINER, 8, FIRST_HAND),
    case(&[ClearedIsForgotten], &CLEARED, 24, PROGRESS),
    case(&[IsolatedAccuses], &BEHIND, 8, JUDGE),
    case(&[AliveIsIgnored], &CLEARED, 8, FOLLOWS),
    case(&[OneRefusalIsProof], &MIXED, 24, EVIDENCE),
    case(&[ResetIsRefusal], &BROKEN, 8, "who is taken for gone is gone"),
    case(&[VerdictBeforeR], &BESIDE, 8, FOLLOWS),
    case(&[ChecksReplaceEachOther], &LEAVERS, 8, "one final check of a member at a time"),
    case(&[PauseUnnoticed], &PAUSES, 8, "pauses are noticed"),
    case(&[DeafAccuses], &STAR, 8, JUDGE),
    case(&[AcceptedIsAlive], &LOST, 8, "who dies is out in time"),
    case(&[ValueChanges], &PARTED, 8, "only the coordinator proposes unasked, and a ballot has one value"),
    case(&[PromiseForgotten], &RETURNS, 30, ONE_VIEW),
    case(&[AcceptedForgotten], &PARTED, 60, ONE_VIEW),
    case(&[OneVoteDecides], &BEHIND, 12, MAJORITY),
    case(&[LeaversLetGoEarly], &LEAVERS, 8, "who leaves is let go by a majority"),
    case(&[BehindForEver], &BEHIND, 8, PROGRESS),
    case(&[NoFences], &BEHIND, 8, EVIDENCE),
    case(&[SuspectVotes], &BEHIND, 8, EVIDENCE),
    case(&[NoProtection], &USURPER, 8, "a coordinator in contact keeps its office"),
    case(&[AcceptedIgnored], &PARTED, 60, ONE_VIEW),
    case(&[JoinersUnlimited], &CROWD, 8, "newcomers weigh less than who lets them in"),
    case(&[HalfIsMajority], &SPLIT, 8, ISOLATED),
    case(&[EchoCountsFromArrival], &LATE, 8, ISOLATED),
    case(&[NewerEchoesCount], &BEHIND, 12, ISOLATED),
    case(&[OtherAcceptedCounts], &EXPELLED, 60, "who is out by a verdict or an order is isolated soon"),
    case(&[NextViewNotCounted], &PARTED, 60, ISOLATED),
    case(&[VictimStaysConnected], &BURIED, 40, "who votes itself out is isolated"),
    case(&[ExcludedGoesOn], &PARTED, 8, "nobody speaks after its end"),
    case(&[IdsComeBack], &JOINER, 20, "who is out never returns under the same id"),
    case(&[FenceBeforeR], &BEHIND, 8, HONEST),
    case(&[EchoNotWaitedFor], &BEHIND, 8, HONEST),
    case(&[NoHold], &DEAF, 8, "who hears nobody is out in time"),
    case(&[FenceTakenBack], &EXPELLED, 20, HONEST),
    case(&[EchoAfterGrant], &PARTED, 8, HONEST),
    case(&[FencesOutliveBase], &VIEWS, 12, "fences count in their base"),
    case(&[NoSettling], &LEAVERS, 24, ISOLATED),
    case(&[NoWaitAfterGap], &MISSED, 16, ISOLATED),
    case(&[HublessReachNoFurther], &HUBLESS, 8, "who dies is out in time"),
    case(&[QuorateForIgnored], &UNQUORATE, 8, ISOLATED),
    case(&[OneHubIsEnough], &ONE_HUB, 8, ISOLATED),
];

/// Faults that another rule makes harmless, as far as anything that a cluster does can tell; `docs/planted-faults.md` says
/// which.
pub(crate) static MASKED: &[Planted] = &[HeardUntold, UnfinishedUnsaid];

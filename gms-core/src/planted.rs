//! Faults planted in the protocol on purpose, one at each rule whose loss would hurt, so that tests can show that they
//! notice it. Without the feature `planted` all of them are constantly off and leave nothing in the program.
//!
//! With the feature a test plants faults for its own thread: a simulated cluster runs in one. The switch is state beside
//! the arguments, which the pure part has nowhere else; that is why it exists in builds for tests only, and why
//! `gms-core/tests/tidy.rs` lets this one file have it. `docs/planted-faults.md` lists what notices each fault.

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A fault that can be planted.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[cfg_attr(not(feature = "planted"), expect(unreachable_pub, reason = "public with the feature only"))]
        pub enum Planted {
            $($(#[$doc])* $name,)*
        }

        impl Planted {
            /// All of them.
            #[cfg(feature = "planted")]
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
        }
    };
}

faults! {
    /// fd-2: that somebody else cleared a member counts as contact with it.
    HearsayIsContact,
    /// fd-3: a datagram that is no newer than the newest seen counts as contact.
    StaleIsContact,
    /// fd-12: who was cleared once is not watched any more.
    ClearedIsForgotten,
    /// fd-18: an isolated member accuses and checks like any other.
    IsolatedAccuses,
    /// fd-20: a verifier's word that the suspect lives is not heard.
    AliveIsIgnored,
    /// fd-21: one refused connection is proof.
    OneRefusalIsProof,
    /// fd-21: a connection that was reset was refused.
    ResetIsRefusal,
    /// fd-22: the verdict falls when the check's time is up, however short the silence.
    VerdictBeforeR,
    /// fd-24: a second final check of one member replaces the one that runs.
    ChecksReplaceEachOther,
    /// fd-26: a pause is not noticed.
    PauseUnnoticed,
    /// fd-27: an accuser that hears nobody trusts itself.
    DeafAccuses,
    /// fd-31: a connection that is accepted, and not answered, shows life.
    AcceptedIsAlive,
    /// vw-1: a proposer sends another value under the same ballot.
    ValueChanges,
    /// vw-2: an acceptor does not refuse ballots below its promise.
    PromiseForgotten,
    /// vw-2: an acceptor that promises a higher ballot forgets what it accepted.
    AcceptedForgotten,
    /// vw-3: one acceptance decides.
    OneVoteDecides,
    /// vw-3: leavers are let go before anybody holds the view without them.
    LeaversLetGoEarly,
    /// vw-4: a higher view number in a head is not followed.
    BehindForEver,
    /// vw-6: no fence is needed.
    NoFences,
    /// vw-6: the suspect's own weight counts among the fences.
    SuspectVotes,
    /// vw-7: a coordinator in contact is not protected.
    NoProtection,
    /// vw-8: a new coordinator does not go on with what was accepted.
    AcceptedIgnored,
    /// vw-13: any number of joiners is let in at once.
    JoinersUnlimited,
    /// vw-16: half is a majority.
    HalfIsMajority,
    /// vw-17: an echo counts from its arrival, not from when what it echoes was sent.
    EchoCountsFromArrival,
    /// vw-17: echoes of members that are in a newer view count.
    NewerEchoesCount,
    /// vw-17: echoes of members that accepted another change count.
    OtherAcceptedCounts,
    /// vw-17: the view that an accepted change makes is not looked at.
    NextViewNotCounted,
    /// vw-17: who accepts its own removal is not isolated by that.
    VictimStaysConnected,
    /// vw-18: an excluded member goes on.
    ExcludedGoesOn,
    /// Views: an id that has left is let in again.
    IdsComeBack,
    /// vw-20: a fence is granted before the suspect was silent for R.
    FenceBeforeR,
    /// vw-20: a fence is granted however young what was echoed is.
    EchoNotWaitedFor,
    /// vw-20: who waits with a fence goes on echoing.
    NoHold,
    /// vw-20: contact since the check began is not told.
    HeardUntold,
    /// vw-21: contact takes a granted fence back.
    FenceTakenBack,
    /// vw-21: echoes go on after a fence was granted.
    EchoAfterGrant,
    /// vw-21: fences granted in one base count in the next.
    FencesOutliveBase,
    /// vw-22: the older views in which the suspect may live are not looked at.
    NoSettling,
    /// vw-22: a proposer that skipped views does not wait.
    NoWaitAfterGap,
    /// vw-23: nobody says that a view is half done.
    UnfinishedUnsaid,
    /// lv-1: who has lost all hubs sends its heartbeats to nobody else.
    HublessReachNoFurther,
    /// lv-2: how long a hub is quorate, as its heads say it, is not looked at.
    QuorateForIgnored,
    /// lv-3: the fence of one hub is enough.
    OneHubIsEnough,
}

/// Whether this fault is planted: never, without the feature.
#[cfg(not(feature = "planted"))]
pub(crate) const fn is(_: Planted) -> bool {
    false
}

#[cfg(feature = "planted")]
pub(crate) use switch::is;
#[cfg(feature = "planted")]
pub use switch::{Garden, plant};

#[cfg(feature = "planted")]
mod switch {
    use std::cell::Cell;
    use std::marker::PhantomData;

    use super::Planted;

    /// Names of faults, separated by commas, that every thread begins with: for trying the tests of whole suites.
    const VARIABLE: &str = "GMS_PLANTED";

    thread_local! {
        static PLANTED: Cell<u64> = Cell::new(from_environment());
    }

    const _: () = assert!(Planted::ALL.len() <= u64::BITS as usize, "one bit each");

    /// Whether this fault is planted in this thread.
    pub(crate) fn is(fault: Planted) -> bool {
        PLANTED.get() & bit(fault) != 0
    }

    /// Plants `faults` in this thread, in place of what was planted, until the value returned is dropped.
    #[must_use = "the faults are taken out when this is dropped"]
    pub fn plant(faults: &[Planted]) -> Garden {
        let before = PLANTED.replace(faults.iter().fold(0, |set, fault| set | bit(*fault)));
        Garden { before, here: PhantomData }
    }

    /// While it lives, faults are planted in this thread.
    #[derive(Debug)]
    pub struct Garden {
        before: u64,
        /// Not to be sent to another thread.
        here: PhantomData<*const ()>,
    }

    impl Drop for Garden {
        fn drop(&mut self) {
            PLANTED.set(self.before);
        }
    }

    const fn bit(fault: Planted) -> u64 {
        1 << fault as u64
    }

    fn from_environment() -> u64 {
        let names = std::env::var(VARIABLE).unwrap_or_default();
        let known = |name: &str| Planted::ALL.iter().find(|fault| format!("{fault:?}") == name);
        names.split(',').filter(|name| !name.is_empty()).fold(0, |set, name| {
            set | bit(*known(name).unwrap_or_else(|| panic!("{VARIABLE}: there is no fault {name:?}")))
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn faults_are_planted_in_one_thread_and_for_a_while() {
            let _nothing = plant(&[]);
            {
                let _garden = plant(&[Planted::NoHold, Planted::NoFences]);
                assert!(is(Planted::NoHold) && is(Planted::NoFences) && !is(Planted::NoSettling));
                let elsewhere = std::thread::spawn(|| {
                    let _nothing = plant(&[]);
                    is(Planted::NoHold)
                });
                assert!(!elsewhere.join().expect("the thread does not panic"));
            }
            assert!(Planted::ALL.iter().all(|fault| !is(*fault)));
        }
    }
}

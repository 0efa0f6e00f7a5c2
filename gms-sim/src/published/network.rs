//! Starts of whole clusters, and networks that do not work as they should.

use std::time::Duration;

use crate::network::{Host, Link};
use crate::scenario::{Fault, Scenario, Start};

use super::checks::{COMPLETE, HEALTHY_STAY, NO_VIEW, TOGETHER};
use super::processes::{at, spread};
use super::{Check, Published};

/// Longest time that everything takes to be well again.
const HEAL_FOR: Duration = Duration::from_secs(600);

/// R1: `members` processes start at once.
pub fn bootstrap(members: usize, seed: u64) -> Published {
    let few_sizes = Check::new("members ever saw at most 16 view sizes", |outcome| {
        let sizes = outcome.metrics.sizes.len();
        if sizes <= 16 { Ok(()) } else { Err(format!("they saw {sizes}: {:?}", outcome.metrics.sizes)) }
    });
    Published {
        name: format!("r1-bootstrap-{members}"),
        question: "How many view sizes does anybody see while all start at once, and when is the last one in?",
        scenario: Scenario {
            members,
            seed,
            start: Start::Together,
            run_for: Duration::from_secs(20),
            ..Scenario::default()
        },
        checks: vec![COMPLETE, few_sizes],
    }
}

/// R3: one member in a hundred hears nothing for 20 s, everything for 20 s, and so on for five minutes.
pub fn flip_flop(members: usize, seed: u64) -> Published {
    let (period, span) = (Duration::from_secs(20), Duration::from_secs(300));
    let fault = |host| at(10, Fault::FlipFlop { host, period, span, outward: false });
    // Excluded at 10 s, and back; again; then after 6 T at least, 12 T, 24 T: three more times at most.
    let few_views =
        Check::new("each faulty member is excluded at most four times in five minutes", |outcome| {
            let (exclusions, faulty) =
                (outcome.metrics.exclusions as usize, super::checks::faulty(outcome).len());
            if exclusions <= 4 * faulty {
                Ok(())
            } else {
                Err(format!("{exclusions} exclusions of {faulty}"))
            }
        });
    Published {
        name: format!("r3-flip-flop-{members}"),
        question: "Do views flap with members whose inward links come and go?",
        scenario: Scenario {
            members,
            seed,
            run_for: Duration::from_secs(310),
            heal_for: HEAL_FOR,
            faults: spread(members, members.div_ceil(100)).map(fault).collect(),
            ..Scenario::default()
        },
        checks: vec![HEALTHY_STAY, TOGETHER, few_views],
    }
}

/// R4: 80 % of all packets to, or from, one member in a hundred are lost for five minutes.
pub fn lossy(members: usize, outward: bool, seed: u64) -> Published {
    let (inward, outward_loss, name) = if outward { (0.0, 0.8, "from") } else { (0.8, 0.0, "to") };
    let fault = |host| at(10, Fault::HostLoss { host, inward, outward: outward_loss });
    Published {
        name: format!("r4-lossy-{name}-{members}"),
        question: "Who goes and who stays where most packets of a few members are lost in one direction?",
        scenario: Scenario {
            members,
            seed,
            run_for: Duration::from_secs(310),
            heal_for: HEAL_FOR,
            faults: spread(members, members.div_ceil(100)).map(fault).collect(),
            ..Scenario::default()
        },
        checks: vec![HEALTHY_STAY, TOGETHER],
    }
}

/// R5: two members cannot reach each other; everybody else reaches both.
pub fn cut_link(members: usize, [one, other]: [Host; 2], seed: u64) -> Published {
    let cut = |from, to| at(10, Fault::Cut { from, to });
    Published {
        name: format!("r5-cut-link-{members}"),
        question: "Does one link that is down remove anybody?",
        scenario: Scenario {
            members,
            seed,
            run_for: Duration::from_secs(130),
            faults: vec![cut(one, other), cut(other, one)],
            ..Scenario::default()
        },
        checks: vec![COMPLETE, NO_VIEW],
    }
}

/// S1: 17 processes start at once while a tenth of all packets is lost.
pub fn joins_under_loss(seed: u64) -> Published {
    Published {
        name: String::from("s1-joins-under-loss-17"),
        question: "Do all get in, and is nobody removed meanwhile?",
        scenario: Scenario {
            members: 17,
            seed,
            start: Start::Together,
            network: Link { loss: 0.1, ..Link::default() },
            run_for: Duration::from_secs(120),
            ..Scenario::default()
        },
        checks: vec![COMPLETE, HEALTHY_STAY],
    }
}

/// M1: the cluster is split for a minute, `larger` members on the side of the first, and heals.
pub fn split(members: usize, larger: usize, seed: u64) -> Published {
    let groups = vec![(0..larger).collect(), (larger..members).collect()];
    Published {
        name: format!("m1-split-{larger}-{}", members - larger),
        question: "Does one side go on, and do all come together when the network heals?",
        scenario: Scenario {
            members,
            seed,
            run_for: Duration::from_secs(150),
            faults: vec![at(10, Fault::Partition { groups }), at(70, Fault::Heal)],
            ..Scenario::default()
        },
        checks: vec![COMPLETE],
    }
}

/// Z1: half of all packets are lost for five minutes.
pub fn half_lost(members: usize, seed: u64) -> Published {
    Published {
        name: format!("z1-half-lost-{members}"),
        question: "Is anybody removed where half of everything is lost?",
        scenario: Scenario {
            members,
            seed,
            run_for: Duration::from_secs(310),
            heal_for: HEAL_FOR,
            faults: vec![at(10, Fault::Loss { share: 0.5 })],
            ..Scenario::default()
        },
        checks: vec![HEALTHY_STAY, COMPLETE],
    }
}

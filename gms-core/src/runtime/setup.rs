//! What a member is made of: the settings that all its incarnations share, and the id that each draws.

use std::io;

use crate::config::Config;
use crate::member::{Endpoint, Member, MemberId, Weight};

/// What all incarnations of a member have in common.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) config: Config,
    pub(super) name: Option<String>,
    pub(super) endpoint: Endpoint,
    pub(super) weight: Weight,
    pub(super) coordinator_eligible: bool,
    pub(super) tags: Vec<(String, String)>,
    pub(super) rejoin: bool,
}

impl Setup {
    /// Defaults for everything but these.
    pub(super) const fn new(config: Config, endpoint: Endpoint) -> Self {
        Self {
            config,
            name: None,
            endpoint,
            weight: Weight::DEFAULT,
            coordinator_eligible: true,
            tags: Vec::new(),
            rejoin: true,
        }
    }

    /// A record with a new id. The name is drawn once, with the first.
    ///
    /// # Errors
    ///
    /// The system gives no randomness.
    pub(super) fn incarnation(&mut self) -> io::Result<Member> {
        let id = MemberId::from_bytes(random()?);
        let name = self.name.get_or_insert_with(|| format!("member-{}", &id.to_string()[..8]));
        let mut me = Member::new(id, name.clone(), self.endpoint);
        me.weight = self.weight;
        me.coordinator_eligible = self.coordinator_eligible;
        me.tags.clone_from(&self.tags);
        Ok(me)
    }
}

/// Bytes of the system's randomness.
pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::addr;

    #[test]
    fn each_incarnation_has_a_new_id_and_the_same_name() {
        let mut setup = Setup::new(Config::new("c"), Endpoint::single(addr(0)));
        let (first, second) = (setup.incarnation().unwrap(), setup.incarnation().unwrap());
        assert_ne!(first.id, second.id);
        assert_eq!(first.name, second.name);
        assert!(first.name.starts_with("member-"));
    }
}

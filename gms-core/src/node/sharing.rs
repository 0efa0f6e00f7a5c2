//! Several nodes in one process: they hold one copy of what is equal in all of them.

use std::sync::Arc;

use crate::view::View;

use super::{Node, Phase};

impl Node {
    /// Takes `view` in place of the installed view if the two are equal, so that nodes hold one copy of it and of its
    /// members' records: for processes that hold many nodes, such as simulators, which call this with the first
    /// node's view whenever a node has installed one. Returns whether it was taken.
    pub fn share_view(&mut self, view: &Arc<View>) -> bool {
        match &mut self.phase {
            Phase::InView(member) => member.share_view(view),
            Phase::Joining(_) | Phase::Stopped(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{addr, member};
    use crate::time::Timestamp;
    use crate::view::Change;

    #[test]
    fn an_equal_view_is_taken_and_another_is_not() {
        let (now, config) = (Timestamp::from_millis(1), crate::config::Config::new("test"));
        let mut node = Node::new(config, member(0), 1, now).expect("a valid configuration");
        let own = Arc::clone(node.view().expect("it founded a cluster"));
        let equal = Arc::new(View::clone(&own));
        assert!(node.share_view(&equal));
        assert!(node.view().is_some_and(|view| Arc::ptr_eq(view, &equal)));
        let later = Arc::new(own.apply(&Change::empty(&own)).expect("its own change"));
        assert!(!node.share_view(&later));
        assert!(node.view().is_some_and(|view| Arc::ptr_eq(view, &equal)));
        let mut joining = crate::config::Config::new("test");
        joining.has_seeds = true;
        let mut joiner = Node::new(joining, member(1), 1, now).expect("a valid configuration");
        joiner.handle_input(now, crate::Input::Command(crate::input::Command::Seeds(vec![addr(0)])));
        assert!(!joiner.share_view(&equal), "it is in no view");
    }
}

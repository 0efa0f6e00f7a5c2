use super::*;
use crate::outbox::Action;
use crate::output::Destination;
use crate::testing::{addr, id, member, view_of};
use crate::view::Change;

#[test]
//= docs/protocol.md#vw-3
fn leavers_are_let_go_when_more_than_half_of_the_new_view_holds_it() {
    let old = view_of(6);
    let change = Change { left: vec![id(4), id(5)], ..Change::empty(&old) };
    let view = Arc::new(old.apply(&change).unwrap());
    let decided = Decided { digest: view.digest(), change };
    let leavers = vec![member(4), member(5)];
    let mut departures = Departures::new(Arc::clone(&view), decided.clone(), leavers);
    let mut out = Outbox::default();
    // 45 is the weight of the new view: the lead member's 15 and 10 more are enough, and leavers don't count.
    for holder in [1, 1, 4, 5, 2] {
        assert!(!departures.handle_installed(id(holder), &mut out));
    }
    assert_eq!(out.drain(), []);
    assert!(departures.handle_installed(id(0), &mut out));
    let told: Vec<_> = out
        .drain()
        .into_iter()
        .map(|action| match action {
            Action::FrameTo { to: Destination::Address(to), recipient, body, .. } => (to, recipient, body),
            other => panic!("{other:?}"),
        })
        .collect();
    let install = FrameBody::Install(Installation::Changes(vec![decided]));
    assert_eq!(told, [4, 5].map(|n| (addr(n), id(n).short(), install.clone())));
    assert!(departures.handle_installed(id(3), &mut out));
    assert_eq!(out.drain(), [], "each is told once");
    assert_eq!(departures.view().id(), view.id());
}

use super::*;
use crate::testing::{Stand, id, view_of};

/// Lets twenty numbers of m1 pass, of which every `nth` arrives; returns the next number.
fn window(stand: &mut Stand, from: u64, nth: u64) -> u64 {
    let arrived = (from..from + 20).filter(|number| (number - from + 1).is_multiple_of(nth));
    arrived.for_each(|number| stand.hears(number, 1, number));
    from + 20
}

fn told(watch: &mut LinkWatch, stand: &Stand) -> Vec<(&'static str, f32)> {
    let mut out = Outbox::default();
    watch.update(stand.scene(), &mut out);
    let event = |action| match action {
        crate::outbox::Action::Event(Event::LinkDegraded(report)) => {
            assert_eq!(report.member.id, id(1));
            ("degraded", report.loss_in)
        }
        crate::outbox::Action::Event(Event::LinkRecovered(report)) => ("recovered", report.loss_in),
        other => panic!("{other:?}"),
    };
    out.drain().into_iter().map(event).collect()
}

#[test]
fn a_link_that_loses_much_is_reported_once_and_once_more_when_it_is_well() {
    let mut stand = Stand::new(view_of(3), 0);
    let mut watch = LinkWatch::default();
    let next = window(&mut stand, 1, 1);
    let next = window(&mut stand, next, 1);
    assert_eq!(told(&mut watch, &stand), []);
    let next = window(&mut stand, next, 2);
    let next = window(&mut stand, next, 2);
    assert_eq!(told(&mut watch, &stand), [("degraded", 0.5)]);
    assert_eq!(told(&mut watch, &stand), []);
    let next = window(&mut stand, next, 1);
    let next = window(&mut stand, next, 1);
    window(&mut stand, next, 1);
    assert_eq!(told(&mut watch, &stand), [("recovered", 0.0)]);
    assert_eq!(told(&mut watch, &stand), []);
}

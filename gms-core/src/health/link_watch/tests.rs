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
    watch.update(stand.scene(), &|_| false, &mut out);
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

#[test]
fn of_a_link_that_was_told_of_for_another_reason_nothing_is_told() {
    let mut stand = Stand::new(view_of(3), 0);
    let (mut watch, mut out) = (LinkWatch::default(), Outbox::default());
    let next = window(&mut stand, 1, 2);
    let next = window(&mut stand, next, 2);
    watch.update(stand.scene(), &|_| true, &mut out);
    assert!(watch.is_degraded(&id(1)));
    let next = window(&mut stand, next, 1);
    let next = window(&mut stand, next, 1);
    window(&mut stand, next, 1);
    watch.update(stand.scene(), &|_| true, &mut out);
    assert!(!watch.is_degraded(&id(1)));
    assert_eq!(out.drain(), []);
}

#[test]
//= docs/protocol.md#fd-20
fn a_link_that_loses_much_and_then_turns_out_to_be_one_sided_is_told_of_once() {
    let mut desk = crate::health::testing::Desk::new(5, 2);
    for _ in 0..40 {
        desk.loses(3);
        desk.hears(3);
    }
    desk.with(|h, s, out| h.watch_links(s, out));
    assert_eq!(desk.lines_with("link"), ["0 ! link to m3 bad"]);
    while !desk.health.is_suspect(&id(3)) {
        desk.pass(50, &[0, 1, 4]);
    }
    desk.with(|h, s, out| h.handle_final_check_passed(s, id(0), id(3), out));
    assert_eq!(desk.lines_with("link"), Vec::<String>::new());
}

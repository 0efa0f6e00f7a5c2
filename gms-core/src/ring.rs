//! The ring: view order closed into a circle. Pure functions of an order and a predicate, no state.

use std::iter;

/// Places after `from` in a ring of `len`, once around, `from` itself left out.
pub fn after(len: usize, from: usize) -> impl Iterator<Item = usize> {
    (1..len).map(move |step| (from + step) % len)
}

/// Places before `from` in a ring of `len`, nearest first, `from` itself left out.
pub fn before(len: usize, from: usize) -> impl Iterator<Item = usize> {
    (1..len).map(move |step| (from + len - step) % len)
}

/// The place that the member at `me` watches: the first after it that it does not suspect.
///
/// Alone, or with all others suspect, it watches nobody.
//= docs/protocol.md#fd-7
pub fn watched(len: usize, me: usize, mut is_suspect: impl FnMut(usize) -> bool) -> Option<usize> {
    after(len, me).find(|place| !is_suspect(*place))
}

/// The place of the member that watches `place`: the nearest before it that is not suspect.
pub fn watcher(len: usize, place: usize, mut is_suspect: impl FnMut(usize) -> bool) -> Option<usize> {
    before(len, place).find(|p| !is_suspect(*p))
}

/// The places right after `first` that are silent too, up to the first that is not: whom a watcher checks together
/// with `first`, so that adjacent losses are found together. Stops before coming round to `me`.
//= docs/protocol.md#fd-9
pub fn silent_run(
    len: usize,
    me: usize,
    first: usize,
    mut is_silent: impl FnMut(usize) -> bool,
) -> impl Iterator<Item = usize> {
    let mut rest = after(len, first);
    iter::from_fn(move || rest.next().filter(|place| *place != me && is_silent(*place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_i_watch_table() {
        // members, me, suspects, watched
        let table: &[(usize, usize, &[usize], Option<usize>)] = &[
            (1, 0, &[], None),
            (2, 0, &[], Some(1)),
            (2, 1, &[], Some(0)),
            (5, 1, &[], Some(2)),
            (5, 4, &[], Some(0)),
            (5, 1, &[2, 3], Some(4)),
            (5, 3, &[4, 0], Some(1)),
            (3, 0, &[1, 2], None),
        ];
        for (len, me, suspects, expected) in table {
            assert_eq!(watched(*len, *me, |p| suspects.contains(&p)), *expected, "{len} {me} {suspects:?}");
        }
    }

    #[test]
    fn watcher_is_the_inverse_of_watched() {
        for len in 2..8 {
            for me in 0..len {
                let subject = watched(len, me, |_| false).unwrap();
                assert_eq!(watcher(len, subject, |_| false), Some(me));
            }
        }
        assert_eq!(watcher(1, 0, |_| false), None);
    }

    #[test]
    fn adjacent_silent_members_are_checked_together_up_to_the_first_that_is_heard() {
        let silent = [2, 3, 5];
        let run: Vec<_> = silent_run(6, 0, 1, |p| silent.contains(&p)).collect();
        assert_eq!(run, [2, 3]);
        let all_but_me: Vec<_> = silent_run(4, 3, 0, |_| true).collect();
        assert_eq!(all_but_me, [1, 2]);
    }
}

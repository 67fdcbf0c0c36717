//! The share of each AMF of a set, by relative capacity (TS 23.501, 5.19.3).

/// What counts in the share of an AMF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub registered: usize,
    pub capacity: u8,
    /// UEs that the AMF still accepts.
    pub room: usize,
}

/// The UEs that belong to an AMF, rounded up.
fn share(total: usize, capacity: u8, capacities: usize) -> usize {
    match capacities {
        0 => total,
        all => total.saturating_mul(usize::from(capacity)).div_ceil(all),
    }
}

fn sums(own: &Load, others: &[Load]) -> (usize, usize) {
    let all = || others.iter().chain([own]);
    (all().map(|load| load.registered).sum(), all().map(|load| usize::from(load.capacity)).sum())
}

/// The registered UEs of `own` above its share.
pub(crate) fn excess(own: &Load, others: &[Load]) -> usize {
    let (total, capacities) = sums(own, others);
    own.registered.saturating_sub(share(total, own.capacity, capacities))
}

/// Whether `own` has more than `percent` of its share.
pub(crate) fn is_above(own: &Load, others: &[Load], percent: u32) -> bool {
    let (total, capacities) = sums(own, others);
    let limit = share(total, own.capacity, capacities).saturating_mul(percent as usize);
    own.registered.saturating_mul(100) > limit
}

/// How many UEs `own` moves to each of the `others`: none gets more than its share, or than it
/// accepts.
pub(crate) fn moves(own: &Load, others: &[Load]) -> Vec<usize> {
    let (total, capacities) = sums(own, others);
    let mut left = excess(own, others);
    let of = |other: &Load| {
        let deficit = share(total, other.capacity, capacities).saturating_sub(other.registered);
        let moved = deficit.min(other.room).min(left);
        left -= moved;
        moved
    };
    others.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(registered: usize, capacity: u8) -> Load {
        Load { registered, capacity, room: usize::MAX }
    }

    #[test]
    fn the_excess_is_moved_to_members_below_their_share() {
        assert_eq!(moves(&load(20, 255), &[load(0, 255)]), [10]);
        assert_eq!(moves(&load(20, 255), &[load(0, 85)]), [5]);
        assert_eq!(moves(&load(90, 10), &[load(40, 10), load(5, 10)]), [5, 40]);
        // A member above its share gets none, a full one what it accepts.
        assert_eq!(moves(&load(60, 10), &[load(70, 10), load(0, 10)]), [0, 16]);
        assert_eq!(moves(&load(20, 255), &[Load { room: 3, ..load(0, 255) }]), [3]);
    }

    #[test]
    fn a_balanced_set_moves_nothing() {
        // A UE beyond an even number would otherwise move for ever.
        assert_eq!(moves(&load(10, 255), &[load(9, 255)]), [0]);
        assert_eq!(moves(&load(9, 255), &[load(10, 255)]), [0]);
        assert_eq!(moves(&load(0, 255), &[load(0, 255)]), [0]);
        for total in 0..200 {
            for own in 0..=total {
                let (a, b) = (load(own, 200), load(total - own, 70));
                let moved = moves(&a, &[b])[0];
                let (a, b) = (load(own - moved, 200), load(total - own + moved, 70));
                assert_eq!((moves(&a, &[b]), moves(&b, &[a]).len()), (vec![0], 1), "{own} {total}");
                let back = moves(&b, &[a])[0];
                assert!(moved == 0 || back == 0, "{back} of {own}, {total} return");
            }
        }
    }

    #[test]
    fn an_amf_without_capacity_keeps_nothing_and_gets_nothing() {
        assert_eq!(moves(&load(7, 0), &[load(0, 255)]), [7]);
        assert_eq!(moves(&load(7, 255), &[load(0, 0)]), [0]);
        assert_eq!(moves(&load(7, 0), &[load(0, 0)]), [0]);
        assert_eq!(moves(&load(7, 0), &[]), [0; 0]);
    }

    #[test]
    fn the_threshold_is_a_part_of_the_share() {
        let other = load(0, 255);
        assert_eq!(excess(&load(121, 255), &[load(79, 255)]), 21);
        assert!(is_above(&load(121, 255), &[load(79, 255)], 120));
        assert!(!is_above(&load(120, 255), &[load(80, 255)], 120));
        assert!(!is_above(&load(0, 255), &[other], 120));
    }
}

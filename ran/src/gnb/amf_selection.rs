//! Selection of an AMF by a gNB with several (TS 23.501, 6.3.5; TS 38.410, 6.2): the AMF that
//! assigned the UE's 5G-S-TMSI or GUAMI, else one of its AMF set, else any, by relative capacity.
use super::node::{AmfInfo, Gnb};
use std::sync::atomic::{AtomicU64, Ordering};

/// The AMF set and the AMF pointer of a UE's 5G-S-TMSI.
pub(crate) type AmfIdentity = (u16, u8);

/// Counts selections, so that their shares are those of the capacities.
static SELECTIONS: AtomicU64 = AtomicU64::new(0);

impl Gnb {
    /// The association for the first message of a UE: one with an available AMF. `None` without
    /// an available AMF.
    pub(crate) fn select_amf(&self, identity: Option<AmfIdentity>) -> Option<Gnb> {
        let available = self.available_associations();
        let amf = |gnb: &Gnb| Some(AmfInfo { capacity: gnb.amf_capacity(), ..gnb.amf()?.clone() });
        let amfs: Vec<AmfInfo> = available.iter().filter_map(amf).collect();
        // An association is selected after all have completed NG setup.
        if amfs.len() != available.len() {
            return None;
        }
        let number = SELECTIONS.fetch_add(1, Ordering::Relaxed);
        choose(&amfs, identity, number).map(|index| available[index].clone())
    }
}

/// The index of the AMF for a UE. `number` counts selections.
fn choose(amfs: &[AmfInfo], identity: Option<AmfIdentity>, number: u64) -> Option<usize> {
    let all = || 0..amfs.len();
    if let Some(identity) = identity {
        if let Some(own) = all().find(|index| amfs[*index].guamis.contains(&identity)) {
            return Some(own);
        }
        let of_set: Vec<usize> =
            all().filter(|index| amfs[*index].sets.contains(&identity.0)).collect();
        if !of_set.is_empty() {
            return by_capacity(amfs, &of_set, number);
        }
    }
    by_capacity(amfs, &all().collect::<Vec<_>>(), number)
}

/// One of the AMFs by relative capacity. One with capacity 0 gets UEs only if all have 0.
fn by_capacity(amfs: &[AmfInfo], indexes: &[usize], number: u64) -> Option<usize> {
    let capacity = |index: &usize| u64::from(amfs[*index].capacity);
    let total: u64 = indexes.iter().map(capacity).sum();
    if total == 0 {
        let count = u64::try_from(indexes.len()).ok().filter(|count| *count > 0)?;
        return indexes.get(usize::try_from(number % count).ok()?).copied();
    }
    // Multiples of the golden ratio are spread evenly, whatever the capacities are.
    let fraction = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let mut point = (fraction * total) >> 32;
    for index in indexes {
        if point < capacity(index) {
            return Some(*index);
        }
        point -= capacity(index);
    }
    indexes.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amf(set: u16, pointer: u8, capacity: u8) -> AmfInfo {
        let name = format!("amf-{set}-{pointer}");
        AmfInfo { name, capacity, sets: vec![set], guamis: vec![(set, pointer)] }
    }

    #[test]
    fn a_ue_returns_to_its_amf_else_to_its_set() {
        let amfs = [amf(1, 0, 10), amf(1, 2, 10), amf(2, 0, 255)];
        for number in 0..10 {
            assert_eq!(choose(&amfs, Some((1, 2)), number), Some(1));
            assert!(choose(&amfs, Some((1, 5)), number).is_some_and(|index| index < 2));
        }
        assert_eq!(choose(&[], None, 0), None);
    }

    #[test]
    fn new_ues_are_shared_by_relative_capacity() {
        let amfs = [amf(1, 0, 200), amf(1, 1, 50), amf(1, 2, 0)];
        let mut shares = [0; 3];
        for number in 0..1000 {
            shares[choose(&amfs, None, number).unwrap()] += 1;
        }
        assert!((790..=810).contains(&shares[0]) && shares[2] == 0, "{shares:?}");
    }
}

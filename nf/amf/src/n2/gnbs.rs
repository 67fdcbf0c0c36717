//! The gNBs with an association, and the index of those that serve a tracking area.
use super::{Gnb, GnbSetup};
use crate::served::Tai;
use martlet_sbi_api::common::GlobalRanNodeId;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

type ByNumber = BTreeMap<u64, Arc<Gnb>>;

/// All gNBs. NG setup, RAN configuration update and the end of an association change the setup data
/// through [`Gnbs::apply_setup`] and [`Gnbs::remove`], so that the index agrees with them.
#[derive(Default)]
pub(crate) struct Gnbs(Mutex<Table>);

#[derive(Default)]
struct Table {
    /// By the number of their association.
    all: ByNumber,
    /// Those with a completed NG setup, by each tracking area that they serve.
    by_area: HashMap<Tai, ByNumber>,
}

impl Table {
    /// Removes a gNB from the index. `setup` is what it is indexed by.
    fn remove_from_index(&mut self, number: u64, setup: &GnbSetup) {
        for area in &setup.areas {
            let Some(serving) = self.by_area.get_mut(&area.tai) else { continue };
            serving.remove(&number);
            if serving.is_empty() {
                self.by_area.remove(&area.tai);
            }
        }
    }
}

impl Gnbs {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds an association without NG setup. Returns the one that must end to make room: the oldest
    /// of the same address beyond `per_address`, or the oldest of all beyond `max`.
    pub fn add(&self, gnb: &Arc<Gnb>, per_address: usize, max: usize) -> Option<Arc<Gnb>> {
        let mut table = self.table();
        let address: IpAddr = gnb.address.ip();
        let pending = || table.all.values().filter(|gnb| gnb.setup().is_none());
        // By number: the oldest is first.
        let of_address = || pending().filter(|gnb| gnb.address.ip() == address);
        let surplus = if of_address().count() >= per_address {
            of_address().next().cloned()
        } else if pending().count() >= max {
            pending().next().cloned()
        } else {
            None
        };
        if let Some(surplus) = &surplus {
            // Without NG setup, it is not in the index.
            table.all.remove(&surplus.number);
        }
        table.all.insert(gnb.number, gnb.clone());
        surplus
    }

    /// Replaces the setup data of a gNB and returns the previous ones. A gNB without setup data, or
    /// whose association has ended, is in no index.
    pub fn apply_setup(&self, gnb: &Arc<Gnb>, setup: Option<GnbSetup>) -> Option<Arc<GnbSetup>> {
        let mut table = self.table();
        let before = gnb.set_up(setup);
        if let Some(before) = &before {
            table.remove_from_index(gnb.number, before);
        }
        if table.all.contains_key(&gnb.number)
            && let Some(setup) = gnb.setup()
        {
            for area in &setup.areas {
                table.by_area.entry(area.tai).or_default().insert(gnb.number, gnb.clone());
            }
        }
        before
    }

    /// Removes an association and its setup data.
    pub fn remove(&self, gnb: &Gnb) {
        let mut table = self.table();
        table.all.remove(&gnb.number);
        if let Some(before) = gnb.set_up(None) {
            table.remove_from_index(gnb.number, &before);
        }
    }

    /// The gNBs that serve one of the tracking areas, each once, in the order of their
    /// associations. Other gNBs are not looked at.
    pub fn serving(&self, area: &[Tai]) -> Vec<Arc<Gnb>> {
        let table = self.table();
        let of_area = |tai: &Tai| table.by_area.get(tai).into_iter().flatten();
        let serving: BTreeMap<u64, &Arc<Gnb>> =
            area.iter().flat_map(of_area).map(|(number, gnb)| (*number, gnb)).collect();
        serving.into_values().cloned().collect()
    }

    /// The number of gNBs with a completed NG setup.
    pub fn set_up(&self) -> usize {
        self.table().all.values().filter(|gnb| gnb.setup().is_some()).count()
    }

    /// Whether the association is there.
    pub fn has(&self, number: u64) -> bool {
        self.table().all.contains_key(&number)
    }

    /// All gNBs.
    pub fn all(&self) -> Vec<Arc<Gnb>> {
        self.table().all.values().cloned().collect()
    }

    /// The node with this identity, as text and for the SBI, after NG setup.
    pub fn of_node(&self, id: &str, global: &GlobalRanNodeId) -> Option<Arc<Gnb>> {
        let table = self.table();
        let is_it = |gnb: &&Arc<Gnb>| gnb.setup().is_some_and(|setup| setup.is_of(id, global));
        table.all.values().find(is_it).cloned()
    }

    /// The gNB that an operator names with this identity, after NG setup.
    pub fn of(&self, id: &str) -> Option<Arc<Gnb>> {
        let table = self.table();
        table.all.values().find(|gnb| gnb.setup().is_some_and(|setup| setup.id == id)).cloned()
    }

    /// Another association of the gNB with the identity in this setup data.
    pub fn other_of(&self, own: &GnbSetup, number: u64) -> Option<Arc<Gnb>> {
        let table = self.table();
        let mut others = table.all.values().filter(|gnb| gnb.number != number);
        let is_it = |setup: Arc<GnbSetup>| setup.is_of(&own.id, &own.global);
        others.find(|gnb| gnb.setup().is_some_and(is_it)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::n2::{Area, Link, counted};
    use martlet_nas::Plmn;
    use martlet_sbi_api::common::GNbId;
    use tokio::sync::mpsc;

    fn tai(tac: u32) -> Tai {
        Tai { plmn: Plmn::new("001", "01").unwrap(), tac }
    }

    fn setup(number: u64, tacs: &[u32]) -> GnbSetup {
        let areas = tacs.iter().map(|tac| Area { tai: tai(*tac), slices: Vec::new() }).collect();
        let global = GlobalRanNodeId::new("00101".parse().unwrap());
        GnbSetup { id: format!("00101-{number:06x}"), name: None, global, areas }
    }

    fn add(gnbs: &Gnbs, number: u64) -> Arc<Gnb> {
        let (to_gnb, _) = mpsc::channel(1);
        let address = ([127, 0, 0, 1], 1).into();
        let gnb = Arc::new(Gnb::new(number, address, Link::Local(to_gnb)));
        assert!(gnbs.add(&gnb, usize::MAX, usize::MAX).is_none());
        gnb
    }

    fn serving(gnbs: &Gnbs, tacs: &[u32]) -> Vec<u64> {
        let area: Vec<_> = tacs.iter().map(|tac| tai(*tac)).collect();
        gnbs.serving(&area).iter().map(|gnb| gnb.number).collect()
    }

    #[test]
    fn the_index_follows_setup_update_and_loss() {
        let gnbs = Gnbs::default();
        let (first, second) = (add(&gnbs, 1), add(&gnbs, 2));
        assert!(serving(&gnbs, &[1, 2, 3]).is_empty());
        assert!(gnbs.apply_setup(&first, Some(setup(1, &[1, 2]))).is_none());
        gnbs.apply_setup(&second, Some(setup(2, &[2])));
        assert_eq!(serving(&gnbs, &[1]), [1]);
        // Each once, in the order of the associations.
        assert_eq!(serving(&gnbs, &[2, 1]), [1, 2]);
        // RAN CONFIGURATION UPDATE with other areas.
        assert_eq!(*gnbs.apply_setup(&first, Some(setup(1, &[3]))).unwrap(), setup(1, &[1, 2]));
        assert!(serving(&gnbs, &[1]).is_empty());
        assert_eq!(serving(&gnbs, &[2]), [2]);
        assert_eq!(serving(&gnbs, &[3]), [1]);
        // Its identity goes to another association, and the association is lost.
        gnbs.apply_setup(&first, None);
        assert_eq!(serving(&gnbs, &[1, 2, 3]), [2]);
        gnbs.remove(&second);
        assert!(serving(&gnbs, &[1, 2, 3]).is_empty());
        assert!(second.setup().is_none() && !gnbs.has(2) && gnbs.has(1));
        // A message that was received before the loss does not bring it back.
        gnbs.apply_setup(&second, Some(setup(2, &[2])));
        assert!(serving(&gnbs, &[2]).is_empty());
        gnbs.remove(&second);
        gnbs.remove(&first);
        let table = gnbs.table();
        assert!(table.all.is_empty() && table.by_area.is_empty());
    }

    #[test]
    fn gnbs_are_found_by_value_and_length_of_their_identities() {
        let gnbs = Gnbs::default();
        let with_bits = |bits: u8| {
            let mut setup = setup(1, &[1]);
            setup.global.g_nb_id = Some(GNbId { bit_length: bits, gnb_value: "000001".into() });
            setup
        };
        let (first, second) = (add(&gnbs, 1), add(&gnbs, 2));
        gnbs.apply_setup(&first, Some(with_bits(24)));
        assert!(gnbs.other_of(&with_bits(22), 2).is_none());
        gnbs.apply_setup(&second, Some(with_bits(22)));
        for (bits, number, other) in [(24, 1, 2), (22, 2, 1)] {
            let setup = with_bits(bits);
            let found = gnbs.of_node(&setup.id, &setup.global).map(|gnb| gnb.number);
            assert_eq!(found, Some(number));
            assert_eq!(gnbs.other_of(&setup, other).map(|gnb| gnb.number), Some(number));
            assert!(gnbs.other_of(&setup, number).is_none());
        }
        let setup = with_bits(23);
        assert!(gnbs.of_node(&setup.id, &setup.global).is_none());
    }

    #[test]
    fn only_gnbs_of_the_area_are_looked_at() {
        let gnbs = Gnbs::default();
        for number in 1..=1000 {
            let gnb = add(&gnbs, number);
            gnbs.apply_setup(&gnb, Some(setup(number, &[number as u32 / 2])));
        }
        let before = counted::SETUPS_READ.get();
        assert_eq!(serving(&gnbs, &[250]), [500, 501]);
        assert_eq!(serving(&gnbs, &[0, 500]), [1, 1000]);
        assert_eq!(counted::SETUPS_READ.get(), before);
    }
}

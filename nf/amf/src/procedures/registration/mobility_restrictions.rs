//! Mobility restrictions (TS 23.501, 5.3.4.1; TS 24.501, 5.3.5): service area, forbidden areas and
//! equivalent PLMNs, for UE and gNB.
use crate::n2::downlink::Restrictions;
use crate::served::Tai;
use crate::ue::Ue;
use martlet_nas::{NasPlmnList, NasServiceAreaList, Plmn};
use martlet_sbi_api::common::{RestrictionType, ServiceAreaRestriction};

/// Allowed type of a partial service area list: non-allowed area (TS 24.501, 9.11.3.49).
const NOT_ALLOWED: u8 = 0x80;
/// Type of list 11: all tracking areas of the PLMN.
const WHOLE_NETWORK: u8 = 0x60;

/// Whether a tracking area is non-allowed.
fn is_without_service(restriction: &ServiceAreaRestriction, tai: Tai) -> bool {
    let areas = restriction.areas.as_deref().unwrap_or_default();
    let mut named = areas.iter().flat_map(|area| area.tacs.iter().flatten());
    let is_named = named.any(|tac| tac.to_u32() == tai.tac);
    match restriction.restriction_type {
        Some(RestrictionType::AllowedAreas) => !is_named,
        Some(RestrictionType::NotAllowedAreas) => is_named,
        // Absent, or of a later release: no restriction.
        _ => false,
    }
}

fn restriction(ue: &Ue) -> Option<&ServiceAreaRestriction> {
    ue.registration.subscription.as_ref()?.access.service_area_restriction.as_ref()
}

/// Whether the UE is in a non-allowed area.
pub(crate) fn is_restricted(ue: &Ue) -> bool {
    let here = ue.connection.as_ref().map(|connection| connection.location.tai);
    restriction(ue).zip(here).is_some_and(|(restriction, tai)| is_without_service(restriction, tai))
}

/// The non-allowed tracking areas of the UE's registration area.
fn not_allowed(ue: &Ue) -> Vec<Tai> {
    let Some(restriction) = restriction(ue) else { return Vec::new() };
    ue.registration
        .area
        .iter()
        .copied()
        .filter(|tai| is_without_service(restriction, *tai))
        .collect()
}

/// Service area list; `None` without restriction. `lifted` sends an unrestricted list to a UE that
/// had another one.
pub(crate) fn service_area_list(ue: &Ue, lifted: bool) -> Option<NasServiceAreaList> {
    let areas = not_allowed(ue);
    let current = ue.registration.area.first()?.plmn;
    let list = match areas.len() {
        0 if !lifted => return None,
        0 => [&[WHOLE_NETWORK], current.to_nas_octets().as_slice()].concat(),
        // Type of list 00: one PLMN, at most 16 tracking areas, as the registration area.
        n => {
            let mut list = vec![NOT_ALLOWED | (n.min(16) as u8 - 1)];
            list.extend(current.to_nas_octets());
            areas.iter().take(16).for_each(|tai| list.extend(&tai.tac.to_be_bytes()[1..]));
            list
        }
    };
    Some(NasServiceAreaList::new(list))
}

/// Equivalent PLMNs (TS 24.501, 5.3.14).
pub(crate) fn equivalent_plmns(ue: &Ue) -> Option<NasPlmnList> {
    let plmns = &ue.amf.served.equivalent;
    if plmns.is_empty() { None } else { NasPlmnList::from_plmns(plmns).ok() }
}

/// Mobility Restriction List for the gNB (TS 38.413, 9.3.1.85); `None` without restriction.
pub(crate) fn for_gnb(ue: &Ue) -> Option<Restrictions> {
    let serving: Plmn = ue.connection.as_ref().or(ue.target.as_deref())?.location.tai.plmn;
    let forbidden = ue
        .registration
        .subscription
        .iter()
        .flat_map(|subscription| subscription.access.forbidden_areas.iter().flatten());
    let restrictions = Restrictions {
        serving,
        equivalent: ue.amf.served.equivalent.clone(),
        forbidden: forbidden
            .flat_map(|area| area.tacs.iter().flatten())
            .map(|tac| tac.to_u32())
            .collect(),
        not_allowed: not_allowed(ue).iter().map(|tai| tai.tac).collect(),
    };
    let nothing = restrictions.equivalent.is_empty()
        && restrictions.forbidden.is_empty()
        && restrictions.not_allowed.is_empty();
    (!nothing).then_some(restrictions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::common::{Area, Tac};

    #[test]
    fn allowed_and_non_allowed_areas_restrict_the_service() {
        let plmn = Plmn::new("001", "01").unwrap();
        let of = |restriction_type| ServiceAreaRestriction {
            restriction_type,
            areas: Some(vec![Area {
                tacs: Some(vec![Tac::from_u32(2), Tac::from_u32(3)]),
                area_code: None,
            }]),
            ..Default::default()
        };
        let without = |kind| {
            let restriction = of(kind);
            (1..=4)
                .filter(|tac| is_without_service(&restriction, Tai { plmn, tac: *tac }))
                .collect::<Vec<_>>()
        };
        assert_eq!(without(Some(RestrictionType::AllowedAreas)), [1, 4]);
        assert_eq!(without(Some(RestrictionType::NotAllowedAreas)), [2, 3]);
        assert_eq!(without(None), [] as [u32; 0]);
    }
}

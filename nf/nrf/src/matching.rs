//! Which instances meet a query (TS 29.510, table 6.2.3.2.3.1-1). What a profile does not mention it does not restrict.
use martlet_sbi_api::common::{Dnn, Snssai};
use martlet_sbi_api::nnrf_nfdiscovery::SearchQuery;
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfService};

/// Whether an instance meets every restriction of a query, and the consumer may use it.
pub fn fits(profile: &NfProfile, query: &SearchQuery) -> bool {
    meets(profile, query) && allowed(profile, query)
}

/// Whether an instance meets every restriction of a query, whoever asks.
pub fn meets(profile: &NfProfile, query: &SearchQuery) -> bool {
    query.target_nf_type.as_ref() == Some(&profile.nf_type)
        && query.target_nf_instance_id.as_ref().is_none_or(|id| *id == profile.nf_instance_id)
        && query.target_nf_fqdn.as_ref().is_none_or(|fqdn| profile.fqdn.as_ref() == Some(fqdn))
        && query.service_names.as_ref().is_none_or(|names| services(profile).any(|s| names.0.contains(&s.service_name)))
        && listed(&query.target_plmn_list.as_ref().map(|l| &l.0), &profile.plmn_list.as_ref())
        && query.snssais.as_ref().is_none_or(|slices| slices.0.iter().any(|slice| serves_slice(profile, slice)))
        && query.dnn.as_ref().is_none_or(|dnn| serves_dnn(profile, dnn, query.snssais.as_ref().map(|s| &s.0[..])))
        && fits_amf(profile, query)
        && serves_area(profile, query)
        && serves_subscriber(profile, query)
        && query.target_nf_set_id.as_ref().is_none_or(|set| profile.nf_set_id_list.iter().flatten().any(|s| s == set))
}

/// The profile with the services that were asked for.
pub fn as_shown(profile: &NfProfile, query: &SearchQuery) -> NfProfile {
    let mut shown = profile.clone();
    if let Some(names) = &query.service_names {
        let asked = |service: &NfService| names.0.contains(&service.service_name);
        shown.nf_service_list.iter_mut().for_each(|list| list.retain(|_, s| asked(s)));
        shown.nf_services.iter_mut().for_each(|list| list.retain(asked));
    }
    shown
}

fn services(profile: &NfProfile) -> impl Iterator<Item = &NfService> {
    profile.nf_service_list.iter().flat_map(|list| list.values()).chain(profile.nf_services.iter().flatten())
}

/// Whether one of those asked for is among those served, where both sides name any.
fn listed<T: PartialEq>(asked: &Option<&Vec<T>>, served: &Option<&Vec<T>>) -> bool {
    match (asked, served) {
        (Some(asked), Some(served)) => asked.iter().any(|one| served.contains(one)),
        _ => true,
    }
}

/// Whether the consumer may use the instance.
fn allowed(profile: &NfProfile, query: &SearchQuery) -> bool {
    let by_type = profile
        .allowed_nf_types
        .as_ref()
        .is_none_or(|types| query.requester_nf_type.as_ref().is_some_and(|requester| types.contains(requester)));
    // A consumer of no slice of its own, such as an AMF of all of them, is not kept from any (TS 33.518, 4.2.2.2.1).
    let by_slice = match (&query.requester_snssais, &profile.allowed_nssais) {
        (Some(asked), Some(allowed)) => asked.0.iter().any(|slice| allowed.iter().any(|one| one.covers(&slice.snssai))),
        _ => true,
    };
    by_type && by_slice && listed(&query.requester_plmn_list.as_ref().map(|l| &l.0), &profile.allowed_plmns.as_ref())
}

fn serves_slice(profile: &NfProfile, slice: &Snssai) -> bool {
    let per_plmn = || profile.per_plmn_snssai_list.iter().flatten().flat_map(|p| p.s_nssai_list.iter());
    match &profile.s_nssais {
        Some(list) => list.iter().any(|s| s.covers(slice)),
        None => profile.per_plmn_snssai_list.is_none() || per_plmn().any(|s| s.covers(slice)),
    }
}

fn serves_dnn(profile: &NfProfile, dnn: &Dnn, slices: Option<&[Snssai]>) -> bool {
    let of_slice = |snssai: &martlet_sbi_api::common::ExtSnssai| {
        slices.is_none_or(|slices| slices.iter().any(|slice| snssai.covers(slice)))
    };
    if let Some(smf) = &profile.smf_info {
        let items = smf.s_nssai_smf_info_list.iter().filter(|item| of_slice(&item.s_nssai));
        return items.flat_map(|item| &item.dnn_smf_info_list).any(|item| item.dnn == *dnn);
    }
    if let Some(upf) = &profile.upf_info {
        let items = upf.s_nssai_upf_info_list.iter().filter(|item| of_slice(&item.s_nssai));
        return items.flat_map(|item| &item.dnn_upf_info_list).any(|item| item.dnn == *dnn);
    }
    match profile.pcf_info.as_ref().and_then(|pcf| pcf.dnn_list.as_ref()) {
        Some(list) => list.contains(dnn),
        None => true,
    }
}

fn fits_amf(profile: &NfProfile, query: &SearchQuery) -> bool {
    let Some(amf) = &profile.amf_info else { return query.guami.is_none() };
    query.amf_region_id.as_ref().is_none_or(|region| amf.amf_region_id == *region)
        && query.amf_set_id.as_ref().is_none_or(|set| amf.amf_set_id == *set)
        && query.guami.as_ref().is_none_or(|guami| amf.guami_list.contains(&guami.0))
}

fn serves_area(profile: &NfProfile, query: &SearchQuery) -> bool {
    let Some(tai) = &query.tai else { return true };
    let lists = [
        profile.amf_info.as_ref().and_then(|info| info.tai_list.as_ref()),
        profile.smf_info.as_ref().and_then(|info| info.tai_list.as_ref()),
        profile.upf_info.as_ref().and_then(|info| info.tai_list.as_ref()),
    ];
    lists.into_iter().flatten().all(|list| list.contains(&tai.0))
}

fn serves_subscriber(profile: &NfProfile, query: &SearchQuery) -> bool {
    let routing = [
        profile.udm_info.as_ref().and_then(|info| info.routing_indicators.as_ref()),
        profile.ausf_info.as_ref().and_then(|info| info.routing_indicators.as_ref()),
    ];
    let by_routing = query
        .routing_indicator
        .as_ref()
        .is_none_or(|indicator| routing.into_iter().flatten().all(|list| list.contains(indicator)));
    let ranges = [
        profile.udm_info.as_ref().and_then(|info| info.supi_ranges.as_ref()),
        profile.ausf_info.as_ref().and_then(|info| info.supi_ranges.as_ref()),
        profile.udr_info.as_ref().and_then(|info| info.supi_ranges.as_ref()),
        profile.pcf_info.as_ref().and_then(|info| info.supi_ranges.as_ref()),
    ];
    by_routing
        && query.supi.as_ref().is_none_or(|supi| {
            let digits = supi.imsi().unwrap_or(supi);
            let within = |range: &martlet_sbi_api::nnrf_nfmanagement::SupiRange| match (&range.start, &range.end) {
                // Digits of one length compare as the numbers do.
                (Some(start), Some(end)) => {
                    digits.len() == start.len() && start.as_str() <= digits && digits <= end.as_str()
                }
                // A pattern that is not evaluated excludes nobody.
                _ => true,
            };
            ranges.into_iter().flatten().all(|list| list.iter().any(within))
        })
}

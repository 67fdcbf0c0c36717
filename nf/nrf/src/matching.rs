//! Which instances match a query (TS 29.510, table 6.2.3.2.3.1-1). An attribute that a profile
//! lacks does not restrict it.
use martlet_sbi_api::common::{AccessType, Dnn, PlmnId, Snssai, Tai};
use martlet_sbi_api::nnrf_nfdiscovery::SearchQuery;
use martlet_sbi_api::nnrf_nfmanagement::{
    IdentityRange, NfProfile, NfService, NfServiceStatus, SmfInfo, SupiRange, TacRange, TaiRange,
};

/// Whether an instance matches the query and the consumer is allowed to use it.
pub fn matches_and_allowed(profile: &NfProfile, query: &SearchQuery) -> bool {
    matches_query(profile, query)
        && allowed(profile, query)
        && offers(profile, query, |service| may_use(service, query))
}

/// Whether an instance matches the query, for any consumer.
pub fn matches_query(profile: &NfProfile, query: &SearchQuery) -> bool {
    query.target_nf_type.as_ref() == Some(&profile.nf_type)
        && query.target_nf_instance_id.as_ref().is_none_or(|id| *id == profile.nf_instance_id)
        && query.target_nf_fqdn.as_ref().is_none_or(|fqdn| profile.fqdn.as_ref() == Some(fqdn))
        && offers(profile, query, is_discoverable)
        && listed(&query.target_plmn_list.as_ref().map(|l| &l.0), &profile.plmn_list.as_ref())
        && listed(&query.nsi_list.as_ref().map(|l| &l.0), &profile.nsi_list.as_ref())
        && listed(&query.serving_scope.as_ref().map(|l| &l.0), &profile.serving_scope.as_ref())
        && query
            .snssais
            .as_ref()
            .is_none_or(|slices| slices.0.iter().any(|slice| serves_slice(profile, slice)))
        && query
            .dnn
            .as_ref()
            .is_none_or(|dnn| serves_dnn(profile, dnn, query.snssais.as_ref().map(|s| &s.0[..])))
        && matches_amf(profile, query)
        && serves_area(profile, query)
        && serves_access(profile, query)
        && serves_subscriber(profile, query)
        && holds_data(profile, query)
        && query
            .group_id_list
            .as_ref()
            .is_none_or(|groups| groups.0.iter().any(|group| is_in_group(profile, group)))
        && query
            .target_nf_set_id
            .as_ref()
            .is_none_or(|set| profile.nf_set_id_list.iter().flatten().any(|s| s == set))
}

/// Whether an instance is in an NF group (TS 29.510, 6.1.6 and 6.2.3.2.3.1).
pub fn is_in_group(profile: &NfProfile, group: &str) -> bool {
    let groups = [
        profile.udm_info.as_ref().and_then(|info| info.group_id.as_deref()),
        profile.ausf_info.as_ref().and_then(|info| info.group_id.as_deref()),
        profile.udr_info.as_ref().and_then(|info| info.group_id.as_deref()),
        profile.pcf_info.as_ref().and_then(|info| info.group_id.as_deref()),
    ];
    groups.into_iter().flatten().any(|of| of == group)
}

/// Whether a producer's profile and service allow a consumer, with its type, slices and networks.
/// What the service has prevails (TS 29.510, 6.1.6.2.3, NOTE 5).
pub fn allows(profile: &NfProfile, service: &NfService, consumer: &NfProfile) -> bool {
    let types = service.allowed_nf_types.as_ref().or(profile.allowed_nf_types.as_ref());
    let allowed = service.allowed_nssais.as_ref().or(profile.allowed_nssais.as_ref());
    // A consumer without slices of its own, such as an AMF, is not restricted.
    let by_slice = match (&consumer.s_nssais, allowed) {
        (Some(own), Some(allowed)) => own.iter().any(|slice| allowed.contains(slice)),
        _ => true,
    };
    let plmns = service.allowed_plmns.as_ref().or(profile.allowed_plmns.as_ref());
    types.is_none_or(|types| types.contains(&consumer.nf_type))
        && by_slice
        && allows_network(profile, plmns, consumer.plmn_list.as_ref())
}

/// Whether a consumer of one of these networks is allowed. The producer's own networks are, too,
/// although the list need not have them (TS 29.510, 6.1.6.2.2 and 6.1.6.2.3).
fn allows_network(
    profile: &NfProfile,
    allowed: Option<&Vec<PlmnId>>,
    consumer: Option<&Vec<PlmnId>>,
) -> bool {
    allowed.zip(consumer).is_none_or(|(allowed, consumer)| {
        let mut all = allowed.iter().chain(profile.plmn_list.iter().flatten());
        all.any(|plmn| consumer.contains(plmn))
    })
}

/// A profile without what only the NRF needs: the profile of TS 29.510, 6.2.6.2.3, and that of
/// notifications (6.1.6.2.17), have no `allowed…` attributes.
pub fn without_authorisation(mut profile: NfProfile) -> NfProfile {
    profile.allowed_plmns = None;
    profile.allowed_nf_types = None;
    profile.allowed_nf_domains = None;
    profile.allowed_nssais = None;
    let listed = profile.nf_service_list.iter_mut().flat_map(|list| list.values_mut());
    for service in listed.chain(profile.nf_services.iter_mut().flatten()) {
        service.allowed_plmns = None;
        service.allowed_nf_types = None;
        service.allowed_nf_domains = None;
        service.allowed_nssais = None;
        service.allowed_operations_per_nf_type = None;
    }
    profile
}

/// The profile as the consumer gets it: with the services that it asked for and may use.
pub fn as_result(profile: &NfProfile, query: &SearchQuery) -> NfProfile {
    let mut shown = profile.clone();
    shown.nf_service_list.iter_mut().for_each(|list| list.retain(|_, s| may_use(s, query)));
    shown.nf_services.iter_mut().for_each(|list| list.retain(|s| may_use(s, query)));
    let mut shown = without_authorisation(shown);
    if let Some(names) = &query.service_names {
        let asked = |service: &NfService| names.0.contains(&service.service_name);
        shown.nf_service_list.iter_mut().for_each(|list| list.retain(|_, s| asked(s)));
        shown.nf_services.iter_mut().for_each(|list| list.retain(asked));
    }
    // Only consumers that announce the feature get a map of services; others get an array (TS
    // 29.510, 6.2.9).
    let has_map = query
        .requester_features
        .as_deref()
        .is_some_and(|features| announces(features, SERVICE_MAP));
    if let (false, None, Some(map)) = (has_map, &shown.nf_services, &shown.nf_service_list) {
        shown.nf_services = Some(map.values().cloned().collect());
    }
    shown
}

/// The feature "Service-Map" (TS 29.510, table 6.2.9-1).
const SERVICE_MAP: usize = 6;

/// Whether a feature is set in a bit map of hexadecimal digits, whose last digit holds features 1
/// to 4 (TS 29.571, 5.2.2).
fn announces(features: &str, number: usize) -> bool {
    let digit = features.chars().rev().nth((number - 1) / 4).and_then(|digit| digit.to_digit(16));
    digit.is_some_and(|digit| digit >> ((number - 1) % 4) & 1 == 1)
}

/// Sets each service's `apiPrefix` to its absolute API root, for consumers that read only that
/// (`nrf.interop.absolute_prefixes`).
pub fn with_absolute_prefixes(profile: &mut NfProfile) {
    let of_profile =
        profile.ipv4_addresses.as_ref().and_then(|list| list.first()).map(|ip| ip.to_string());
    let host =
        of_profile.or_else(|| Some(format!("[{}]", profile.ipv6_addresses.as_ref()?.first()?)));
    let host = host.or_else(|| profile.fqdn.clone()).unwrap_or_default();
    let listed = profile.nf_service_list.iter_mut().flat_map(|list| list.values_mut());
    for service in listed.chain(profile.nf_services.iter_mut().flatten()) {
        let prefix = service.api_prefix.as_deref().unwrap_or_default();
        if prefix.contains("://") {
            continue;
        }
        let endpoint = service.ip_end_points.as_ref().and_then(|list| list.first());
        let ipv4 = endpoint.and_then(|it| it.ipv4_address).map(|ip| ip.to_string());
        let ipv6 = || Some(format!("[{}]", endpoint?.ipv6_address?));
        let host = ipv4.or_else(ipv6).unwrap_or_else(|| host.clone());
        let port =
            endpoint.and_then(|it| it.port).map(|port| format!(":{port}")).unwrap_or_default();
        let path = Some(prefix.trim_matches('/'))
            .filter(|path| !path.is_empty())
            .map(|path| format!("/{path}"));
        let root =
            format!("{}://{host}{port}{}", service.scheme.as_str(), path.unwrap_or_default());
        service.api_prefix = Some(root);
    }
}

fn services(profile: &NfProfile) -> impl Iterator<Item = &NfService> {
    profile
        .nf_service_list
        .iter()
        .flat_map(|list| list.values())
        .chain(profile.nf_services.iter().flatten())
}

/// Whether a service can be discovered (TS 29.510, 6.1.6.3).
fn is_discoverable(service: &NfService) -> bool {
    let status = &service.nf_service_status;
    !matches!(status, NfServiceStatus::Suspended | NfServiceStatus::Undiscoverable)
}

/// Whether the consumer may discover a service.
fn may_use(service: &NfService, query: &SearchQuery) -> bool {
    let types = service.allowed_nf_types.as_ref().zip(query.requester_nf_type.as_ref());
    is_discoverable(service) && types.is_none_or(|(types, requester)| types.contains(requester))
}

/// Whether one of the requested services, if any is requested, is such a one.
fn offers(profile: &NfProfile, query: &SearchQuery, is: impl Fn(&NfService) -> bool) -> bool {
    query.service_names.as_ref().is_none_or(|names| {
        services(profile).any(|service| names.0.contains(&service.service_name) && is(service))
    })
}

/// Whether a requested value is among the served ones. True if either side names none.
fn listed<T: PartialEq>(asked: &Option<&Vec<T>>, served: &Option<&Vec<T>>) -> bool {
    match (asked, served) {
        (Some(asked), Some(served)) => asked.iter().any(|one| served.contains(one)),
        _ => true,
    }
}

/// Whether the profile allows this consumer.
fn allowed(profile: &NfProfile, query: &SearchQuery) -> bool {
    let by_type = profile.allowed_nf_types.as_ref().is_none_or(|types| {
        query.requester_nf_type.as_ref().is_some_and(|requester| types.contains(requester))
    });
    // A consumer without slices of its own, such as an AMF, is not restricted (TS 33.518,
    // 4.2.2.2.1).
    let by_slice = match (&query.requester_snssais, &profile.allowed_nssais) {
        (Some(asked), Some(allowed)) => {
            asked.0.iter().any(|slice| allowed.iter().any(|one| one.covers(&slice.snssai)))
        }
        _ => true,
    };
    let networks = query.requester_plmn_list.as_ref().map(|list| &list.0);
    by_type && by_slice && allows_network(profile, profile.allowed_plmns.as_ref(), networks)
}

fn serves_slice(profile: &NfProfile, slice: &Snssai) -> bool {
    let per_plmn =
        || profile.per_plmn_snssai_list.iter().flatten().flat_map(|p| p.s_nssai_list.iter());
    match &profile.s_nssais {
        Some(list) => list.iter().any(|s| s.covers(slice)),
        None => profile.per_plmn_snssai_list.is_none() || per_plmn().any(|s| s.covers(slice)),
    }
}

fn serves_dnn(profile: &NfProfile, dnn: &Dnn, slices: Option<&[Snssai]>) -> bool {
    let of_slice = |snssai: &martlet_sbi_api::common::ExtSnssai| {
        slices.is_none_or(|slices| slices.iter().any(|slice| snssai.covers(slice)))
    };
    if smf_infos(profile).next().is_some() {
        let items = smf_infos(profile).flat_map(|smf| &smf.s_nssai_smf_info_list);
        let items = items.filter(|item| of_slice(&item.s_nssai));
        return items.flat_map(|item| &item.dnn_smf_info_list).any(|item| is_dnn(&item.dnn, dnn));
    }
    if let Some(upf) = &profile.upf_info {
        let items = upf.s_nssai_upf_info_list.iter().filter(|item| of_slice(&item.s_nssai));
        return items.flat_map(|item| &item.dnn_upf_info_list).any(|item| is_dnn(&item.dnn, dnn));
    }
    match profile.pcf_info.as_ref().and_then(|pcf| pcf.dnn_list.as_ref()) {
        Some(list) => list.iter().any(|served| is_dnn(served, dnn)),
        None => true,
    }
}

/// Whether a served data network is the requested one. Upper and lower case are the same (TS
/// 23.003, 9.1), and `*` stands for all (TS 29.510, 6.1.6.2.30).
fn is_dnn(served: &Dnn, asked: &Dnn) -> bool {
    served.as_str() == "*" || served.eq_ignore_ascii_case(asked)
}

fn matches_amf(profile: &NfProfile, query: &SearchQuery) -> bool {
    let Some(amf) = &profile.amf_info else { return query.guami.is_none() };
    query.amf_region_id.as_ref().is_none_or(|region| amf.amf_region_id == *region)
        && query.amf_set_id.as_ref().is_none_or(|set| amf.amf_set_id == *set)
        && query.guami.as_ref().is_none_or(|guami| amf.guami_list.contains(&guami.0))
}

/// What an SMF serves: it has one such element, or several.
fn smf_infos(profile: &NfProfile) -> impl Iterator<Item = &SmfInfo> {
    let listed = profile.smf_info_list.iter().flat_map(|list| list.values());
    profile.smf_info.iter().chain(listed)
}

fn serves_area(profile: &NfProfile, query: &SearchQuery) -> bool {
    let Some(tai) = &query.tai else { return true };
    let serves = |list: Option<&Vec<Tai>>, ranges: Option<&Vec<TaiRange>>| {
        let is_unrestricted = list.is_none() && ranges.is_none();
        is_unrestricted
            || list.is_some_and(|list| list.contains(&tai.0))
            || ranges.is_some_and(|ranges| ranges.iter().any(|range| includes(range, &tai.0)))
    };
    let of_smf = |info: &SmfInfo| serves(info.tai_list.as_ref(), info.tai_range_list.as_ref());
    let (amf, upf, lmf) = (&profile.amf_info, &profile.upf_info, &profile.lmf_info);
    amf.as_ref().is_none_or(|it| serves(it.tai_list.as_ref(), it.tai_range_list.as_ref()))
        && upf.as_ref().is_none_or(|it| serves(it.tai_list.as_ref(), None))
        && lmf.as_ref().is_none_or(|it| serves(it.tai_list.as_ref(), it.tai_range_list.as_ref()))
        && (smf_infos(profile).next().is_none() || smf_infos(profile).any(of_smf))
}

/// Whether an SMF or LMF serves the access, and whether it is the LMF that is sought.
fn serves_access(profile: &NfProfile, query: &SearchQuery) -> bool {
    let lmf = profile.lmf_info.as_ref();
    let id = lmf.and_then(|info| info.lmf_id.as_ref());
    let of_lmf = lmf.and_then(|info| info.serving_access_types.as_ref());
    let serves = |list: Option<&Vec<AccessType>>| {
        query.access_type.as_ref().zip(list).is_none_or(|(access, list)| list.contains(access))
    };
    let of_smf = |info: &SmfInfo| serves(info.access_type.as_ref());
    query.lmf_id.as_ref().zip(id).is_none_or(|(asked, id)| asked.0 == *id)
        && serves(of_lmf)
        && (smf_infos(profile).next().is_none() || smf_infos(profile).any(of_smf))
}

/// Whether a range has a tracking area.
fn includes(range: &TaiRange, tai: &Tai) -> bool {
    let lowercase = |text: &Option<String>| text.as_ref().map(|text| text.to_ascii_lowercase());
    let within = |tacs: &TacRange| {
        is_between(&tai.tac, lowercase(&tacs.start).as_deref(), lowercase(&tacs.end).as_deref())
    };
    range.plmn_id == tai.plmn_id && range.nid == tai.nid && range.tac_range_list.iter().any(within)
}

/// Whether digits are within a range. Patterns are not evaluated, so they exclude nothing.
fn is_between(digits: &str, first: Option<&str>, last: Option<&str>) -> bool {
    match (first, last) {
        // Strings of digits of equal length compare like numbers.
        (Some(first), Some(last)) => {
            digits.len() == first.len() && first <= digits && digits <= last
        }
        _ => true,
    }
}

/// Whether a UDR holds the data. `APPLICATION` and `POLICY` stand for their subsets, too.
fn holds_data(profile: &NfProfile, query: &SearchQuery) -> bool {
    let Some(asked) = query.data_set.as_ref().map(|set| set.as_str()) else { return true };
    let whole = match asked.split_once('_') {
        Some(("A", _)) => "APPLICATION",
        Some(("P", _)) => "POLICY",
        _ => asked,
    };
    let held = profile.udr_info.as_ref().and_then(|info| info.supported_data_sets.as_ref());
    held.is_none_or(|sets| sets.iter().any(|set| set.as_str() == asked || set.as_str() == whole))
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
    let gpsi_ranges = [
        profile.udm_info.as_ref().and_then(|info| info.gpsi_ranges.as_ref()),
        profile.udr_info.as_ref().and_then(|info| info.gpsi_ranges.as_ref()),
        profile.pcf_info.as_ref().and_then(|info| info.gpsi_ranges.as_ref()),
    ];
    let supi_ranges = [
        profile.udm_info.as_ref().and_then(|info| info.supi_ranges.as_ref()),
        profile.ausf_info.as_ref().and_then(|info| info.supi_ranges.as_ref()),
        profile.udr_info.as_ref().and_then(|info| info.supi_ranges.as_ref()),
        profile.pcf_info.as_ref().and_then(|info| info.supi_ranges.as_ref()),
    ];
    by_routing
        && query.supi.as_ref().is_none_or(|supi| {
            let digits = supi.imsi().unwrap_or(supi);
            let within = |range: &SupiRange| {
                is_between(digits, range.start.as_deref(), range.end.as_deref())
            };
            supi_ranges.into_iter().flatten().all(|list| list.iter().any(within))
        })
        && query.gpsi.as_ref().is_none_or(|gpsi| {
            let digits = gpsi.strip_prefix("msisdn-").unwrap_or(gpsi);
            let within = |range: &IdentityRange| {
                is_between(digits, range.start.as_deref(), range.end.as_deref())
            };
            gpsi_ranges.into_iter().flatten().all(|list| list.iter().any(within))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::nnrf_nfmanagement::NfType;
    use martlet_sbi_api::{Json, TextList};

    #[test]
    fn features_are_counted_from_the_right() {
        assert!(
            announces("20", SERVICE_MAP) && announces("172", SERVICE_MAP) && announces("f2", 8)
        );
        assert!(
            !announces("1f", SERVICE_MAP)
                && !announces("", SERVICE_MAP)
                && !announces("x0", SERVICE_MAP)
        );
    }

    #[test]
    fn a_data_network_is_served_in_upper_and_lower_case_and_by_the_wildcard() {
        let serves = |served: &str, asked: &str| {
            let profile = serde_json::json!({
                "nfInstanceId": "8f8a5d5e-3c9b-4c5e-9d8e-1f2a3b4c5d6e",
                "nfType": "SMF",
                "nfStatus": "REGISTERED",
                "smfInfo": {"sNssaiSmfInfoList": [
                    {"sNssai": {"sst": 1}, "dnnSmfInfoList": [{"dnn": served}]}
                ]}
            });
            let profile: NfProfile = serde_json::from_value(profile).unwrap();
            serves_dnn(&profile, &asked.parse().unwrap(), Some(&[Snssai::new(1, None)]))
        };
        assert!(serves("internet", "Internet") && serves("Internet", "internet"));
        assert!(serves("*", "ims") && !serves("internet", "ims"));
    }

    fn of_type(nf_type: &str, info: (&str, serde_json::Value)) -> NfProfile {
        let mut profile = serde_json::json!({
            "nfInstanceId": "8f8a5d5e-3c9b-4c5e-9d8e-1f2a3b4c5d6e",
            "nfType": nf_type,
            "nfStatus": "REGISTERED",
        });
        profile[info.0] = info.1;
        serde_json::from_value(profile).unwrap()
    }

    #[test]
    fn an_area_is_served_that_is_in_the_list_or_in_a_range() {
        let network = serde_json::json!({"mcc": "001", "mnc": "01"});
        let tai = |mnc: &str, tac: &str| -> Tai {
            let plmn = serde_json::json!({"mcc": "001", "mnc": mnc});
            serde_json::from_value(serde_json::json!({"plmnId": plmn, "tac": tac})).unwrap()
        };
        let list = serde_json::json!([{"plmnId": network, "tac": "000001"}]);
        let tacs = serde_json::json!([{"start": "0000A0", "end": "0000BF"}]);
        let ranges = serde_json::json!([{"plmnId": network, "tacRangeList": tacs}]);
        let serves = |lists: &[(&str, &serde_json::Value)], mnc: &str, tac: &str| {
            let mut info = serde_json::json!({"sNssaiSmfInfoList": []});
            for (name, list) in lists {
                info[*name] = (*list).clone();
            }
            let profile = of_type("SMF", ("smfInfo", info));
            let query = SearchQuery { tai: Some(Json(tai(mnc, tac))), ..Default::default() };
            serves_area(&profile, &query)
        };
        let both = [("taiList", &list), ("taiRangeList", &ranges)];
        assert!(serves(&both, "01", "000001") && serves(&both, "01", "0000af"));
        assert!(!serves(&both, "01", "0000c0") && !serves(&both, "02", "0000af"));
        assert!(!serves(&both[..1], "01", "0000af") && !serves(&both[1..], "01", "000001"));
        assert!(serves(&[], "02", "0000c0"));
    }

    #[test]
    fn a_service_is_found_while_it_is_registered_and_by_those_that_may_use_it() {
        let udm = |status: &str| {
            let service = serde_json::json!({
                "serviceInstanceId": "1", "serviceName": "nudm-sdm", "versions": [],
                "scheme": "http", "nfServiceStatus": status, "allowedNfTypes": ["AMF"],
            });
            of_type("UDM", ("nfServices", serde_json::json!([service])))
        };
        let query = |requester: &str| SearchQuery {
            target_nf_type: Some(NfType::Udm),
            requester_nf_type: Some(requester.into()),
            service_names: Some(TextList(vec!["nudm-sdm".into()])),
            ..Default::default()
        };
        for (status, requester, exists, is_allowed) in [
            ("REGISTERED", "AMF", true, true),
            ("REGISTERED", "AF", true, false),
            ("SUSPENDED", "AMF", false, false),
            ("UNDISCOVERABLE", "AMF", false, false),
        ] {
            let (profile, query) = (udm(status), query(requester));
            assert_eq!(matches_query(&profile, &query), exists, "{status}");
            assert_eq!(matches_and_allowed(&profile, &query), is_allowed, "{status} {requester}");
            let shown = as_result(&profile, &query).nf_services.unwrap_or_default();
            assert_eq!(shown.len(), usize::from(is_allowed), "{status} {requester}");
        }
    }

    #[test]
    fn consumers_of_other_networks_need_to_be_allowed() {
        let plmn = |mnc: &str| serde_json::json!({"mcc": "001", "mnc": mnc});
        let mut udm = serde_json::to_value(of_type("UDM", ("udmInfo", serde_json::json!({}))));
        let udm = udm.as_mut().unwrap();
        udm["plmnList"] = serde_json::json!([plmn("01")]);
        udm["allowedPlmns"] = serde_json::json!([plmn("02")]);
        let service = |allowed: serde_json::Value| -> NfService {
            serde_json::from_value(serde_json::json!({
                "serviceInstanceId": "1", "serviceName": "nudm-sdm", "versions": [],
                "scheme": "http", "nfServiceStatus": "REGISTERED", "allowedPlmns": allowed,
            }))
            .unwrap()
        };
        let udm: NfProfile = serde_json::from_value(udm.clone()).unwrap();
        let of_profile = service(serde_json::Value::Null);
        let of_service = service(serde_json::json!([plmn("03")]));
        for (mnc, by_profile, by_service) in
            [("01", true, true), ("02", true, false), ("03", false, true), ("04", false, false)]
        {
            let amf = of_type("AMF", ("plmnList", serde_json::json!([plmn(mnc)])));
            assert_eq!(allows(&udm, &of_profile, &amf), by_profile, "{mnc}");
            assert_eq!(allows(&udm, &of_service, &amf), by_service, "{mnc}");
            let query = SearchQuery {
                target_nf_type: Some(NfType::Udm),
                requester_nf_type: Some(NfType::Amf),
                requester_plmn_list: amf.plmn_list.map(Json),
                ..Default::default()
            };
            assert_eq!(matches_and_allowed(&udm, &query), by_profile, "{mnc}");
        }
        let unknown = of_type("AMF", ("locality", "a".into()));
        assert!(allows(&udm, &of_service, &unknown), "a consumer without networks");
    }

    #[test]
    fn an_smf_is_found_by_each_of_its_lists() {
        let of = |dnn: &str, tac: &str| {
            let tai = serde_json::json!({"plmnId": {"mcc": "001", "mnc": "01"}, "tac": tac});
            let dnns = serde_json::json!([{"dnn": dnn}]);
            serde_json::json!({
                "sNssaiSmfInfoList": [{"sNssai": {"sst": 1}, "dnnSmfInfoList": dnns}],
                "taiList": [tai], "accessType": ["3GPP_ACCESS"],
            })
        };
        let list = serde_json::json!({"a": of("internet", "000001"), "b": of("ims", "000002")});
        let profile = of_type("SMF", ("smfInfoList", list));
        let finds = |dnn: &str, tac: &str, access: &str| {
            let tai = serde_json::json!({"plmnId": {"mcc": "001", "mnc": "01"}, "tac": tac});
            let query = SearchQuery {
                target_nf_type: Some(NfType::Smf),
                dnn: Some(dnn.parse().unwrap()),
                tai: Some(Json(serde_json::from_value(tai).unwrap())),
                access_type: Some(access.parse().unwrap()),
                ..Default::default()
            };
            matches_query(&profile, &query)
        };
        assert!(
            finds("internet", "000001", "3GPP_ACCESS") && finds("ims", "000002", "3GPP_ACCESS")
        );
        assert!(!finds("other", "000001", "3GPP_ACCESS"));
        assert!(!finds("internet", "000003", "3GPP_ACCESS"));
        assert!(!finds("internet", "000001", "NON_3GPP_ACCESS"));
    }

    #[test]
    fn an_lmf_is_found_by_its_identity_and_its_area() {
        let tai =
            |tac: &str| serde_json::json!({"plmnId": {"mcc": "001", "mnc": "01"}, "tac": tac});
        let info = serde_json::json!({"lmfId": "one", "taiList": [tai("000001")]});
        let profile = of_type("LMF", ("lmfInfo", info));
        let finds = |id: &str, tac: &str| {
            let query = SearchQuery {
                target_nf_type: Some(NfType::Lmf),
                lmf_id: Some(Json(id.into())),
                tai: Some(Json(serde_json::from_value(tai(tac)).unwrap())),
                ..Default::default()
            };
            matches_query(&profile, &query)
        };
        assert!(finds("one", "000001") && !finds("two", "000001") && !finds("one", "000002"));
    }

    #[test]
    fn a_udr_is_found_by_its_data_its_group_and_its_subscribers() {
        let udr = |info| of_type("UDR", ("udrInfo", info));
        let policy = udr(serde_json::json!({
            "groupId": "one", "supportedDataSets": ["POLICY", "A_PFD"],
            "gpsiRanges": [{"start": "4900", "end": "4999"}],
        }));
        let any = udr(serde_json::json!({}));
        let finds = |profile: &NfProfile, query: SearchQuery| {
            let target_nf_type = Some(NfType::Udr);
            matches_query(profile, &SearchQuery { target_nf_type, ..query })
        };
        let data = |set: &str| SearchQuery { data_set: Some(set.into()), ..Default::default() };
        for (set, is_held) in [("POLICY", true), ("P_UE", true), ("A_PFD", true), ("A_BDT", false)]
        {
            assert_eq!(finds(&policy, data(set)), is_held, "{set}");
        }
        assert!(!finds(&policy, data("APPLICATION")) && finds(&any, data("APPLICATION")));
        let groups = |ids: &[&str]| {
            let ids = ids.iter().map(|id| id.to_string()).collect();
            SearchQuery { group_id_list: Some(TextList(ids)), ..Default::default() }
        };
        assert!(finds(&policy, groups(&["two", "one"])) && !finds(&policy, groups(&["two"])));
        assert!(!finds(&any, groups(&["one"])));
        let gpsi =
            |text: &str| SearchQuery { gpsi: Some(text.parse().unwrap()), ..Default::default() };
        assert!(finds(&policy, gpsi("msisdn-4915")) && !finds(&policy, gpsi("msisdn-5000")));
        assert!(!finds(&policy, gpsi("extid-a@b.example")) && finds(&any, gpsi("msisdn-5000")));
    }

    #[test]
    fn an_absolute_prefix_is_the_root_of_a_service() {
        let service = |more: &str| {
            format!(
                r#"{{"serviceInstanceId": "1", "serviceName": "nudm-sdm",
                "versions": [], "scheme": "http",
                    "nfServiceStatus": "REGISTERED" {more}}}"#
            )
        };
        let services = [
            service(r#", "ipEndPoints": [{"ipv4Address": "127.0.0.12", "port": 7777}]"#),
            service(r#", "apiPrefix": "/a/""#),
            service(r#", "apiPrefix": "http://other:1""#),
        ];
        let mut profile: NfProfile = serde_json::from_str(&format!(
            r#"{{"nfInstanceId": "8f8a5d5e-3c9b-4c5e-9d8e-1f2a3b4c5d6e", "nfType": "UDM",
            "nfStatus": "REGISTERED",
                "ipv4Addresses": ["127.0.0.9"], "nfServices": [{}]}}"#,
            services.join(",")
        ))
        .unwrap();
        with_absolute_prefixes(&mut profile);
        let prefixes: Vec<_> = profile
            .nf_services
            .unwrap()
            .into_iter()
            .map(|service| service.api_prefix.unwrap())
            .collect();
        assert_eq!(prefixes, ["http://127.0.0.12:7777", "http://127.0.0.9/a", "http://other:1"]);
    }
}

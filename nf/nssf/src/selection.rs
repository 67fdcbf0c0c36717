//! Nnssf_NSSelection_Get: slice selection (TS 23.501, 5.15.5.2; TS 29.531, 5.2.2.2).
use crate::InstanceConfig;
use martlet_sbi::{ApiRoot, Problem};
use martlet_sbi_api::common::{AccessType, Snssai};
use martlet_sbi_api::nnssf_ns_selection::{
    AllowedNssai, AllowedSnssai, AuthorizedNetworkSliceInfo, ConfiguredSnssai, NsiInformation,
    SliceInfoForPduSession, SliceInfoForRegistration,
};

/// Maximum number of slices in an Allowed NSSAI (TS 24.501, 9.11.3.37).
const MAX_ALLOWED: usize = 8;

/// For a registration: the requested slices that are subscribed and available in the tracking area,
/// else the default subscribed ones (TS 29.531, 5.2.2.2.2).
pub fn for_registration(
    request: &SliceInfoForRegistration,
    supported: &[Snssai],
    network: &[Snssai],
) -> Result<AuthorizedNetworkSliceInfo, Problem> {
    let subscribed = request.subscribed_nssai.as_deref().unwrap_or_default();
    let is_subscribed = |slice: &Snssai| subscribed.iter().any(|s| s.subscribed_snssai == *slice);
    let defaults = || {
        subscribed
            .iter()
            .filter(|s| s.default_indication == Some(true))
            .map(|s| s.subscribed_snssai)
    };
    let requested = request.requested_nssai.clone().unwrap_or_default();
    let (mut allowed, mut not_in_plmn, mut not_in_ta) = (Vec::new(), Vec::new(), Vec::new());
    for slice in &requested {
        if !is_subscribed(slice) || !network.contains(slice) {
            not_in_plmn.push(*slice);
        } else if !supported.contains(slice) {
            not_in_ta.push(*slice);
        } else if !allowed.contains(slice) {
            allowed.push(*slice);
        }
    }
    if allowed.is_empty() {
        allowed = defaults().filter(|slice| supported.contains(slice)).collect();
    }
    if allowed.is_empty() {
        return Err(Problem::new(403, "SNSSAI_NOT_SUPPORTED")
            .detail("no subscribed slice is available in the UE's tracking area"));
    }
    allowed.truncate(MAX_ALLOWED);
    let configured: Vec<_> = subscribed
        .iter()
        .map(|s| s.subscribed_snssai)
        .filter(|s| network.contains(s))
        .map(ConfiguredSnssai::new)
        .collect();
    let some = |list: Vec<Snssai>| (!list.is_empty()).then_some(list);
    let allowed = AllowedNssai {
        allowed_snssai_list: allowed.into_iter().map(AllowedSnssai::new).collect(),
        access_type: AccessType::ThreeGppAccess,
    };
    Ok(AuthorizedNetworkSliceInfo {
        allowed_nssai_list: Some(vec![allowed]),
        configured_nssai: (!configured.is_empty()).then_some(configured),
        rejected_nssai_in_plmn: some(not_in_plmn),
        rejected_nssai_in_ta: some(not_in_ta),
        ..Default::default()
    })
}

/// For a PDU session: the NRF and the instance of its slice (TS 29.531, 5.2.2.2.3). `nrf` is that
/// of slices without an instance, and of instances without one of their own.
pub fn for_session(
    request: &SliceInfoForPduSession,
    supported: &[Snssai],
    instances: &[InstanceConfig],
    nrf: &ApiRoot,
) -> Result<AuthorizedNetworkSliceInfo, Problem> {
    if !supported.contains(&request.s_nssai) {
        let detail =
            format!("slice {} is not available in the UE's tracking area", request.s_nssai);
        return Err(Problem::new(403, "SNSSAI_NOT_SUPPORTED").detail(detail));
    }
    let instance = instances.iter().find(|instance| instance.slice == request.s_nssai);
    let other_nrf = instance.and_then(|instance| instance.nrf.clone());
    let root = other_nrf.unwrap_or_else(|| nrf.to_string());
    // The NRF of a slice without an instance, too: the AMFs of Open5GS and OAI reject a session
    // without it, and the identity is optional (TS 23.502, 4.3.2.2.3.2).
    let nsi_information = NsiInformation {
        nrf_id: format!("{root}/nnrf-disc/v1/nf-instances"),
        nsi_id: instance.map(|instance| instance.nsi.clone()),
        nrf_nf_mgt_uri: Some(format!("{root}/nnrf-nfm/v1/nf-instances")),
    };
    Ok(AuthorizedNetworkSliceInfo { nsi_information: Some(nsi_information), ..Default::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::nnssf_ns_selection::{RoamingIndication, SubscribedSnssai};

    fn slice(sst: u8) -> Snssai {
        Snssai::new(sst, None)
    }

    fn select(requested: &[u8], supported: &[u8]) -> Result<(Vec<u8>, usize, usize), Problem> {
        let subscribed = |sst: u8, default| SubscribedSnssai {
            subscribed_snssai: slice(sst),
            default_indication: Some(default),
        };
        let request = SliceInfoForRegistration {
            subscribed_nssai: Some(vec![subscribed(1, true), subscribed(2, false)]),
            requested_nssai: Some(requested.iter().map(|s| slice(*s)).collect()),
            ..Default::default()
        };
        let supported: Vec<_> = supported.iter().map(|s| slice(*s)).collect();
        let info = for_registration(&request, &supported, &[slice(1), slice(2), slice(3)])?;
        let allowed = &info.allowed_nssai_list.unwrap()[0].allowed_snssai_list;
        let count = |list: Option<Vec<Snssai>>| list.map_or(0, |l| l.len());
        let allowed = allowed.iter().map(|a| a.allowed_snssai.sst).collect();
        Ok((allowed, count(info.rejected_nssai_in_plmn), count(info.rejected_nssai_in_ta)))
    }

    #[test]
    fn requested_slices_are_allowed_if_subscribed_and_available() {
        assert_eq!(select(&[2], &[1, 2]).unwrap(), (vec![2], 0, 0));
        assert_eq!(select(&[1, 3], &[1, 2]).unwrap(), (vec![1], 1, 0));
        assert_eq!(select(&[2], &[1]).unwrap(), (vec![1], 0, 1));
        assert_eq!(select(&[], &[1, 2]).unwrap(), (vec![1], 0, 0));
        assert_eq!(select(&[3], &[3]).unwrap_err().cause(), "SNSSAI_NOT_SUPPORTED");
    }

    #[test]
    fn a_session_gets_the_nrf_and_the_instance_of_its_slice() {
        let instances = [InstanceConfig { slice: slice(2), nsi: "second".into(), nrf: None }];
        let nrf = ApiRoot::http("127.0.0.10:7777");
        let select = |sst| {
            let request = SliceInfoForPduSession::new(slice(sst), RoamingIndication::NonRoaming);
            for_session(&request, &[slice(1), slice(2)], &instances, &nrf)
        };
        for (sst, nsi) in [(1, None), (2, Some("second"))] {
            let instance = select(sst).unwrap().nsi_information.unwrap();
            assert_eq!(instance.nsi_id.as_deref(), nsi);
            assert_eq!(instance.nrf_id, "http://127.0.0.10:7777/nnrf-disc/v1/nf-instances");
        }
        assert_eq!(select(3).unwrap_err().cause(), "SNSSAI_NOT_SUPPORTED");
    }
}

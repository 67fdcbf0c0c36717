//! Network slice selection with the NSSF (TS 23.501, 5.15.5.2.1; TS 23.502, 4.2.2.2.2 and
//! 4.2.2.2.3).
//!
//! ```text
//! AMF -> NSSF  Nnssf_NSSelection_Get
//! ```
//!
//! An answer that names no other AMF set holds for `amf.timers.nssf_answer_s`: meanwhile the AMF
//! determines the allowed NSSAI of further UEs by it (TS 23.501, 5.15.5.2.1).
use crate::nssf_answers::Question;
use crate::served::{ServedGuami, Tai, slice_from_sbi, slice_to_sbi};
use crate::ue::{Reject, Stop, Ue};
use martlet_nas::identifiers::Slice;
use martlet_nas::{GmmCause, NasRejectedNssai, RejectedNssaiCause};
use martlet_sbi::Problem;
use martlet_sbi_api::Json;
use martlet_sbi_api::common::Snssai;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nnssf_ns_selection::{
    AuthorizedNetworkSliceInfo, NsSelectionQuery, SliceInfoForRegistration, SubscribedSnssai,
};
use std::time::Instant;

/// The slices of a registration.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Selected {
    /// At most 8 (TS 24.501, 9.11.3.37).
    pub allowed: Vec<Slice>,
    /// Requested, and not allowed, with the cause.
    pub rejected: Vec<(Slice, RejectedNssaiCause)>,
    /// Configured NSSAI, sent if a requested slice is rejected or none was requested.
    pub configured: Vec<Slice>,
    /// The UE keeps its slices, and those that were rejected before.
    pub is_unchanged: bool,
}

impl Selected {
    /// Whether other tracking areas may have a rejected slice.
    pub fn is_limited_by_area(&self) -> bool {
        let cause = RejectedNssaiCause::NotAvailableInRegistrationArea;
        self.rejected.iter().any(|(_, rejected)| *rejected == cause)
    }
}

/// Subscribed slices, default ones first.
struct Subscribed {
    default: Vec<Slice>,
    all: Vec<Slice>,
}

/// Selects the slices, or rejects the UE if none is left. With `may_reroute`, `Stop::Reroute` names
/// the AMF set that the NSSF selects.
pub(crate) async fn run(
    ue: &mut Ue,
    requested: Option<Vec<Slice>>,
    may_reroute: bool,
) -> Result<Selected, Stop> {
    let Some(connection) = &ue.connection else { return Err(Stop::ConnectionLost) };
    let tai = connection.location.tai;
    let subscribed = subscribed(ue);
    let (network, here) = (of_network(ue), available(ue));

    let chosen = choose(ue, tai, &subscribed, requested.as_deref(), may_reroute).await?;
    let selected = select(chosen, &subscribed, requested.as_deref(), &network, &here);
    if selected.allowed.is_empty() {
        let slices = selected.rejected;
        return Err(Stop::Reject(Reject { slices, ..GmmCause::NoNetworkSlicesAvailable.into() }));
    }
    ue.registration.allowed = selected.allowed.clone();
    Ok(selected)
}

/// The slices that a UE has and keeps: those that are still subscribed and available. `None` if
/// none is left.
pub(crate) fn unchanged(ue: &mut Ue) -> Option<Selected> {
    let supported = available(ue);
    let mut allowed = still_allowed(ue);
    allowed.retain(|slice| supported.contains(slice));
    if allowed.is_empty() {
        return None;
    }
    ue.registration.allowed = allowed.clone();
    Some(Selected { allowed, is_unchanged: true, ..Selected::default() })
}

/// The slices that the NSSF allows, by an earlier answer if one holds.
async fn choose(
    ue: &Ue,
    tai: Tai,
    subscribed: &Subscribed,
    requested: Option<&[Slice]>,
    may_reroute: bool,
) -> Result<Vec<Slice>, Stop> {
    let question = Question {
        tai,
        default: subscribed.default.clone(),
        all: subscribed.all.clone(),
        requested: requested.map(<[_]>::to_vec),
    };
    if let Some(allowed) = ue.amf.nssf_answers.get(&question, Instant::now()) {
        return Ok(allowed);
    }
    match ask(ue, subscribed, requested).await {
        Ok(info) => {
            let own = ue.amf.served.guami(tai.plmn).map(ServedGuami::amf_set);
            let named = info
                .target_amf_set
                .as_ref()
                .filter(|set| own.is_none_or(|own| !own.eq_ignore_ascii_case(set)));
            let allowed = from_nssf(&info);
            match named {
                Some(set) if may_reroute => return Err(Stop::Reroute(set.clone())),
                Some(_) => {}
                None => {
                    let lifetime = ue.amf.config.timers.nssf_answer();
                    let now = Instant::now();
                    ue.amf.nssf_answers.put(question, allowed.clone(), now, lifetime);
                }
            }
            Ok(allowed)
        }
        Err(problem) if problem.status() == 403 => {
            if let Some(suppressed) = martlet_log_limit::line("no_slice", ue.label()) {
                tracing::info!(
                    supi = ue.label(), gnb = ue.gnb(), %problem, suppressed,
                    "no slice allowed by the NSSF"
                );
            }
            Ok(Vec::new())
        }
        Err(problem) => {
            // The AMF may select itself (TS 23.501, 5.15.5.2.1).
            tracing::warn!(
                supi = ue.label(), gnb = ue.gnb(), %problem,
                "NSSF request failed; slices selected by the subscription"
            );
            Ok(own_choice(subscribed, requested))
        }
    }
}

/// The slices that the AMF supports in the UE's PLMN.
fn of_network(ue: &Ue) -> Vec<Slice> {
    let Some(connection) = &ue.connection else { return Vec::new() };
    let served = ue.amf.served.plmn(connection.location.tai.plmn);
    served.map(|served| served.slices.clone()).unwrap_or_default()
}

/// The slices that AMF and gNB support in the UE's tracking area.
fn available(ue: &Ue) -> Vec<Slice> {
    let Some(connection) = &ue.connection else { return Vec::new() };
    let tai = connection.location.tai;
    let of_gnb = connection.gnb.setup();
    let of_gnb: Vec<_> =
        of_gnb.iter().flat_map(|setup| &setup.areas).filter(|area| area.tai == tai).collect();
    let is_there = |slice: &Slice| of_gnb.iter().any(|area| area.slices.contains(slice));
    of_network(ue).into_iter().filter(is_there).collect()
}

/// The configured NSSAI by the current subscription.
pub(crate) fn configured(ue: &Ue) -> Vec<Slice> {
    configured_of(&subscribed(ue), &of_network(ue))
}

/// The subscribed slices of the PLMN, at most 16 (TS 24.501, 9.11.3.37). The UE requests no others,
/// so those that its tracking area does not have are among them (TS 23.501, 5.15.4.1.1).
fn configured_of(subscribed: &Subscribed, network: &[Slice]) -> Vec<Slice> {
    subscribed.all.iter().copied().filter(|slice| network.contains(slice)).take(16).collect()
}

/// The allowed slices that are still subscribed.
pub(crate) fn still_allowed(ue: &Ue) -> Vec<Slice> {
    let subscribed = subscribed(ue).all;
    ue.registration.allowed.iter().copied().filter(|slice| subscribed.contains(slice)).collect()
}

fn subscribed(ue: &Ue) -> Subscribed {
    let nssai = ue
        .registration
        .subscription
        .as_ref()
        .and_then(|subscription| subscription.access.nssai.as_ref());
    let list = |list: &[Snssai]| list.iter().map(slice_from_sbi).collect::<Vec<_>>();
    let default = nssai.map(|nssai| list(&nssai.default_single_nssais)).unwrap_or_default();
    let others =
        nssai.and_then(|nssai| nssai.single_nssais.as_deref()).map(list).unwrap_or_default();
    let mut all = default.clone();
    all.extend(others.into_iter().filter(|slice| !default.contains(slice)));
    Subscribed { default, all }
}

/// Nnssf_NSSelection_Get for a registration.
async fn ask(
    ue: &Ue,
    subscribed: &Subscribed,
    requested: Option<&[Slice]>,
) -> Result<AuthorizedNetworkSliceInfo, Problem> {
    let of_subscription = subscribed.all.iter().map(|slice| {
        let mut entry = SubscribedSnssai::new(slice_to_sbi(*slice));
        entry.default_indication = Some(subscribed.default.contains(slice));
        entry
    });
    let info = SliceInfoForRegistration {
        subscribed_nssai: Some(of_subscription.collect()),
        requested_nssai: requested
            .map(|list| list.iter().map(|slice| slice_to_sbi(*slice)).collect()),
        ..Default::default()
    };
    let query = NsSelectionQuery {
        nf_type: Some(NfType::Amf),
        nf_id: Some(ue.amf.instance_id.clone()),
        slice_info_request_for_registration: Some(Json(info)),
        tai: ue.connection.as_ref().map(|connection| connection.location.tai.to_sbi().into()),
        ..Default::default()
    };
    ue.amf.nssf(&ue.label()).await?.ns_selection_get(query).await
}

fn from_nssf(info: &AuthorizedNetworkSliceInfo) -> Vec<Slice> {
    let allowed =
        info.allowed_nssai_list.iter().flatten().flat_map(|list| &list.allowed_snssai_list);
    allowed.map(|allowed| slice_from_sbi(&allowed.allowed_snssai)).collect()
}

fn own_choice(subscribed: &Subscribed, requested: Option<&[Slice]>) -> Vec<Slice> {
    let asked = requested.unwrap_or_default();
    let chosen: Vec<_> =
        asked.iter().copied().filter(|slice| subscribed.all.contains(slice)).collect();
    if chosen.is_empty() { subscribed.default.clone() } else { chosen }
}

/// Restricts the selection to the slices that are supported here, and derives rejected and
/// configured ones by those of the network.
fn select(
    chosen: Vec<Slice>,
    subscribed: &Subscribed,
    requested: Option<&[Slice]>,
    network: &[Slice],
    here: &[Slice],
) -> Selected {
    let allowed: Vec<_> = chosen.into_iter().filter(|slice| here.contains(slice)).take(8).collect();
    let asked = requested.unwrap_or_default();
    let rejected = asked.iter().copied().filter(|slice| !allowed.contains(slice)).take(8);
    let rejected: Vec<_> = rejected
        .map(|slice| match subscribed.all.contains(&slice) && network.contains(&slice) {
            true => (slice, RejectedNssaiCause::NotAvailableInRegistrationArea),
            false => (slice, RejectedNssaiCause::NotAvailableInPlmnOrSnpn),
        })
        .collect();
    let configured = match requested.is_none() || !rejected.is_empty() {
        true => configured_of(subscribed, network),
        false => Vec::new(),
    };
    Selected { allowed, rejected, configured, is_unchanged: false }
}

/// The rejected NSSAI of these slices (TS 24.501, 9.11.3.46).
pub(crate) fn rejected_nssai(slices: &[(Slice, RejectedNssaiCause)]) -> Option<NasRejectedNssai> {
    let elements: Vec<_> =
        slices.iter().take(8).map(|(slice, cause)| (*cause, slice.to_nas())).collect();
    let entries: Vec<_> = elements.iter().map(|(cause, slice)| (*cause, slice)).collect();
    if entries.is_empty() { None } else { NasRejectedNssai::from_entries(&entries).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(of: &[u8]) -> Vec<Slice> {
        of.iter().map(|sst| Slice::of_type(*sst)).collect()
    }

    #[test]
    fn unsupported_slices_are_rejected() {
        let subscribed = Subscribed { default: slices(&[1]), all: slices(&[1, 2, 3, 4]) };
        let (network, here) = (slices(&[1, 2, 3]), slices(&[1, 2]));
        let select = |chosen: &[u8], requested: &[u8]| {
            select(slices(chosen), &subscribed, Some(&slices(requested)), &network, &here)
        };
        let selected = select(&[2, 3], &[2, 3, 4, 9]);
        assert_eq!(selected.allowed, slices(&[2]));
        let causes = selected.rejected.iter().map(|(slice, cause)| (slice.sst, *cause as u8));
        assert_eq!(causes.collect::<Vec<_>>(), [(3, 1), (4, 0), (9, 0)]);
        assert!(selected.is_limited_by_area());
        // The UE requests slice 3 where it is available.
        assert_eq!(selected.configured, slices(&[1, 2, 3]));
        let selected = select(&[1], &[1]);
        assert_eq!(selected, Selected { allowed: slices(&[1]), ..Default::default() });
        assert!(!select(&[1], &[1, 9]).is_limited_by_area());
    }

    #[test]
    fn the_subscription_decides_without_an_nssf() {
        let subscribed = Subscribed { default: slices(&[1]), all: slices(&[1, 2]) };
        assert_eq!(own_choice(&subscribed, Some(&slices(&[2, 9]))), slices(&[2]));
        assert_eq!(own_choice(&subscribed, Some(&slices(&[9]))), slices(&[1]));
        assert_eq!(own_choice(&subscribed, None), slices(&[1]));
    }

    #[test]
    fn a_rejected_nssai_is_encoded_with_its_cause() {
        use RejectedNssaiCause::{NotAvailableInPlmnOrSnpn, NotAvailableInRegistrationArea};
        let (there, nowhere) = (Slice { sst: 2, sd: Some([0, 0, 7]) }, Slice::of_type(9));
        let all = [(nowhere, NotAvailableInPlmnOrSnpn), (there, NotAvailableInRegistrationArea)];
        let rejected = rejected_nssai(&all).unwrap();
        assert_eq!(hex::encode(&rejected.value), "10094102000007");
        assert!(rejected_nssai(&[]).is_none());
    }
}

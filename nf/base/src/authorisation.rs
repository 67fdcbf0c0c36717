//! The consumers that may use each service of Martlet's functions (TS 33.501, 13.4.1.1.2). Each
//! function lists them in its NF profile, and the NRF issues tokens accordingly.
//!
//! A row names the consumers that a service really has. A service that holds keys has scopes for
//! groups of its operations, too (TS 29.505, 5; TS 29.519, 5).
use http::Method;
use martlet_sbi::{Problem, UserGuard};
use martlet_sbi_api::nmartlet_status::NMARTLET_STATUS;
use martlet_sbi_api::nnrf_nfmanagement::{NfService, NfType};
use std::sync::Arc;

/// Reads K and OPc: `QueryAuthSubsData` and the results of authentications.
const READ_KEYS: &str = "nudr-dr:subscription-data:authentication-subscription:read";
/// Changes the sequence number, and stores results of authentications.
const MODIFY_KEYS: &str = "nudr-dr:subscription-data:authentication-subscription:modify";
/// Subscription data without keys, and contexts.
const SUBSCRIPTION_DATA: &str = "nudr-dr:subscription-data";
/// Policy data.
const POLICY_DATA: &str = "nudr-dr:policy-data";
/// Application data.
const APPLICATION_DATA: &str = "nudr-dr:application-data";

/// The functions that ask others for their status: those of Martlet.
const STATUS_CONSUMERS: &[NfType] = &[
    NfType::Amf,
    NfType::Smf,
    NfType::Ausf,
    NfType::Udm,
    NfType::Udr,
    NfType::Pcf,
    NfType::Nssf,
    NfType::Chf,
    NfType::Lmf,
    NfType::Nrf,
];

/// Whether a function may ask others for their status. No profile lists that service, since each
/// function of Martlet has it, and NRFs of others may not know its name.
pub fn may_read_status(consumer: &NfType) -> bool {
    STATUS_CONSUMERS.contains(consumer)
}

/// The consumers of a service. `None` for a service without a row.
fn consumers(service: &str) -> Option<&'static [NfType]> {
    Some(match service {
        "nudr-dr" => &[NfType::Udm, NfType::Pcf, NfType::Nef],
        "nudm-sdm" => &[NfType::Amf, NfType::Smf],
        "nudm-uecm" => &[NfType::Amf, NfType::Smf, NfType::Lmf],
        "nudm-ueau" => &[NfType::Ausf],
        "nausf-auth" => &[NfType::Amf],
        "namf-comm" => &[NfType::Amf, NfType::Smf, NfType::Lmf, NfType::Pcf],
        "namf-loc" => &[NfType::Lmf, NfType::Gmlc],
        "namf-evts" => &[NfType::Nef, NfType::Udm, NfType::Gmlc, NfType::Nwdaf],
        "nsmf-pdusession" => &[NfType::Amf, NfType::Smf],
        "npcf-am-policy-control" => &[NfType::Amf],
        "npcf-smpolicycontrol" => &[NfType::Smf],
        "nchf-convergedcharging" => &[NfType::Smf],
        "nnssf-nsselection" => &[NfType::Amf],
        "nlmf-loc" => &[NfType::Amf],
        _ => return None,
    })
}

/// The scopes of each consumer of a service whose operations are restricted.
fn scopes(service: &str) -> &'static [(NfType, &'static [&'static str])] {
    match service {
        "nudr-dr" => &[
            (NfType::Udm, &[SUBSCRIPTION_DATA, READ_KEYS, MODIFY_KEYS]),
            (NfType::Pcf, &[POLICY_DATA, APPLICATION_DATA]),
            (NfType::Nef, &[APPLICATION_DATA]),
        ],
        _ => &[],
    }
}

/// Sets who may use a service, and with which scopes if it requires tokens. Open5GS's NRF, which
/// issues none, ends when a profile has scopes: its list of them takes no entry.
pub(crate) fn restrict(service: &mut NfService) {
    let name = service.service_name.as_str().to_string();
    service.allowed_nf_types = consumers(&name).map(<[_]>::to_vec);
    if service.oauth2_required != Some(true) {
        return;
    }
    let by_type = scopes(&name).iter().map(|(nf_type, scopes)| {
        let scopes = scopes.iter().map(|scope| scope.to_string()).collect();
        (nf_type.as_str().to_string(), scopes)
    });
    service.allowed_operations_per_nf_type =
        Some(by_type.collect()).filter(|map: &std::collections::BTreeMap<_, _>| !map.is_empty());
}

/// The NF types whose functions send a request, by their certificates: notifications, which need no
/// token, and operations of a service that not all of its consumers use. `None`: each consumer of
/// the service.
pub(crate) fn senders(method: &Method, path: &str) -> Option<&'static [NfType]> {
    let mut segments = path.trim_start_matches('/').split('/');
    let service = segments.next().unwrap_or_default();
    let mut segments = segments.skip(1);
    let kind = segments.next().unwrap_or_default();
    let (_, last) = (segments.next(), segments.next().unwrap_or_default());
    let further = segments.next().unwrap_or_default();
    let changes = *method != Method::GET;
    Some(match (service, kind) {
        ("namf-callback", "sm-context-status") => &[NfType::Smf],
        ("namf-callback", "n2-notify" | "n1-message-notify") => &[NfType::Amf],
        ("namf-callback" | "nsmf-callback", "am-policy" | "sm-policy") => &[NfType::Pcf],
        ("namf-callback" | "nsmf-callback", "deregistration" | "sdm-change") => &[NfType::Udm],
        ("nsmf-callback", "n1-n2-transfer-failure") => &[NfType::Amf],
        ("nsmf-callback", "charging") => &[NfType::Chf],
        ("nlmf-callback" | "namf-status-callback" | "namf-evts-callback", _) => &[NfType::Amf],
        ("nudr-data-callback" | "nudr-policy-callback", _) => &[NfType::Udr],
        ("nnrf-nfstatus-callback", _) => &[NfType::Nrf],
        (service, _) if service.ends_with("-callback") => &[],
        (NMARTLET_STATUS::API, _) => STATUS_CONSUMERS,
        // A UE context moves between AMFs (TS 29.518, 5.2.2.2).
        ("namf-comm", "ue-contexts") if last.is_empty() && changes => &[NfType::Amf],
        ("namf-comm", "ue-contexts")
            if matches!(last, "release" | "transfer" | "transfer-update" | "relocate") =>
        {
            &[NfType::Amf]
        }
        // The messages of a UE and of gNBs that are forwarded are those of positioning.
        ("namf-comm", "ue-contexts") if (last, further) == ("n1-n2-messages", "subscriptions") => {
            &[NfType::Lmf]
        }
        ("namf-comm", "non-ue-n2-messages") => &[NfType::Lmf],
        // Other SMFs retrieve a context, and neither create nor change one (TS 29.502, 5.2.2.6).
        ("nsmf-pdusession", "sm-contexts") if last != "retrieve" => &[NfType::Amf],
        // Who serves the UE, and who its session (TS 29.503, 5.3.2.2).
        ("nudm-uecm", _) if changes => match path.contains("/smf-registrations/") {
            true => &[NfType::Smf],
            false => &[NfType::Amf],
        },
        _ => return None,
    })
}

/// The scope that an operation needs beside its service's name.
pub(crate) fn required_scope(method: &Method, path: &str) -> Option<&'static str> {
    let mut segments = path.trim_start_matches('/').split('/');
    if segments.next() != Some("nudr-dr") {
        return None;
    }
    let mut segments = segments.skip(1);
    let (data, _, kind) = (segments.next(), segments.next(), segments.next());
    Some(match (data, kind) {
        (Some("policy-data"), _) => POLICY_DATA,
        (Some("application-data"), _) => APPLICATION_DATA,
        (Some("subscription-data"), Some("authentication-data")) if *method == Method::GET => {
            READ_KEYS
        }
        (Some("subscription-data"), Some("authentication-data")) => MODIFY_KEYS,
        _ => SUBSCRIPTION_DATA,
    })
}

/// Whether an operation reads or changes what authenticates a subscriber: K, OPc, sequence numbers
/// and results of authentications.
fn is_of_keys(method: &Method, path: &str) -> bool {
    matches!(required_scope(method, path), Some(READ_KEYS | MODIFY_KEYS))
}

/// Keeps keys of subscribers from functions that need none, by their users: over unix sockets and
/// the fabric, requests have no token. `None` without such users. The user of this process is none
/// of them: all functions may share it.
pub fn key_guard(mut users: Vec<u32>) -> Option<UserGuard> {
    let own = nix::unistd::geteuid().as_raw();
    users.retain(|user| *user != own);
    if users.is_empty() {
        return None;
    }
    let check = move |method: &Method, path: &str, user: u32| {
        if !users.contains(&user) || !is_of_keys(method, path) {
            return Ok(());
        }
        if let Some(suppressed) = martlet_log_limit::line("keys", user) {
            tracing::warn!(user, suppressed, "request for keys of subscribers refused");
        }
        let detail = format!("the function of user {user} needs no keys of subscribers");
        Err(Problem::new(403, "REQUEST_NOT_ALLOWED").detail(detail))
    };
    Some(UserGuard(Arc::new(check)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_notification_has_a_sender() {
        use martlet_sbi_api::{
            namf_callback, namf_communication, namf_event_exposure, nlmf_callback,
            nnrf_nfstatus_callback, nsmf_callback, nudr_callback,
        };
        let all = [
            namf_callback::NAMF_CALLBACK::OPERATIONS,
            namf_communication::NAMF_STATUS_CALLBACK::OPERATIONS,
            namf_event_exposure::NAMF_EVTS_CALLBACK::OPERATIONS,
            nlmf_callback::NLMF_CALLBACK::OPERATIONS,
            nnrf_nfstatus_callback::NNRF_NFSTATUS_CALLBACK::OPERATIONS,
            nsmf_callback::NSMF_CALLBACK::OPERATIONS,
            nudr_callback::NUDR_DATA_CALLBACK::OPERATIONS,
            nudr_callback::NUDR_POLICY_CALLBACK::OPERATIONS,
        ];
        for operation in all.into_iter().flatten() {
            let path = format!("/{}/v1{}", operation.api, operation.path);
            let senders = senders(&operation.method, &path);
            assert!(senders.is_some_and(|senders| !senders.is_empty()), "{path}");
        }
        let of = |method: Method, path: &str| senders(&method, path);
        assert_eq!(of(Method::POST, "/new-callback/v1/x"), Some(&[][..]), "an unknown one");
        let context = "/namf-comm/v1/ue-contexts/imsi-1";
        for (method, path) in [
            (Method::PUT, context.to_string()),
            (Method::POST, format!("{context}/transfer")),
            (Method::POST, format!("{context}/transfer-update")),
            (Method::PUT, "/nudm-uecm/v1/imsi-1/registrations/amf-3gpp-access".into()),
        ] {
            assert_eq!(of(method, &path), Some(&[NfType::Amf][..]), "{path}");
        }
        let status = of(Method::GET, "/nmartlet-status/v1/status").unwrap_or_default();
        assert!(status.contains(&NfType::Lmf) && !status.contains(&NfType::Nef), "{status:?}");
        let session = "/nudm-uecm/v1/imsi-1/registrations/smf-registrations/1";
        assert_eq!(of(Method::PUT, session), Some(&[NfType::Smf][..]));
        let contexts = "/nsmf-pdusession/v1/sm-contexts";
        for path in [contexts.to_string(), format!("{contexts}/7/modify")] {
            assert_eq!(of(Method::POST, &path), Some(&[NfType::Amf][..]), "{path}");
        }
        for (method, path) in [
            (Method::POST, format!("{context}/n1-n2-messages/subscriptions")),
            (Method::DELETE, format!("{context}/n1-n2-messages/subscriptions/1")),
            (Method::POST, "/namf-comm/v1/non-ue-n2-messages/transfer".into()),
            (Method::POST, "/namf-comm/v1/non-ue-n2-messages/subscriptions".into()),
        ] {
            assert_eq!(of(method, &path), Some(&[NfType::Lmf][..]), "{path}");
        }
        for path in [
            format!("{context}/n1-n2-messages"),
            format!("{contexts}/7/retrieve"),
            "/nudm-sdm/v2/imsi-1/am-data".into(),
        ] {
            assert_eq!(of(Method::POST, &path), None, "{path}");
        }
    }

    #[test]
    fn scopes_are_named_where_tokens_are_required() {
        use martlet_sbi_api::common::UriScheme;
        use martlet_sbi_api::nnrf_nfmanagement::{NfServiceStatus, ServiceName};
        let restricted = |oauth2_required| {
            let (name, status) = (ServiceName::from("nudr-dr"), NfServiceStatus::Registered);
            let mut service =
                NfService::new("nudr-dr".into(), name, Vec::new(), UriScheme::Http, status);
            service.oauth2_required = oauth2_required;
            restrict(&mut service);
            assert_eq!(service.allowed_nf_types.as_deref(), consumers("nudr-dr"));
            service.allowed_operations_per_nf_type
        };
        assert_eq!(restricted(None), None);
        let scopes = restricted(Some(true)).unwrap_or_default();
        assert_eq!(scopes.keys().collect::<Vec<_>>(), ["NEF", "PCF", "UDM"]);
    }

    #[test]
    fn keys_need_a_scope_that_only_the_udm_has() {
        let keys =
            "/nudr-dr/v2/subscription-data/imsi-1/authentication-data/authentication-subscription";
        assert_eq!(required_scope(&Method::GET, keys), Some(READ_KEYS));
        assert_eq!(required_scope(&Method::PATCH, keys), Some(MODIFY_KEYS));
        assert!(is_of_keys(&Method::GET, keys) && is_of_keys(&Method::PATCH, keys));
        let policy = "/nudr-dr/v2/policy-data/ues/imsi-1/am-data";
        assert_eq!(required_scope(&Method::GET, policy), Some(POLICY_DATA));
        assert!(!is_of_keys(&Method::GET, policy) && !is_of_keys(&Method::GET, "/nudm-sdm/v2/x"));
        let influence = "/nudr-dr/v2/application-data/influenceData";
        assert_eq!(required_scope(&Method::GET, influence), Some(APPLICATION_DATA));
        let other = "/nudr-dr/v2/subscription-data/imsi-1/context-data/amf-3gpp-access";
        assert_eq!(required_scope(&Method::PUT, other), Some(SUBSCRIPTION_DATA));
        assert_eq!(required_scope(&Method::GET, "/nudm-sdm/v2/imsi-1/am-data"), None);
        let guard = key_guard(vec![60_909]).unwrap();
        let is_allowed = |path: &str, user| (guard.0)(&Method::GET, path, user).is_ok();
        assert!(!is_allowed(keys, 60_909) && is_allowed(keys, 60_902));
        assert!(is_allowed(policy, 60_909) && key_guard(Vec::new()).is_none());
        assert!(key_guard(vec![nix::unistd::geteuid().as_raw()]).is_none());
        for (nf_type, scopes) in scopes("nudr-dr") {
            let has_keys = scopes.contains(&READ_KEYS) || scopes.contains(&MODIFY_KEYS);
            assert_eq!(has_keys, *nf_type == NfType::Udm);
        }
    }
}

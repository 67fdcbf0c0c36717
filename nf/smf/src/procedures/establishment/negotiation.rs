//! Selection of session type and SSC mode from what UE, subscription and data network support (TS
//! 23.501, 5.6.9.3 and 5.8.2.2.1; TS 24.501, 6.4.1.3).
use martlet_nas::{GsmCause, NasPduSessionEstablishmentRequest, PduSessionTypeValue, SscModeValue};
use martlet_sbi_api::common::{PduSessionType, SscMode};
use martlet_sbi_api::nudm_sdm::DnnConfiguration;

/// The session type that the UE requests.
pub fn requested_type(message: &NasPduSessionEstablishmentRequest) -> Option<PduSessionTypeValue> {
    message.pdu_session_type.as_ref().and_then(|kind| kind.session_type())
}

/// What a data network supports.
#[derive(Debug, Clone, Copy, Default)]
pub struct DnnCapabilities {
    pub ipv4: bool,
    pub ipv6: bool,
    pub ethernet: bool,
    pub unstructured: bool,
}

/// Selects the session type. The 5GSM cause says why it has fewer IP versions than requested.
///
/// # Errors
/// No requested type is supported.
pub fn select_type(
    requested: Option<PduSessionTypeValue>,
    dnn: DnnCapabilities,
    subscription: &DnnConfiguration,
) -> Result<(PduSessionType, Option<GsmCause>), GsmCause> {
    let types = &subscription.pdu_session_types;
    let allowed: Vec<&PduSessionType> = types
        .default_session_type
        .iter()
        .chain(types.allowed_session_types.iter().flatten())
        .collect();
    let both = allowed.contains(&&PduSessionType::Ipv4v6);
    let ipv4 = dnn.ipv4 && (both || allowed.contains(&&PduSessionType::Ipv4));
    let ipv6 = dnn.ipv6 && (both || allowed.contains(&&PduSessionType::Ipv6));
    let ethernet = dnn.ethernet && allowed.contains(&&PduSessionType::Ethernet);
    let unstructured = dnn.unstructured && allowed.contains(&&PduSessionType::Unstructured);
    use PduSessionTypeValue as Asked;
    let requested = requested.unwrap_or(match &types.default_session_type {
        Some(PduSessionType::Ipv6) => Asked::Ipv6,
        Some(PduSessionType::Ipv4v6) => Asked::Ipv4v6,
        Some(PduSessionType::Ethernet) => Asked::Ethernet,
        Some(PduSessionType::Unstructured) => Asked::Unstructured,
        _ => Asked::Ipv4,
    });
    match (requested, ipv4, ipv6) {
        (Asked::Ethernet, ..) if ethernet => Ok((PduSessionType::Ethernet, None)),
        (Asked::Unstructured, ..) if unstructured => Ok((PduSessionType::Unstructured, None)),
        (Asked::Ipv4, true, _) => Ok((PduSessionType::Ipv4, None)),
        (Asked::Ipv6, _, true) => Ok((PduSessionType::Ipv6, None)),
        (Asked::Ipv4, false, true) => Err(GsmCause::PduSessionTypeIpv6OnlyAllowed),
        (Asked::Ipv6, true, false) => Err(GsmCause::PduSessionTypeIpv4OnlyAllowed),
        (Asked::Ipv4v6, true, true) if both => Ok((PduSessionType::Ipv4v6, None)),
        (Asked::Ipv4v6, true, false) => {
            Ok((PduSessionType::Ipv4, Some(GsmCause::PduSessionTypeIpv4OnlyAllowed)))
        }
        (Asked::Ipv4v6, false, true) => {
            Ok((PduSessionType::Ipv6, Some(GsmCause::PduSessionTypeIpv6OnlyAllowed)))
        }
        // Single versions only: the UE may establish another session for the other version.
        (Asked::Ipv4v6, true, true) => Ok((PduSessionType::Ipv4, None)),
        (_, false, false) if ethernet && !unstructured => {
            Err(GsmCause::PduSessionTypeEthernetOnlyAllowed)
        }
        (_, false, false) if unstructured && !ethernet => {
            Err(GsmCause::PduSessionTypeUnstructuredOnlyAllowed)
        }
        _ => Err(GsmCause::UnknownPduSessionType),
    }
}

/// Selects the SSC mode: the requested one, else the subscription's default (TS 23.501, 5.6.9.3).
///
/// # Errors
/// The mode is not subscribed, or not possible with this session type.
pub fn select_ssc_mode(
    requested: Option<SscModeValue>,
    kind: &PduSessionType,
    subscription: &DnnConfiguration,
) -> Result<u8, GsmCause> {
    let mode = match requested {
        None => number(&subscription.ssc_modes.default_ssc_mode),
        Some(requested) => requested as u8,
    };
    let allowed = allowed_ssc_modes(kind, subscription);
    match (1..=3).zip(allowed).any(|(number, is_allowed)| is_allowed && number == mode) {
        true => Ok(mode),
        false => Err(GsmCause::NotSupportedSscMode),
    }
}

/// Whether a session of this type may have SSC mode 1, 2 and 3.
pub fn allowed_ssc_modes(kind: &PduSessionType, subscription: &DnnConfiguration) -> [bool; 3] {
    let modes = &subscription.ssc_modes;
    let is_subscribed = |mode: u8| {
        let mut subscribed =
            modes.allowed_ssc_modes.iter().flatten().chain([&modes.default_ssc_mode]);
        subscribed.any(|subscribed| number(subscribed) == mode)
    };
    // Mode 3 is for IP sessions only (5.6.9.2.3).
    let is_ip = !matches!(kind, PduSessionType::Ethernet | PduSessionType::Unstructured);
    [is_subscribed(1), is_subscribed(2), is_subscribed(3) && is_ip]
}

fn number(mode: &SscMode) -> u8 {
    match mode {
        SscMode::SscMode2 => 2,
        SscMode::SscMode3 => 3,
        _ => 1,
    }
}

/// Framed routes of the subscription (TS 23.501, 5.6.14).
pub fn framed_routes(subscription: &DnnConfiguration) -> Vec<String> {
    let ipv4 = subscription
        .ipv4_frame_route_list
        .iter()
        .flatten()
        .filter_map(|route| route.ipv4_mask.clone());
    let ipv6 = subscription
        .ipv6_frame_route_list
        .iter()
        .flatten()
        .filter_map(|route| route.ipv6_prefix.clone());
    ipv4.chain(ipv6).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::nudm_sdm::{PduSessionTypes, SscModes};

    #[test]
    fn the_session_type_is_supported_by_ue_network_and_subscription() {
        use GsmCause as Cause;
        use PduSessionType as Type;
        use PduSessionTypeValue as Asked;
        let choose = |asked, families, allowed: &[Type]| {
            let types = PduSessionTypes {
                default_session_type: allowed.first().cloned(),
                allowed_session_types: Some(allowed[1..].to_vec()),
            };
            select_type(
                asked,
                families,
                &DnnConfiguration::new(types, SscModes::new(SscMode::SscMode1)),
            )
        };
        let ipv4 = DnnCapabilities { ipv4: true, ..DnnCapabilities::default() };
        let ipv6 = DnnCapabilities { ipv6: true, ..DnnCapabilities::default() };
        let both = DnnCapabilities { ipv6: true, ..ipv4 };
        let ethernet = DnnCapabilities { ethernet: true, ..DnnCapabilities::default() };
        let ipv4_only = Some(Cause::PduSessionTypeIpv4OnlyAllowed);
        assert_eq!(choose(Some(Asked::Ipv4v6), both, &[Type::Ipv4v6]), Ok((Type::Ipv4v6, None)));
        assert_eq!(choose(Some(Asked::Ipv4v6), both, &[Type::Ipv4]), Ok((Type::Ipv4, ipv4_only)));
        assert_eq!(choose(Some(Asked::Ipv4v6), ipv4, &[Type::Ipv4v6]), Ok((Type::Ipv4, ipv4_only)));
        assert_eq!(
            choose(Some(Asked::Ipv4v6), both, &[Type::Ipv4, Type::Ipv6]),
            Ok((Type::Ipv4, None))
        );
        assert_eq!(
            choose(Some(Asked::Ipv6), both, &[Type::Ipv4]),
            Err(Cause::PduSessionTypeIpv4OnlyAllowed)
        );
        assert_eq!(
            choose(Some(Asked::Ipv4), ipv6, &[Type::Ipv4v6]),
            Err(Cause::PduSessionTypeIpv6OnlyAllowed)
        );
        assert_eq!(choose(None, both, &[Type::Ipv6]), Ok((Type::Ipv6, None)));
        assert_eq!(choose(None, both, &[Type::Ipv4v6]), Ok((Type::Ipv4v6, None)));
        assert_eq!(
            choose(Some(Asked::Ethernet), both, &[Type::Ipv4]),
            Err(Cause::UnknownPduSessionType)
        );
        assert_eq!(
            choose(Some(Asked::Ipv4), both, &[Type::Ethernet]),
            Err(Cause::UnknownPduSessionType)
        );
        assert_eq!(
            choose(Some(Asked::Ethernet), ethernet, &[Type::Ipv4, Type::Ethernet]),
            Ok((Type::Ethernet, None))
        );
        assert_eq!(choose(None, ethernet, &[Type::Ethernet]), Ok((Type::Ethernet, None)));
        let only = Cause::PduSessionTypeEthernetOnlyAllowed;
        assert_eq!(choose(Some(Asked::Ipv4), ethernet, &[Type::Ipv4, Type::Ethernet]), Err(only));
        let any = DnnCapabilities { unstructured: true, ..both };
        assert_eq!(
            choose(Some(Asked::Unstructured), any, &[Type::Unstructured]),
            Ok((Type::Unstructured, None))
        );
        assert_eq!(
            choose(Some(Asked::Unstructured), both, &[Type::Unstructured]),
            Err(Cause::UnknownPduSessionType)
        );
    }

    #[test]
    fn the_ssc_mode_is_the_requested_one_if_subscribed() {
        let types = PduSessionTypes {
            default_session_type: Some(PduSessionType::Ipv4),
            allowed_session_types: None,
        };
        let mut modes = SscModes::new(SscMode::SscMode2);
        modes.allowed_ssc_modes = Some(vec![SscMode::SscMode3]);
        let subscription = DnnConfiguration::new(types, modes);
        let choose = |asked, kind| select_ssc_mode(asked, &kind, &subscription);
        assert_eq!(choose(None, PduSessionType::Ipv4), Ok(2));
        assert_eq!(choose(Some(SscModeValue::Ssc3), PduSessionType::Ipv4), Ok(3));
        assert_eq!(
            choose(Some(SscModeValue::Ssc1), PduSessionType::Ipv4),
            Err(GsmCause::NotSupportedSscMode)
        );
        assert_eq!(
            choose(Some(SscModeValue::Ssc3), PduSessionType::Ethernet),
            Err(GsmCause::NotSupportedSscMode)
        );
        let allowed = |kind| allowed_ssc_modes(&kind, &subscription);
        assert_eq!(allowed(PduSessionType::Ipv4), [false, true, true]);
        assert_eq!(allowed(PduSessionType::Ethernet), [false, true, false]);
    }
}

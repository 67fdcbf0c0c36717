//! 5GSM messages of the SMF (TS 24.501, 6 and 8.3).
use crate::addresses::Addresses;
use crate::qos_flows::{Flow, Rule};
use martlet_nas::options::Given;
use martlet_nas::*;
use martlet_sbi_api::common::{Ambr, PduSessionType, Snssai};

/// Why a message cannot be encoded.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct EncodeError(String);

impl EncodeError {
    fn new(error: impl std::fmt::Display) -> Self {
        EncodeError(error.to_string())
    }
}

/// A 5GSM message of the UE.
#[derive(Debug)]
pub struct Received {
    /// PDU session identity.
    pub id: u8,
    /// Procedure transaction identity: 0 if unassigned, 255 if reserved.
    pub pti: u8,
    pub message: Nas5gsmMessage,
}

/// Reads a 5GSM message of the UE. A reserved PTI is no error here, since requests with one are
/// rejected with #81 (TS 24.501, 7.3.1).
///
/// # Errors
/// The error of the NAS decoder, or that the message belongs to another protocol.
pub fn decode(bytes: &[u8]) -> Result<Received, NasError> {
    const PTI: usize = 2;
    const RESERVED: u8 = 255;
    let sent = bytes.get(PTI).copied().unwrap_or_default();
    let decoded = if sent == RESERVED {
        // The decoder refuses this PTI in every message.
        let mut unassigned = bytes.to_vec();
        unassigned[PTI] = 0;
        Nas5gsMessage::decode(&unassigned)?
    } else {
        Nas5gsMessage::decode(bytes)?
    };
    match decoded {
        Nas5gsMessage::Gsm(header, message) => {
            Ok(Received { id: header.pdu_session_identity, pti: sent, message })
        }
        _ => Err(NasError::DecodingError("this is no 5GSM message".into())),
    }
}

/// Content of a PDU SESSION ESTABLISHMENT ACCEPT.
pub struct Accept<'a> {
    pub id: u8,
    pub pti: u8,
    pub kind: &'a PduSessionType,
    /// SSC mode, 1 to 3.
    pub ssc_mode: u8,
    pub addresses: Addresses,
    /// Interface identifier of the UE's link-local IPv6 address.
    pub interface: u64,
    pub slice: &'a Snssai,
    pub dnn: &'a str,
    pub five_qi: u8,
    pub qfi: u8,
    pub ambr: &'a Ambr,
    /// Protocol configuration options.
    pub options: Given,
    pub flows: &'a [Flow],
    pub always_on: bool,
    /// Why the session has fewer IP versions than requested (TS 24.501, 6.4.1.3).
    pub cause: Option<GsmCause>,
}

/// PDU SESSION ESTABLISHMENT ACCEPT; `None`, with a log line, if it cannot be encoded.
pub fn accept(accepted: Accept<'_>) -> Option<Vec<u8>> {
    let build = || -> Result<Vec<u8>, EncodeError> {
        let (downlink, uplink) = (accepted.ambr.downlink.bps(), accepted.ambr.uplink.bps());
        let slice = identifiers::Slice::from_parts(
            accepted.slice.sst,
            accepted.slice.sd.map(|sd| sd.to_string()).as_deref(),
        );
        let mut message = NasPduSessionEstablishmentAccept::new(
            NasPduSessionType::from_session_type(match accepted.kind {
                PduSessionType::Ipv6 => PduSessionTypeValue::Ipv6,
                PduSessionType::Ipv4v6 => PduSessionTypeValue::Ipv4v6,
                PduSessionType::Ethernet => PduSessionTypeValue::Ethernet,
                PduSessionType::Unstructured => PduSessionTypeValue::Unstructured,
                _ => PduSessionTypeValue::Ipv4,
            }),
            NasSscMode::from_mode(match accepted.ssc_mode {
                2 => SscModeValue::Ssc2,
                3 => SscModeValue::Ssc3,
                _ => SscModeValue::Ssc1,
            }),
            rules(accepted.qfi, accepted.flows).map_err(EncodeError::new)?,
            qos::session_ambr(downlink, uplink).map_err(EncodeError::new)?,
        )
        .with_s_nssai(slice.map_err(EncodeError::new)?.to_nas())
        .with_authorized_qos_flow_descriptions(
            descriptions((accepted.qfi, accepted.five_qi), accepted.flows)
                .map_err(EncodeError::new)?,
        )
        .with_dnn(NasDnn::from_string(accepted.dnn).map_err(EncodeError::new)?);
        if !matches!(accepted.kind, PduSessionType::Ethernet | PduSessionType::Unstructured) {
            message = message.with_pdu_address(address(&accepted));
        }
        if let Some(cause) = accepted.cause {
            message = message.with_fgsm_cause(NasFGsmCause::from_cause(cause));
        }
        if accepted.always_on {
            message = message.with_always_on_pdu_session_indication(
                NasAlwaysOnPduSessionIndication::from_apsi(true),
            );
        }
        if !accepted.options.is_empty() {
            let options = accepted.options.write().map_err(EncodeError::new)?;
            message = message.with_extended_protocol_configuration_options(options);
        }
        Nas5gsMessage::new_5gsm(message, accepted.id, accepted.pti)
            .encode()
            .map_err(EncodeError::new)
    };
    build()
        .inspect_err(
            |error| tracing::error!(%error, "PDU SESSION ESTABLISHMENT ACCEPT not encoded"),
        )
        .ok()
}

/// PDU address (TS 24.501, 9.11.4.10).
fn address(accepted: &Accept<'_>) -> NasPduAddress {
    let (ipv4, interface) = (accepted.addresses.ipv4, accepted.interface.to_be_bytes());
    match (ipv4, accepted.addresses.prefix) {
        (Some(ipv4), None) => NasPduAddress::from_ipv4(ipv4.octets()),
        (None, _) => NasPduAddress::new([&[2][..], &interface].concat()),
        (Some(ipv4), Some(_)) => {
            NasPduAddress::new([&[3][..], &interface, &ipv4.octets()].concat())
        }
    }
}

fn nas_rule(rule: &Rule, qfi: u8, code: QosRuleOpCode) -> QosRule {
    let filters =
        rule.filters.iter().enumerate().map(|(n, filter)| filter.to_nas(n as u8 + 1)).collect();
    QosRule::new(rule.id, code)
        .with_packet_filters(filters)
        .with_precedence(rule.precedence)
        .with_qfi(qfi)
}

/// The default QoS rule and those of further flows.
fn rules(qfi: u8, flows: &[Flow]) -> Result<NasQosRules, ValueError> {
    if flows.is_empty() {
        return qos::default_rule(1, qfi);
    }
    let mut all = qos::default_rule(1, qfi)?.rules();
    let further = flows.iter().flat_map(|flow| {
        flow.rules.iter().map(|rule| nas_rule(rule, flow.qfi, QosRuleOpCode::Create))
    });
    all.extend(further);
    NasQosRules::from_rules(&all)
}

fn description(flow: &Flow, code: QosFlowOpCode) -> Result<QosFlowDescription, ValueError> {
    let mut parameters = vec![QosFlowParameter::FiveQi(flow.five_qi)];
    let rate = |bps: u64| QosFlowBitRate::from_kbps(qos::representable(bps / 1000));
    if let Some(rates) = flow.guaranteed {
        parameters.push(QosFlowParameter::GfbrUl(rate(rates.uplink)?));
        parameters.push(QosFlowParameter::GfbrDl(rate(rates.downlink)?));
    }
    if let Some(rates) = flow.maximum.or(flow.guaranteed).filter(|_| flow.guaranteed.is_some()) {
        parameters.push(QosFlowParameter::MfbrUl(rate(rates.uplink)?));
        parameters.push(QosFlowParameter::MfbrDl(rate(rates.downlink)?));
    }
    Ok(QosFlowDescription::new(flow.qfi, code, true, parameters))
}

fn descriptions(default: (u8, u8), flows: &[Flow]) -> Result<NasQosFlowDescriptions, ValueError> {
    let (qfi, five_qi) = default;
    let first = QosFlowDescription::new(
        qfi,
        QosFlowOpCode::Create,
        true,
        vec![QosFlowParameter::FiveQi(five_qi)],
    );
    let further = flows.iter().map(|flow| description(flow, QosFlowOpCode::Create));
    let all = std::iter::once(Ok(first)).chain(further).collect::<Result<Vec<_>, _>>()?;
    NasQosFlowDescriptions::from_descriptions(&all)
}

/// Content of a PDU SESSION MODIFICATION COMMAND.
pub struct Modification<'a> {
    pub id: u8,
    pub pti: u8,
    pub ambr: Option<&'a Ambr>,
    /// A new 5QI of the default flow, with its QFI.
    pub default: Option<(u8, u8)>,
    /// Always-on indication, if the UE requested one.
    pub always_on: Option<bool>,
    pub before: &'a [Flow],
    pub now: &'a [Flow],
}

/// PDU SESSION MODIFICATION COMMAND with cause #39: the UE establishes another session to the same
/// data network (TS 24.501, 6.3.2.2).
pub fn reactivation_command(id: u8) -> Vec<u8> {
    let cause = NasFGsmCause::from_cause(GsmCause::ReactivationRequested);
    encode(Nas5gsMessage::new_5gsm(
        NasPduSessionModificationCommand::new().with_fgsm_cause(cause),
        id,
        0,
    ))
}

/// PDU SESSION MODIFICATION COMMAND; `None`, with a log line, if it cannot be encoded.
pub fn modification_command(changed: &Modification<'_>) -> Option<Vec<u8>> {
    let build = || -> Result<Vec<u8>, EncodeError> {
        let mut command = NasPduSessionModificationCommand::new();
        if let Some(ambr) = changed.ambr {
            let ambr = qos::session_ambr(ambr.downlink.bps(), ambr.uplink.bps())
                .map_err(EncodeError::new)?;
            command = command.with_session_ambr(ambr);
        }
        if let Some(always_on) = changed.always_on {
            let indication = NasAlwaysOnPduSessionIndication::from_apsi(always_on);
            command = command.with_always_on_pdu_session_indication(indication);
        }
        let rules_of = |flows: &[Flow]| -> Vec<(u8, Rule)> {
            flows
                .iter()
                .flat_map(|flow| flow.rules.iter().map(|rule| (flow.qfi, rule.clone())))
                .collect()
        };
        let (old, new) = (rules_of(changed.before), rules_of(changed.now));
        let mut rules: Vec<QosRule> = Vec::new();
        let has = |rules: &[(u8, Rule)], id| rules.iter().any(|(_, rule)| rule.id == id);
        let gone = old.iter().filter(|(_, rule)| !has(&new, rule.id));
        rules.extend(gone.map(|(_, rule)| QosRule::new(rule.id, QosRuleOpCode::Delete)));
        for (qfi, rule) in new.iter().filter(|rule| !old.contains(rule)) {
            let replace = has(&old, rule.id);
            let code = if replace { QosRuleOpCode::ModifyReplace } else { QosRuleOpCode::Create };
            rules.push(nas_rule(rule, *qfi, code));
        }
        if !rules.is_empty() {
            command = command.with_authorized_qos_rules(
                NasQosRules::from_rules(&rules).map_err(EncodeError::new)?,
            );
        }
        let mut all = Vec::new();
        if let Some((qfi, five_qi)) = changed.default {
            let parameters = vec![QosFlowParameter::FiveQi(five_qi)];
            all.push(QosFlowDescription::new(qfi, QosFlowOpCode::Modify, true, parameters));
        }
        let of = |flows: &'_ [Flow], qfi| flows.iter().find(|flow| flow.qfi == qfi).cloned();
        for flow in changed.before.iter().filter(|flow| of(changed.now, flow.qfi).is_none()) {
            all.push(QosFlowDescription::new(flow.qfi, QosFlowOpCode::Delete, false, vec![]));
        }
        for flow in changed.now {
            let same = |old: &Flow| {
                (old.five_qi, old.guaranteed, old.maximum)
                    == (flow.five_qi, flow.guaranteed, flow.maximum)
            };
            match of(changed.before, flow.qfi) {
                None => {
                    all.push(description(flow, QosFlowOpCode::Create).map_err(EncodeError::new)?)
                }
                Some(old) if !same(&old) => {
                    all.push(description(flow, QosFlowOpCode::Modify).map_err(EncodeError::new)?)
                }
                Some(_) => {}
            }
        }
        if !all.is_empty() {
            let all = NasQosFlowDescriptions::from_descriptions(&all).map_err(EncodeError::new)?;
            command = command.with_authorized_qos_flow_descriptions(all);
        }
        Nas5gsMessage::new_5gsm(command, changed.id, changed.pti).encode().map_err(EncodeError::new)
    };
    build()
        .inspect_err(
            |error| tracing::error!(%error, "PDU SESSION MODIFICATION COMMAND not encoded"),
        )
        .ok()
}

fn encode(message: Nas5gsMessage) -> Vec<u8> {
    // These messages have fixed contents, which always fit.
    message.encode().unwrap_or_default()
}

/// Back-off timer T3396, T3584 or T3585, by the cause (TS 24.501, 6.2.7 and 6.2.8); none for 0
/// seconds.
fn back_off_timer(cause: GsmCause, seconds: u32) -> Option<NasGprsTimer3> {
    let has_timer = matches!(
        cause,
        GsmCause::InsufficientResources
            | GsmCause::InsufficientResourcesForSpecificSliceAndDnn
            | GsmCause::InsufficientResourcesForSpecificSlice
    );
    (has_timer && seconds > 0).then(|| timers::timer3(seconds.into()))
}

/// PDU SESSION ESTABLISHMENT REJECT; `back_off` in seconds.
pub fn reject(id: u8, pti: u8, cause: GsmCause, back_off: u32) -> Vec<u8> {
    let mut reject = NasPduSessionEstablishmentReject::new(NasFGsmCause::from_cause(cause));
    if let Some(timer) = back_off_timer(cause, back_off) {
        reject.set_back_off_timer_value(timer);
    }
    encode(Nas5gsMessage::new_5gsm(reject, id, pti))
}

/// PDU SESSION ESTABLISHMENT REJECT with #68, and which of the SSC modes 1, 2 and 3 are allowed (TS
/// 24.501, 6.4.1.4.1).
pub fn reject_ssc_mode(id: u8, pti: u8, allowed: [bool; 3]) -> Vec<u8> {
    let cause = NasFGsmCause::from_cause(GsmCause::NotSupportedSscMode);
    let mut reject = NasPduSessionEstablishmentReject::new(cause);
    let [one, two, three] = allowed;
    reject.set_allowed_ssc_mode(NasAllowedSscMode::from_modes(one, two, three));
    encode(Nas5gsMessage::new_5gsm(reject, id, pti))
}

/// PDU SESSION RELEASE COMMAND.
pub fn release_command(id: u8, pti: u8, cause: GsmCause) -> Vec<u8> {
    encode(Nas5gsMessage::new_5gsm(
        NasPduSessionReleaseCommand::new(NasFGsmCause::from_cause(cause)),
        id,
        pti,
    ))
}

/// PDU SESSION RELEASE REJECT.
pub fn release_reject(id: u8, pti: u8, cause: GsmCause) -> Vec<u8> {
    encode(Nas5gsMessage::new_5gsm(
        NasPduSessionReleaseReject::new(NasFGsmCause::from_cause(cause)),
        id,
        pti,
    ))
}

/// PDU SESSION MODIFICATION REJECT; `back_off` in seconds.
pub fn modification_reject(id: u8, pti: u8, cause: GsmCause, back_off: u32) -> Vec<u8> {
    let mut reject = NasPduSessionModificationReject::new(NasFGsmCause::from_cause(cause));
    if let Some(timer) = back_off_timer(cause, back_off) {
        reject.set_back_off_timer_value(timer);
    }
    encode(Nas5gsMessage::new_5gsm(reject, id, pti))
}

/// 5GSM STATUS.
pub fn status(id: u8, pti: u8, cause: GsmCause) -> Vec<u8> {
    encode(Nas5gsMessage::new_5gsm(NasFGsmStatus::new(NasFGsmCause::from_cause(cause)), id, pti))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_pti_is_read_with_its_message() {
        for pti in [0, 1, 254, 255] {
            let rate = NasIntegrityProtectionMaximumDataRate::new(0xffff);
            let request = NasPduSessionEstablishmentRequest::new(rate);
            let bytes = Nas5gsMessage::new_5gsm(request, 5, pti).encode().unwrap();
            let received = decode(&bytes).unwrap();
            assert_eq!((received.id, received.pti), (5, pti));
            assert!(matches!(received.message, Nas5gsmMessage::PduSessionEstablishmentRequest(_)));
            let reject = reject(5, pti, GsmCause::InvalidPtiValue, 0);
            assert_eq!(reject, [0x2e, 5, pti, 0xc3, 81]);
        }
    }

    #[test]
    fn other_protocols_and_short_messages_are_errors() {
        // 5GMM STATUS, whose third octet is where a 5GSM message has its PTI.
        assert!(decode(&[0x7e, 0x00, 0x64, 111]).is_err());
        assert!(decode(&[0x7e, 0x00, 0xff, 0x00]).is_err());
        assert!(decode(&[0x2e, 0x05, 0xff]).is_err());
        assert!(decode(&[]).is_err());
    }
}

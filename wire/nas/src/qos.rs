//! QoS rules, QoS flow descriptions and session AMBR for sessions with default traffic handling (TS
//! 24.501, 9.11.4.12 to 9.11.4.14).

use crate::{
    NasQosFlowDescriptions, NasQosRules, NasSessionAmbr, QosFlowDescription, QosFlowOpCode,
    QosFlowParameter, QosPacketFilter, QosPacketFilterComponent, QosPacketFilterDirection, QosRule,
    QosRuleOpCode, ValueError,
};

/// The default rule: matches all packets in both directions for flow `qfi` (1 to 63), with the
/// lowest precedence (TS 24.501, 9.11.4.13). `rule` is the rule identifier, 1 to 255.
pub fn default_rule(rule: u8, qfi: u8) -> Result<NasQosRules, ValueError> {
    let everything = QosPacketFilter::Match {
        direction: QosPacketFilterDirection::Bidirectional,
        identifier: 1,
        components: vec![QosPacketFilterComponent::MatchAll],
    };
    let rule = QosRule::new(rule, QosRuleOpCode::Create)
        .with_default_rule(true)
        .with_packet_filters(vec![everything])
        .with_precedence(255)
        .with_qfi(qfi);
    NasQosRules::from_rules(&[rule])
}

/// The description of a new non-GBR flow `qfi` with a 5QI (TS 24.501, 9.11.4.12).
pub fn flow(qfi: u8, five_qi: u8) -> Result<NasQosFlowDescriptions, ValueError> {
    flows(&[(qfi, five_qi)])
}

/// The descriptions of new non-GBR flows, each a QFI and its 5QI.
pub fn flows(flows: &[(u8, u8)]) -> Result<NasQosFlowDescriptions, ValueError> {
    let description = |&(qfi, five_qi): &(u8, u8)| {
        QosFlowDescription::new(
            qfi,
            QosFlowOpCode::Create,
            true,
            vec![QosFlowParameter::FiveQi(five_qi)],
        )
    };
    NasQosFlowDescriptions::from_descriptions(&flows.iter().map(description).collect::<Vec<_>>())
}

/// The session AMBR of these rates in bit/s (TS 24.501, 9.11.4.14): each rounded down to a value
/// that can be encoded, but at least 1 kbit/s.
pub fn session_ambr(downlink: u64, uplink: u64) -> Result<NasSessionAmbr, ValueError> {
    NasSessionAmbr::from_kbps(representable(downlink / 1000), representable(uplink / 1000))
}

/// The largest rate up to `kbps` that is a 16-bit number times a unit: units are powers of four of
/// 1 kbit/s, 1 Mbit/s, 1 Gbit/s, … (TS 24.501, table 9.11.4.14.1).
pub fn representable(kbps: u64) -> u64 {
    let mut decade = 1_u64;
    while let Some(next) = decade.checked_mul(1000) {
        for power in 0..5 {
            let unit = decade << (2 * power);
            if kbps / unit <= u64::from(u16::MAX) {
                return (kbps / unit * unit).max(1);
            }
        }
        decade = next;
    }
    u64::from(u16::MAX) * 256_000_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_rule_and_flow_have_their_octets() {
        // Rule 1, 6 bytes; create, default, one filter; bidirectional, filter 1, one octet,
        // match-all; precedence; QFI.
        assert_eq!(hex::encode(&default_rule(1, 1).unwrap().value), "01000631310101ff01");
        // QFI 1; create; E bit and one parameter; 5QI, one octet, 9.
        assert_eq!(hex::encode(&flow(1, 9).unwrap().value), "012041010109");
        assert_eq!(
            hex::encode(&flows(&[(1, 9), (63, 5)]).unwrap().value),
            "0120410101093f2041010105"
        );
        assert!(flow(64, 9).is_err());
    }

    #[test]
    fn a_rate_is_encoded_as_precisely_as_possible() {
        // 200 and 100 Mbit/s are exact.
        let ambr = session_ambr(200_000_000, 100_000_000).unwrap();
        assert_eq!((ambr.downlink_kbps(), ambr.uplink_kbps()), (Some(200_000), Some(100_000)));
        // 1.000_001_001 Gbit/s has no exact form; zero becomes 1 kbit/s.
        let ambr = session_ambr(1_000_001_001, 1).unwrap();
        assert_eq!((ambr.downlink_kbps(), ambr.uplink_kbps()), (Some(1_000_000), Some(1)));
        for rate in [0, 999, 65_535_000, 65_536_000, 123_456_789_012, u64::MAX] {
            let decoded = session_ambr(rate, rate).unwrap().downlink_kbps().unwrap();
            assert!(decoded <= (rate / 1000).max(1), "{rate} became {decoded} kbit/s");
            assert!(decoded >= rate / 1000 - rate / 1000 / 1024, "{rate} became {decoded} kbit/s");
        }
    }
}

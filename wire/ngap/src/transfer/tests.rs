//! Round trips, and golden bytes that another implementation wrote.

use super::*;
use oxirush_ngap::ngap::{Cause, CauseNas, CauseProtocol, CauseRadioNetwork};

fn tunnel(last: u8, teid: u32) -> GtpTunnel {
    GtpTunnel::new([10, 0, 0, last].into(), teid)
}

fn cause() -> Cause {
    Cause::radioNetwork(CauseRadioNetwork::radio_resources_not_available)
}

#[test]
fn setup_request_round_trips_with_everything() {
    let request = SetupRequest {
        ambr: Some(Ambr { downlink: 200_000_000, uplink: 100_000_000 }),
        uplink: GtpTunnel {
            address: [10, 0, 0, 8].into(),
            second_address: Some("fd00::8".parse().unwrap()),
            teid: 0xdead_beef,
        },
        additional_uplink: vec![GtpTunnel::new("fd00::9".parse().unwrap(), 2)],
        no_data_forwarding: true,
        session_type: SessionType::Ipv4v6,
        security: Some(UserPlaneSecurity {
            integrity: Protection::Preferred,
            confidentiality: Protection::Required,
            full_rate_integrity: true,
        }),
        network_instance: Some(256),
        flows: vec![
            QosFlow::standard(1, 9, Arp::level(8)),
            QosFlow {
                qfi: 63,
                qos: QosParameters {
                    five_qi: FiveQi::Dynamic(DynamicFiveQi {
                        priority: 20,
                        delay_budget: 200,
                        error_rate: (1, 6),
                        five_qi: Some(130),
                        delay_critical: Some(true),
                        averaging_window: Some(2000),
                        max_data_burst: Some(1354),
                    }),
                    arp: Arp { priority: 1, may_preempt: true, preemptable: true },
                    gbr: Some(GuaranteedBitRate {
                        max_downlink: 2_000_000,
                        max_uplink: 1_000_000,
                        downlink: 1_500_000,
                        uplink: 500_000,
                        notify: true,
                        max_loss_downlink: Some(10),
                        max_loss_uplink: Some(1000),
                    }),
                    reflective: true,
                },
            },
        ],
    };
    let bytes = request.encode().unwrap();
    assert_eq!(SetupRequest::decode(&bytes).unwrap(), request);
}

#[test]
fn responses_and_the_rest_round_trip() {
    macro_rules! round_trip {
        ($kind:ident, $value:expr) => {{
            let value: $kind = $value;
            assert_eq!($kind::decode(&value.encode().unwrap()).unwrap(), value);
        }};
    }
    let failed = vec![FailedFlow { qfi: 5, cause: cause() }];
    let outcome = SecurityOutcome { integrity: false, confidentiality: true };
    let asked = UserPlaneSecurity {
        integrity: Protection::NotNeeded,
        confidentiality: Protection::Preferred,
        full_rate_integrity: false,
    };
    round_trip!(
        SetupResponse,
        SetupResponse {
            downlink: FlowTunnel::new(tunnel(2, 0x10), vec![1, 2]),
            additional_downlink: vec![FlowTunnel::new(tunnel(3, 0x11), vec![3])],
            security: Some(outcome),
            failed_flows: failed.clone(),
        }
    );
    round_trip!(SetupUnsuccessful, SetupUnsuccessful::new(cause()));
    round_trip!(ReleaseCommand, ReleaseCommand::new(Cause::nas(CauseNas::normal_release)));
    round_trip!(ReleaseResponse, ReleaseResponse);
    round_trip!(
        ModifyRequest,
        ModifyRequest {
            ambr: Some(Ambr { downlink: 1, uplink: 4_000_000_000_000 }),
            uplink_changes: vec![UplinkTunnelChange {
                uplink: tunnel(8, 1),
                downlink: tunnel(2, 2)
            }],
            network_instance: Some(1),
            flows: vec![
                FlowChange { qfi: 1, qos: None },
                FlowChange { qfi: 2, qos: Some(QosFlow::standard(2, 5, Arp::level(1)).qos) },
            ],
            released_flows: failed.clone(),
            security: Some(asked),
        }
    );
    round_trip!(ModifyRequest, ModifyRequest::default());
    round_trip!(
        ModifyResponse,
        ModifyResponse {
            downlink: Some(tunnel(2, 1)),
            uplink: Some(tunnel(8, 2)),
            flows: vec![1, 2],
            additional_downlink: vec![FlowTunnel::new(tunnel(3, 0x11), vec![3])],
            failed_flows: failed.clone(),
        }
    );
    round_trip!(ModifyUnsuccessful, ModifyUnsuccessful::new(cause()));
    round_trip!(
        ModifyIndication,
        ModifyIndication {
            downlink: FlowTunnel::new(tunnel(2, 1), vec![1]),
            additional_downlink: vec![]
        }
    );
    round_trip!(
        ModifyConfirm,
        ModifyConfirm { flows: vec![1], uplink: tunnel(8, 2), failed_flows: failed.clone() }
    );
    round_trip!(
        Notify,
        Notify {
            notified: vec![FlowNotification { qfi: 2, fulfilled: false }],
            released_flows: failed.clone()
        }
    );
    round_trip!(ModifyIndicationUnsuccessful, ModifyIndicationUnsuccessful { cause: cause() });
    round_trip!(NotifyReleased, NotifyReleased { cause: cause() });
    round_trip!(
        PathSwitchRequest,
        PathSwitchRequest {
            downlink: tunnel(4, 9),
            reused: true,
            security: Some((outcome, asked)),
            flows: vec![1, 63],
        }
    );
    round_trip!(
        PathSwitchAcknowledge,
        PathSwitchAcknowledge { uplink: Some(tunnel(8, 1)), security: Some(asked) }
    );
    round_trip!(PathSwitchSetupFailed, PathSwitchSetupFailed { cause: cause() });
    round_trip!(PathSwitchUnsuccessful, PathSwitchUnsuccessful { cause: cause() });
    round_trip!(HandoverRequired, HandoverRequired { direct_forwarding: true });
    round_trip!(
        HandoverRequestAcknowledge,
        HandoverRequestAcknowledge {
            downlink: tunnel(4, 9),
            forwarding: Some(tunnel(4, 10)),
            security: Some(outcome),
            flows: vec![(1, true), (2, false)],
            failed_flows: failed,
        }
    );
    round_trip!(
        HandoverCommand,
        HandoverCommand { forwarding: Some(tunnel(4, 10)), flows: vec![1] }
    );
    round_trip!(HandoverCommand, HandoverCommand::default());
    round_trip!(
        HandoverPreparationUnsuccessful,
        HandoverPreparationUnsuccessful { cause: cause() }
    );
    round_trip!(
        HandoverResourceAllocationUnsuccessful,
        HandoverResourceAllocationUnsuccessful { cause: cause() }
    );
}

#[test]
fn a_faulty_transfer_has_the_cause_for_the_answer() {
    let protocol = |error: TransferError| match error.cause() {
        Cause::protocol(cause) => cause,
        other => panic!("{other:?}"),
    };
    // No bytes, and bytes that end early.
    assert_eq!(
        protocol(SetupRequest::decode(&[]).unwrap_err()),
        CauseProtocol::transfer_syntax_error
    );
    assert_eq!(
        protocol(SetupResponse::decode(&[0, 3]).unwrap_err()),
        CauseProtocol::transfer_syntax_error
    );
    // A transfer with its PDU session type alone: its tunnel and its flows are mandatory.
    let error = SetupRequest::decode(&[0, 0, 1, 0, 0x86, 0, 1, 0]).unwrap_err();
    assert_eq!(protocol(error.clone()), CauseProtocol::abstract_syntax_error_reject);
    assert!(error.to_string().contains("UL-NGU-UP-TNLInformation"), "{error}");
}

#[test]
fn an_address_of_no_ip_version_cannot_be_meant() {
    use oxirush_ngap::BitString;
    use oxirush_ngap::ngap::{
        GTPTEID, GTPTunnel, TransportLayerAddress, UPTransportLayerInformation,
    };
    let information = UPTransportLayerInformation::gTPTunnel(GTPTunnel::new(
        TransportLayerAddress(BitString::from([1, 2, 3])),
        GTPTEID([0; 4]),
        None,
    ));
    let error = GtpTunnel::from_asn(&information).unwrap_err();
    assert_eq!(error.cause(), Cause::protocol(CauseProtocol::semantic_error));
}

#[test]
fn values_that_do_not_fit_are_not_sent() {
    let none = SetupRequest::new(tunnel(8, 1), SessionType::Ipv4, vec![]);
    assert!(matches!(none.encode(), Err(TransferError::Encode { .. })));
    let arp = SetupRequest::new(
        tunnel(8, 1),
        SessionType::Ipv4,
        vec![QosFlow::standard(1, 9, Arp::level(16))],
    );
    assert!(matches!(arp.encode(), Err(TransferError::Encode { .. })));
}

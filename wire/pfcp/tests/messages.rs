//! Messages: round trips, another implementation, faults.
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use proptest::prelude::*;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};

fn ip(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, last).into()
}

fn establishment() -> SessionEstablishmentRequest {
    let pdi = |interface, fteid, ue, filters: &[&str]| Pdi {
        local_fteid: fteid,
        network_instance: Some(NetworkInstance::new("internet")),
        ue_ip_addresses: ue,
        sdf_filters: filters
            .iter()
            .map(|f| SdfFilter { flow_description: Some(f.to_string()), ..Default::default() })
            .collect(),
        ..Pdi::of(interface)
    };
    let ue = |is_destination| UeIpAddress {
        is_destination,
        ipv4: Some(Ipv4Addr::new(10, 45, 0, 2)),
        ..Default::default()
    };
    let pdr = |id, pdi, removal, far| CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(255),
        pdi,
        outer_header_removal: removal,
        far_id: Some(FarId(far)),
        urr_ids: vec![UrrId(1)],
        qer_ids: vec![QerId(1)],
        activate_predefined_rules: vec![],
    };
    let choose = FTeid::Choose { ipv4: true, ipv6: false, choose_id: Some(5) };
    SessionEstablishmentRequest {
        node_id: NodeId::Ip(ip(1)),
        cp_fseid: FSeid::new(0x1122_3344_5566_7788, ip(1)),
        create_pdrs: vec![
            pdr(
                1,
                pdi(Interface::Access, Some(choose), vec![ue(false)], &[]),
                Some(OuterHeaderRemoval { description: 0 }),
                1,
            ),
            pdr(
                2,
                pdi(Interface::Core, None, vec![ue(true)], &["permit out ip from any to assigned"]),
                None,
                2,
            ),
        ],
        create_fars: vec![
            CreateFar {
                far_id: FarId(1),
                apply_action: ApplyAction::FORW,
                forwarding_parameters: Some(ForwardingParameters {
                    destination_interface: DestinationInterface(Interface::Core),
                    network_instance: Some(NetworkInstance::new("internet")),
                    outer_header_creation: None,
                    ..Default::default()
                }),
                bar_id: None,
                ..Default::default()
            },
            CreateFar {
                far_id: FarId(2),
                apply_action: ApplyAction::BUFF | ApplyAction::NOCP,
                forwarding_parameters: None,
                bar_id: Some(BarId(1)),
                ..Default::default()
            },
        ],
        create_urrs: vec![CreateUrr {
            urr_id: UrrId(1),
            measurement_method: MeasurementMethod(3),
            reporting_triggers: ReportingTriggers::VOLTH | ReportingTriggers::PERIO,
            measurement_period: Some(MeasurementPeriod(60)),
            volume_threshold: Some(VolumeThreshold {
                total: Some(1_000_000),
                ..Default::default()
            }),
            volume_quota: None,
            time_threshold: None,
            time_quota: None,
            ..Default::default()
        }],
        create_qers: vec![CreateQer {
            qer_id: QerId(1),
            correlation_id: None,
            gate_status: GateStatus::default(),
            mbr: Some(Mbr { uplink: 1_000_000, downlink: 2_000_000 }),
            gbr: None,
            qfi: Some(Qfi(1)),
            rqi: None,
            ..Default::default()
        }],
        create_bar: Some(CreateBar {
            bar_id: BarId(1),
            notification_delay: None,
            suggested_packets: Some(SuggestedBufferingPacketsCount(64)),
        }),
        pdn_type: Some(PdnType(1)),
        inactivity_timer: None,
        flags: Some(PfcpSeReqFlags(1)),
        create_traffic_endpoints: vec![],
        fq_csids: vec![],
    }
}

fn application(name: &str) -> ApplicationIdsPfds {
    let first = PfdContents {
        flow_descriptions: vec!["permit out 6 from 192.0.2.0/24 443 to assigned".into(); 3],
        urls: vec![b"https://example.com/".to_vec(), b"/two".to_vec()],
        domain_names: vec![
            (b"example.com".to_vec(), Some(b"tls".to_vec())),
            (b"example.org".to_vec(), None),
        ],
        custom: Some(vec![1, 2, 3]),
    };
    let second = PfdContents {
        flow_descriptions: vec!["permit out ip from 203.0.113.9 to any".into()],
        ..Default::default()
    };
    let contexts = vec![PfdContext { contents: vec![first, second] }];
    ApplicationIdsPfds { application_id: ApplicationId::new(name), contexts }
}

fn forgotten(name: &str) -> ApplicationIdsPfds {
    ApplicationIdsPfds { application_id: ApplicationId::new(name), contexts: vec![] }
}

fn samples() -> Vec<(&'static str, Packet)> {
    let node = NodeId::Ip(ip(1));
    let recovery = RecoveryTimeStamp(3_900_000_000);
    let cause = Cause::ACCEPTED;
    let remote = FTeid::Given { teid: 0xbeef, ipv4: Some(Ipv4Addr::new(10, 0, 0, 9)), ipv6: None };
    let modification = SessionModificationRequest {
        update_fars: vec![UpdateFar {
            far_id: FarId(2),
            apply_action: Some(ApplyAction::FORW),
            update_forwarding_parameters: Some(UpdateForwardingParameters {
                destination_interface: Some(DestinationInterface(Interface::Access)),
                network_instance: None,
                outer_header_creation: Some(OuterHeaderCreation::gtpu(0xbeef, ip(9))),
                flags: Some(PfcpSmReqFlags(2)),
                ..Default::default()
            }),
            bar_id: None,
            ..Default::default()
        }],
        remove_pdrs: vec![RemovePdr { pdr_id: PdrId(7) }],
        query_urrs: vec![QueryUrr { urr_id: UrrId(1) }],
        ..empty_modification()
    };
    let usage = UsageReport {
        urr_id: UrrId(1),
        ur_seqn: UrSeqn(3),
        trigger: UsageReportTrigger::VOLTH,
        start: Some(StartTime(3_900_000_000)),
        end: Some(EndTime(3_900_000_060)),
        volume: Some(VolumeMeasurement {
            octets: [Some(30), Some(10), Some(20)],
            packets: [None; 3],
        }),
        duration: Some(DurationMeasurement(60)),
        ..Default::default()
    };
    vec![
        ("heartbeat", Packet::node(1, HeartbeatRequest { recovery })),
        ("heartbeat_response", Packet::node(1, HeartbeatResponse { recovery })),
        (
            "association",
            Packet::node(
                2,
                AssociationSetupRequest {
                    node_id: node.clone(),
                    recovery,
                    up_features: None,
                    cp_features: Some(CpFunctionFeatures(0)),
                    retention: Some(SessionRetention {}),
                },
            ),
        ),
        (
            "association_response",
            Packet::node(
                2,
                AssociationSetupResponse {
                    node_id: NodeId::Fqdn("upf.example".into()),
                    cause,
                    recovery,
                    up_features: Some(UpFunctionFeatures::FTUP | UpFunctionFeatures::EMPU),
                    cp_features: None,
                    ip_resources: vec![],
                    flags: Some(PfcpAsRspFlags(1)),
                },
            ),
        ),
        (
            "update",
            Packet::node(
                3,
                AssociationUpdateRequest {
                    node_id: node.clone(),
                    up_features: Some(
                        UpFunctionFeatures::PFDM
                            | UpFunctionFeatures::EPFAR
                            | UpFunctionFeatures::UEIP,
                    ),
                    cp_features: Some(CpFunctionFeatures::LOAD | CpFunctionFeatures::EPFAR),
                    release_request: Some(martlet_pfcp::ie::AssociationReleaseRequest(1)),
                    release_period: Some(GracefulReleasePeriod::of(
                        std::time::Duration::from_secs(20),
                    )),
                    flags: Some(PfcpAuReqFlags(1)),
                },
            ),
        ),
        (
            "pfds",
            Packet::node(
                3,
                PfdManagementRequest { applications: vec![application("web"), forgotten("chat")] },
            ),
        ),
        ("release", Packet::node(3, AssociationReleaseRequestMessage { node_id: node.clone() })),
        ("establishment", Packet::session(0, 4, establishment())),
        ("rare_establishment", Packet::session(0, 4, with_rare_elements())),
        (
            "set_deletion",
            Packet::node(
                3,
                SessionSetDeletionRequest {
                    node_id: node.clone(),
                    fq_csids: vec![FqCsid { node: CsidNode::Number(0x0001_f010), csids: vec![9] }],
                },
            ),
        ),
        (
            "usage_report",
            Packet::session(
                8,
                7,
                SessionReportRequest {
                    report_type: ReportType::USAR,
                    downlink_data: None,
                    usage_reports: vec![whole_usage_report()],
                    error_indication: None,
                    load: None,
                    overload: None,
                },
            ),
        ),
        (
            "establishment_response",
            Packet::session(
                0x1122_3344_5566_7788,
                4,
                SessionEstablishmentResponse {
                    node_id: node.clone(),
                    cause,
                    offending_ie: None,
                    up_fseid: Some(FSeid::new(9, ip(2))),
                    created_pdrs: vec![CreatedPdr {
                        pdr_id: PdrId(1),
                        local_fteid: Some(remote),
                        ue_ip_addresses: vec![],
                    }],
                    load: Some(LoadControlInformation {
                        sequence_number: SequenceNumber(7),
                        metric: Metric(42),
                    }),
                    overload: Some(OverloadControlInformation {
                        sequence_number: SequenceNumber(8),
                        metric: Metric(10),
                        timer: Timer(2),
                        flags: Some(OciFlags(1)),
                    }),
                    failed_rule: None,
                    created_traffic_endpoints: vec![],
                },
            ),
        ),
        ("modification", Packet::session(9, 5, modification)),
        (
            "modification_response",
            Packet::session(
                8,
                5,
                SessionModificationResponse {
                    cause: Cause::RULE_CREATION_FAILURE,
                    offending_ie: Some(OffendingIe(1)),
                    created_pdrs: vec![],
                    load: None,
                    overload: None,
                    usage_reports: vec![],
                    failed_rule: Some(FailedRuleId::Far(2)),
                    created_traffic_endpoints: vec![],
                },
            ),
        ),
        ("deletion", Packet::session(9, 6, SessionDeletionRequest {})),
        (
            "report",
            Packet::session(
                8,
                7,
                SessionReportRequest {
                    report_type: ReportType(1 | 2),
                    downlink_data: Some(DownlinkDataReport {
                        pdr_ids: vec![PdrId(2)],
                        service_information: None,
                    }),
                    usage_reports: vec![usage],
                    error_indication: None,
                    load: None,
                    overload: None,
                },
            ),
        ),
        (
            "error_report",
            Packet::session(
                8,
                8,
                SessionReportRequest {
                    report_type: ReportType::ERIR,
                    downlink_data: None,
                    usage_reports: vec![],
                    error_indication: Some(ErrorIndicationReport { remote_fteids: vec![remote] }),
                    load: None,
                    overload: None,
                },
            ),
        ),
        (
            "report_response",
            Packet::session(9, 7, SessionReportResponse { cause, offending_ie: None, flags: None }),
        ),
    ]
}

/// What few SMFs use.
fn with_rare_elements() -> SessionEstablishmentRequest {
    let mut request = establishment();
    let marking = Some(TransportLevelMarking { traffic_class: 0xb8, mask: 0xfc });
    request.create_pdrs[0].activate_predefined_rules = vec![ActivatePredefinedRules::new("dns")];
    request.create_pdrs[0].pdi.traffic_endpoints = vec![TrafficEndpointId(3)];
    let far = &mut request.create_fars[0];
    far.apply_action = ApplyAction::FORW | ApplyAction::DUPL;
    let parameters = far.forwarding_parameters.as_mut().expect("parameters");
    parameters.transport_level_marking = marking;
    parameters.forwarding_policy = Some(ForwardingPolicy::new("cheap"));
    parameters.redirect = Some(RedirectInformation {
        kind: RedirectAddressType::Url,
        address: b"http://portal.example/".to_vec(),
        other: None,
    });
    far.duplicating_parameters = vec![DuplicatingParameters {
        destination_interface: DestinationInterface(Interface::Core),
        outer_header_creation: Some(OuterHeaderCreation::gtpu(7, ip(9))),
        transport_level_marking: marking,
        forwarding_policy: None,
    }];
    let qer = &mut request.create_qers[0];
    qer.correlation_id = Some(QerCorrelationId(77));
    qer.packet_rate = Some(PacketRate { uplink: Some((0, 3)), downlink: Some((4, 500)) });
    qer.paging_policy = Some(PagingPolicyIndicator(5));
    let urr = &mut request.create_urrs[0];
    urr.reporting_triggers = ReportingTriggers::VOLTH
        | ReportingTriggers::QUHTI
        | ReportingTriggers::START
        | ReportingTriggers::LIUSA
        | ReportingTriggers::EVETH
        | ReportingTriggers::QUVTI;
    urr.measurement_period = None;
    urr.quota_holding_time = Some(QuotaHoldingTime(5));
    urr.quota_validity_time = Some(QuotaValidityTime(60));
    urr.monitoring_time = Some(MonitoringTime(3_900_000_000));
    urr.subsequent_volume_threshold =
        Some(SubsequentVolumeThreshold { total: Some(1), uplink: Some(2), downlink: None });
    urr.subsequent_time_threshold = Some(SubsequentTimeThreshold(6));
    urr.subsequent_volume_quota =
        Some(SubsequentVolumeQuota { total: None, uplink: None, downlink: Some(3) });
    urr.subsequent_time_quota = Some(SubsequentTimeQuota(7));
    urr.event_threshold = Some(EventThreshold(2));
    urr.event_quota = Some(EventQuota(3));
    urr.subsequent_event_threshold = Some(SubsequentEventThreshold(4));
    urr.subsequent_event_quota = Some(SubsequentEventQuota(5));
    urr.inactivity_detection_time = Some(InactivityDetectionTime(30));
    urr.linked_urrs = vec![LinkedUrrId(2)];
    urr.measurement_information = Some(MeasurementInformation(2));
    urr.quota_far = Some(FarId(2));
    request.create_traffic_endpoints = vec![CreateTrafficEndpoint {
        id: TrafficEndpointId(3),
        local_fteid: Some(FTeid::Choose { ipv4: true, ipv6: false, choose_id: None }),
        network_instance: Some(NetworkInstance::new("internet")),
        ..Default::default()
    }];
    request.fq_csids = vec![FqCsid { node: CsidNode::Ip(ip(2)), csids: vec![5, 6] }];
    request
}

/// A usage report with all of its elements.
fn whole_usage_report() -> UsageReport {
    UsageReport {
        urr_id: UrrId(1),
        ur_seqn: UrSeqn(4),
        trigger: UsageReportTrigger::START,
        start: Some(StartTime(3_900_000_000)),
        end: Some(EndTime(3_900_000_060)),
        volume: None,
        duration: Some(DurationMeasurement(60)),
        application: Some(ApplicationDetectionInformation {
            application_id: ApplicationId::new("video"),
        }),
        first_packet: Some(TimeOfFirstPacket(3_900_000_001)),
        last_packet: Some(TimeOfLastPacket(3_900_000_059)),
        information: Some(UsageInformation(2)),
        events: vec![EventTimeStamp(3_900_000_002), EventTimeStamp(3_900_000_003)],
    }
}

fn empty_modification() -> SessionModificationRequest {
    let Ok(Packet { message: Message::SessionModificationRequest(empty), .. }) =
        Packet::decode(&[0x21, 52, 0, 12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0])
    else {
        panic!("an empty modification reads")
    };
    empty
}

#[test]
fn every_message_round_trips() {
    for (name, packet) in samples() {
        assert_eq!(Packet::decode(&packet.encode()), Ok(packet), "{name}");
    }
}

#[test]
fn another_implementation_reads_and_writes_the_same_octets() {
    let python = std::env::var("MARTLET_PYTHON").unwrap_or_else(|_| "python3".into());
    let probe =
        Command::new(&python).args(["-c", "import pycrate_mobile"]).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: {python} has no pycrate; `make oracles` installs it");
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle.py");
    let mut child = Command::new(&python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: Vec<String> = samples()
        .iter()
        .map(|(name, packet)| format!("{name} {}", hex(&packet.encode())))
        .collect();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{}\n", lines.join("\n")).as_bytes()).unwrap();
    drop(stdin);
    let stdout = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    for (ours, theirs) in lines.iter().zip(stdout.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(stdout.lines().count(), lines.len());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|o| format!("{o:02x}")).collect()
}

#[test]
fn what_is_wrong_gets_its_cause() {
    let whole = Packet::session(0, 4, establishment()).encode();
    for cut in 0..whole.len() {
        assert_eq!(Packet::decode(&whole[..cut]), Err(DecodeError::Truncated));
    }
    assert_eq!(Packet::decode(&[0x40, 1, 0, 4, 0, 0, 0, 0]), Err(DecodeError::Version(2)));
    assert_eq!(Packet::decode(&[0x20, 99, 0, 4, 0, 0, 1, 0]), Err(DecodeError::UnknownMessage(99)));
    let missing = Packet::decode(&[0x20, 1, 0, 4, 0, 0, 1, 0]).unwrap_err();
    assert_eq!(
        (missing.cause(), missing.offending()),
        (Some(Cause::MANDATORY_IE_MISSING), Some(96))
    );
    let short = Packet::decode(&[0x20, 1, 0, 10, 0, 0, 1, 0, 0, 96, 0, 2, 1, 2]).unwrap_err();
    assert_eq!((short.cause(), short.offending()), (Some(Cause::INVALID_LENGTH), Some(96)));
    // BUFF and FORW at once.
    let mut wrong = establishment();
    wrong.create_fars[0].apply_action = ApplyAction(6);
    let incorrect = Packet::decode(&Packet::session(0, 4, wrong).encode()).unwrap_err();
    assert_eq!(
        (incorrect.cause(), incorrect.offending()),
        (Some(Cause::MANDATORY_IE_INCORRECT), Some(44))
    );
}

#[test]
fn elements_that_are_not_known_are_passed_over() {
    let mut bytes = Packet::node(1, HeartbeatRequest { recovery: RecoveryTimeStamp(1) }).encode();
    bytes.extend([0x80, 1, 0, 4, 0x12, 0x34, 9, 9, 0, 250, 0, 1, 0]);
    bytes[3] += 13;
    assert_eq!(
        Packet::decode(&bytes).unwrap().message,
        HeartbeatRequest { recovery: RecoveryTimeStamp(1) }.into()
    );
}

proptest! {
    #[test]
    fn anything_is_read_without_a_panic(which in 0usize..15, at: usize, flip: u8, cut: usize,
        bytes: Vec<u8>) {
        fuzz_decode(&bytes);
        let mut bytes = samples()[which].1.encode();
        let at = at % bytes.len();
        bytes[at] ^= flip;
        fuzz_decode(&bytes);
        bytes.truncate(cut % bytes.len());
        fuzz_decode(&bytes);
    }
}

#[test]
fn tshark_finds_nothing_wrong_with_our_messages() {
    let mut capture = martlet_wire_testing::capture::Capture::new();
    let samples = samples();
    samples.iter().for_each(|(_, packet)| capture.udp(PORT, &packet.encode()));
    let Some(dissected) = capture.dissect("pfcp", &[]) else { return };
    assert_eq!(dissected.len(), samples.len());
    for ((name, _), packet) in samples.iter().zip(dissected) {
        assert_eq!(packet.problem, None, "{name}: {packet:?}");
        assert!(packet.protocols.ends_with("pfcp"), "{name}: {packet:?}");
    }
}

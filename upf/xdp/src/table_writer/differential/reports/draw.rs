//! Random requests of an SMF, and what they are drawn from.
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_datapath::random::{GNB, N3, SERVER, gnb6};
use martlet_upf_n4::Moment;
use martlet_upf_n4::testing::{SMF, pdr};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use std::net::{IpAddr, Ipv4Addr};
use std::time::UNIX_EPOCH;

/// What triggers are drawn from: a threshold of volume more often.
const TRIGGERS: [ReportingTriggers; 12] = [
    ReportingTriggers::PERIO,
    ReportingTriggers::VOLTH,
    ReportingTriggers::VOLTH,
    ReportingTriggers::TIMTH,
    ReportingTriggers::QUHTI,
    ReportingTriggers::START,
    ReportingTriggers::STOPT,
    ReportingTriggers::VOLQU,
    ReportingTriggers::TIMQU,
    ReportingTriggers::EVETH,
    ReportingTriggers::EVEQU,
    ReportingTriggers::QUVTI,
];

/// The application of PDRs.
const VIDEO: &str = "video";
/// What predefined rules and forwarding policies are drawn from; the last one is not configured.
const RULES: [&str; 4] = ["port-7000", "nothing", "flow-7", "unknown"];
const POLICIES: [&str; 3] = ["to-board", "to-default", "unknown"];

/// A set of sessions.
pub(super) fn set(csid: u16) -> FqCsid {
    FqCsid { node: CsidNode::Ip(SMF), csids: vec![csid] }
}

/// The tunnel and the address of a session.
pub(super) fn ends(n: u32) -> (u32, Ipv4Addr) {
    (0x200 + n, Ipv4Addr::from_bits(0x0a2d_0102 + n))
}

/// Draws what the SMF asks for.
pub(super) struct Draw(pub(super) StdRng);

impl Draw {
    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    pub(super) fn seconds(&mut self) -> u32 {
        self.0.random_range(2..12)
    }

    fn volume(&mut self) -> [Option<u64>; 3] {
        let volume = Some(self.0.random_range(60..2500));
        match self.0.random_range(0..4) {
            0 => [None, volume, None],
            1 => [None, None, volume],
            _ => [volume, None, None],
        }
    }

    fn marking(&mut self) -> Option<TransportLevelMarking> {
        let traffic_class = *[0x28, 0xb8].choose(&mut self.0).expect("a class");
        self.chance(25).then_some(TransportLevelMarking { traffic_class, mask: 0xfc })
    }

    /// A usage reporting rule with what its triggers need, and more.
    fn urr(&mut self, id: u32, count: u32, now: Moment) -> CreateUrr {
        let drawn = self.0.random_range(1..5);
        let drawn = TRIGGERS.choose_multiple(&mut self.0, drawn);
        let mut triggers = drawn.fold(ReportingTriggers(0), |all, one| all | *one);
        let linked = (1..=count).filter(|other| *other != id).collect::<Vec<_>>();
        let linked = linked.choose(&mut self.0).copied().filter(|_| self.chance(40));
        if linked.is_some() {
            triggers = triggers | ReportingTriggers::LIUSA;
        }
        let has = |trigger| triggers.has(trigger);
        let mut seconds = |trigger| has(trigger).then(|| self.seconds());
        let (period, threshold) =
            (seconds(ReportingTriggers::PERIO), seconds(ReportingTriggers::TIMTH));
        let (quota, holding) =
            (seconds(ReportingTriggers::TIMQU), seconds(ReportingTriggers::QUHTI));
        let validity = seconds(ReportingTriggers::QUVTI);
        let events = has(ReportingTriggers::EVETH) || has(ReportingTriggers::EVEQU);
        let method = self.0.random_range(1..4) | u8::from(events || self.chance(20)) << 2;
        let mut urr = CreateUrr {
            urr_id: UrrId(id),
            measurement_method: MeasurementMethod(method),
            reporting_triggers: triggers,
            measurement_period: period.map(MeasurementPeriod),
            time_threshold: threshold.map(TimeThreshold),
            time_quota: quota.map(TimeQuota),
            quota_holding_time: holding.map(QuotaHoldingTime),
            quota_validity_time: validity.map(QuotaValidityTime),
            linked_urrs: linked.map(LinkedUrrId).into_iter().collect(),
            ..CreateUrr::default()
        };
        if has(ReportingTriggers::VOLTH) {
            let [total, uplink, downlink] = self.volume();
            urr.volume_threshold = Some(VolumeThreshold { total, uplink, downlink });
        }
        if has(ReportingTriggers::VOLQU) {
            let [total, uplink, downlink] = self.volume();
            urr.volume_quota = Some(VolumeQuota { total, uplink, downlink });
        }
        if has(ReportingTriggers::EVETH) {
            urr.event_threshold = Some(EventThreshold(self.0.random_range(1..3)));
        }
        if has(ReportingTriggers::EVEQU) {
            urr.event_quota = Some(EventQuota(self.0.random_range(1..4)));
        }
        if self.chance(25) {
            urr.inactivity_detection_time = Some(InactivityDetectionTime(self.seconds()));
        }
        if self.chance(40) {
            let unix = now.wall.duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs();
            let at = unix + 2_208_988_800 + u64::from(self.seconds());
            urr.monitoring_time = Some(MonitoringTime(at as u32));
            if has(ReportingTriggers::VOLTH) && self.chance(50) {
                let [total, uplink, downlink] = self.volume();
                let after = SubsequentVolumeThreshold { total, uplink, downlink };
                urr.subsequent_volume_threshold = Some(after);
            }
            if has(ReportingTriggers::VOLQU) && self.chance(50) {
                let [total, uplink, downlink] = self.volume();
                urr.subsequent_volume_quota =
                    Some(SubsequentVolumeQuota { total, uplink, downlink });
            }
            if has(ReportingTriggers::TIMTH) && self.chance(50) {
                urr.subsequent_time_threshold = Some(SubsequentTimeThreshold(self.seconds()));
            }
            if has(ReportingTriggers::TIMQU) && self.chance(50) {
                urr.subsequent_time_quota = Some(SubsequentTimeQuota(self.seconds()));
            }
        }
        urr
    }

    pub(super) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        *of.choose(&mut self.0).expect("something to choose from")
    }

    /// A predefined rule; rarely one that is not configured.
    fn rule(&mut self) -> &'static str {
        if self.chance(3) { RULES[3] } else { self.one(&RULES[..3]) }
    }

    fn policy(&mut self) -> ForwardingPolicy {
        let name = if self.chance(3) { POLICIES[2] } else { self.one(&POLICIES[..2]) };
        ForwardingPolicy::new(name)
    }

    /// The packet flow descriptions of the application, or that it has none any more.
    pub(super) fn pfds(&mut self) -> PfdManagementRequest {
        const URLS: [&str; 3] =
            ["http://a.example/video", r"^http://.*\.example/news$", "https://a.example/"];
        const CUSTOM: [&str; 3] =
            ["url: http://a.example/", "flow: permit out 17 from any 7001 to assigned", "opaque"];
        let mut contents = PfdContents::default();
        match self.0.random_range(0..6) {
            0 => {
                let port = self.one(&[7000, 7001]);
                let flow = format!("permit out 17 from any {port} to assigned");
                contents.flow_descriptions = vec![flow, "permit out 1 from any to any".into()];
            }
            1 => contents.urls = vec![self.one(&URLS).into(), self.one(&URLS).into()],
            2 => contents.custom = Some(self.one(&CUSTOM).into()),
            // Without name servers it is rejected.
            3 => contents.domain_names = vec![(b"a.example".to_vec(), None)],
            4 => {
                contents.flow_descriptions = vec!["permit out 17 from any 7000 to assigned".into()];
                contents.urls = vec![self.one(&URLS).into()];
            }
            _ => {}
        }
        let contexts = match contents == PfdContents::default() {
            true => vec![],
            false => vec![PfdContext { contents: vec![contents] }],
        };
        let application_id = ApplicationId::new(VIDEO);
        let applications = vec![ApplicationIdsPfds { application_id, contexts }];
        PfdManagementRequest { applications }
    }

    /// Gives the PDRs of a request conditions that few have.
    fn detect(&mut self, request: &mut SessionEstablishmentRequest) {
        let [up, down] = &mut request.create_pdrs[..] else { panic!("two PDRs") };
        match self.0.random_range(0..5) {
            0 => {
                up.pdi.application_id = Some(ApplicationId::new(VIDEO));
                if self.chance(50) {
                    down.pdi.application_id = Some(ApplicationId::new(VIDEO));
                }
            }
            1 => {
                up.activate_predefined_rules = vec![ActivatePredefinedRules::new(self.rule())];
                up.far_id = up.far_id.filter(|_| self.chance(50));
            }
            2 => down.activate_predefined_rules = vec![ActivatePredefinedRules::new(self.rule())],
            _ => {}
        }
        if self.chance(30) {
            let endpoint = CreateTrafficEndpoint {
                id: TrafficEndpointId(3),
                local_fteid: up.pdi.local_fteid.take(),
                network_instance: None,
                ue_ip_addresses: std::mem::take(&mut up.pdi.ue_ip_addresses),
                ethernet: None,
                framed_routes: vec![],
                framed_ipv6_routes: vec![],
                qfis: if self.chance(20) { vec![Qfi(5)] } else { vec![] },
            };
            up.pdi.traffic_endpoints = vec![TrafficEndpointId(3)];
            request.create_traffic_endpoints = vec![endpoint];
        }
        if self.chance(50) {
            request.fq_csids = vec![set(self.one(&[5, 6]))];
        }
        let parameters = request.create_fars[0].forwarding_parameters.as_mut();
        if let Some(parameters) = parameters.filter(|_| self.chance(50)) {
            parameters.forwarding_policy = Some(self.policy());
        }
    }

    /// A session of two PDRs with usage reporting rules, and rarely more.
    pub(super) fn establishment(&mut self, n: u32, now: Moment) -> SessionEstablishmentRequest {
        let (teid, ue) = ends(n);
        let pdi = |interface, local_fteid, is_destination| {
            let ue = UeIpAddress { is_destination, ipv4: Some(ue), ..Default::default() };
            Pdi { local_fteid, ue_ip_addresses: vec![ue], ..Pdi::of(interface) }
        };
        let fteid = FTeid::Given { teid, ipv4: Some(N3), ipv6: None };
        let removal = Some(OuterHeaderRemoval { description: 0 });
        let mut pdrs = vec![
            pdr(1, pdi(Interface::Access, Some(fteid), false), removal),
            pdr(2, pdi(Interface::Core, None, true), None),
        ];
        let count = self.0.random_range(1..5);
        for pdr in &mut pdrs {
            let ids = (1..=count).filter(|_| self.chance(75));
            pdr.urr_ids = ids.map(UrrId).collect();
        }
        let peer = if n.is_multiple_of(2) { IpAddr::from(GNB) } else { gnb6().into() };
        let copies = |draw: &mut Draw| DuplicatingParameters {
            destination_interface: DestinationInterface(Interface::Core),
            outer_header_creation: Some(OuterHeaderCreation::gtpu(0xd000 + n, GNB.into())),
            transport_level_marking: draw.marking(),
            forwarding_policy: None,
        };
        let redirect = self.chance(10).then(|| RedirectInformation {
            kind: RedirectAddressType::Ipv4,
            address: SERVER.to_string().into_bytes(),
            other: None,
        });
        let duplicates = self.chance(15);
        let action = ApplyAction::FORW;
        let up = CreateFar {
            far_id: FarId(1),
            apply_action: if duplicates { action | ApplyAction::DUPL } else { action },
            forwarding_parameters: Some(ForwardingParameters {
                destination_interface: DestinationInterface(Interface::Core),
                redirect,
                ..Default::default()
            }),
            duplicating_parameters: duplicates.then(|| copies(self)).into_iter().collect(),
            ..Default::default()
        };
        let down = CreateFar {
            far_id: FarId(2),
            apply_action: action,
            forwarding_parameters: Some(ForwardingParameters {
                destination_interface: DestinationInterface(Interface::Access),
                outer_header_creation: Some(OuterHeaderCreation::gtpu(0xa000 + n, peer)),
                transport_level_marking: self.marking(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let limited = self.chance(15);
        let packet_rate = limited.then(|| {
            let packets = self.0.random_range(1..8);
            PacketRate { uplink: Some((0, packets)), downlink: None }
        });
        let qer = CreateQer {
            qer_id: QerId(1),
            gate_status: GateStatus::default(),
            qfi: Some(Qfi(9)),
            packet_rate,
            ..Default::default()
        };
        let timer = self.chance(50).then(|| UserPlaneInactivityTimer(self.seconds()));
        let mut request = SessionEstablishmentRequest {
            node_id: NodeId::Ip(SMF),
            cp_fseid: FSeid::new(u64::from(n) + 1, SMF),
            create_pdrs: pdrs,
            create_fars: vec![up, down],
            create_urrs: (1..=count).map(|id| self.urr(id, count, now)).collect(),
            create_qers: vec![qer],
            create_bar: None,
            pdn_type: Some(PdnType(1)),
            inactivity_timer: timer,
            flags: None,
            create_traffic_endpoints: vec![],
            fq_csids: vec![],
        };
        self.detect(&mut request);
        request
    }

    /// A change, or a query of usage, in the middle of traffic.
    pub(super) fn modification(&mut self) -> SessionModificationRequest {
        let mut request = SessionModificationRequest::default();
        let urr_id = UrrId(self.0.random_range(1..3));
        match self.0.random_range(0..11) {
            0 => request.query_urrs = vec![QueryUrr { urr_id }],
            // All of them (QAURR).
            1 => request.flags = Some(PfcpSmReqFlags(4)),
            2 | 3 => {
                let [total, uplink, downlink] = self.volume();
                request.update_urrs = vec![UpdateUrr {
                    urr_id,
                    volume_quota: Some(VolumeQuota { total, uplink, downlink }),
                    time_quota: self.chance(30).then(|| TimeQuota(self.seconds())),
                    ..Default::default()
                }];
            }
            // User space carries the session from now on.
            4 => {
                request.update_fars = vec![UpdateFar {
                    far_id: FarId(2),
                    update_forwarding_parameters: Some(UpdateForwardingParameters {
                        transport_level_marking: Some(TransportLevelMarking {
                            traffic_class: 0x28,
                            mask: 0xfc,
                        }),
                        ..Default::default()
                    }),
                    ..Default::default()
                }];
            }
            5 => request.inactivity_timer = Some(UserPlaneInactivityTimer(self.seconds())),
            6 => {
                let update = UpdatePdr {
                    pdr_id: PdrId(1),
                    activate_predefined_rules: (0..self.0.random_range(0..2))
                        .map(|_| ActivatePredefinedRules::new(self.rule()))
                        .collect(),
                    deactivate_predefined_rules: RULES[..3]
                        .iter()
                        .filter(|_| self.chance(50))
                        .map(|name| DeactivatePredefinedRules::new(name))
                        .collect(),
                    ..Default::default()
                };
                request.update_pdrs = vec![update];
            }
            7 => {
                request.update_fars = vec![UpdateFar {
                    far_id: FarId(1),
                    update_forwarding_parameters: Some(UpdateForwardingParameters {
                        forwarding_policy: Some(self.policy()),
                        ..Default::default()
                    }),
                    ..Default::default()
                }];
            }
            // Refused where the session has no traffic endpoint.
            8 => {
                let id = TrafficEndpointId(3);
                if self.chance(50) {
                    request.remove_traffic_endpoints = vec![RemoveTrafficEndpoint { id }];
                } else {
                    let qfis = vec![Qfi(self.one(&[5, 9]))];
                    let update = UpdateTrafficEndpoint { id, qfis, ..Default::default() };
                    request.update_traffic_endpoints = vec![update];
                }
            }
            9 => request.fq_csids = vec![set(self.one(&[5, 6]))],
            _ => request.remove_urrs = vec![RemoveUrr { urr_id }],
        }
        request
    }
}

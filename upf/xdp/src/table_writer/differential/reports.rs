//! Random requests for N4 above `kernel` and N4 above `xdp`: usage reporting rules, traffic
//! endpoints, predefined rules, forwarding policies, PFDs and session sets. The answers and reports
//! to the SMF must be equal, with their triggers, volumes, durations and times. Time is the test's
//! own, so that hours pass in no time; only the packets pass by the machine's clock.
use super::{Pair, in_namespace};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_datapath::conformance::{g_pdu, udp_packet};
use martlet_upf_datapath::counters::Counters;
use martlet_upf_datapath::random::{GNB, HOST, N3, SERVER, checksum, gnb6, set_up};
use martlet_upf_datapath::{Buffered, Change, Datapath, DatapathError, Event, EventSender, Usage};
use martlet_upf_n4::testing::{SMF, address, pdr};
use martlet_upf_n4::{Moment, N4, Settings};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Sessions of one script, and its steps.
const SESSIONS: u32 = 4;
const STEPS: usize = 8;
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

/// The steps in which packets pass: when each began, by the machine's clock and by the test's.
struct Steps {
    /// A tick of the programs' clock.
    tick: Duration,
    begun: Vec<(Instant, Instant)>,
    ended: Instant,
}

impl Steps {
    /// Begins a step, as soon as the programs' clock tells its packets from those before.
    fn begin(&mut self, now: Instant) {
        std::thread::sleep((self.ended + 4 * self.tick).saturating_duration_since(Instant::now()));
        self.begun.push((Instant::now(), now));
    }

    /// The time of a packet by the test's clock. Times of the programs are exact to a tick.
    fn time(&self, packet: Instant) -> Instant {
        let before = self.begun.iter().rfind(|(begun, _)| *begun <= packet + 2 * self.tick);
        before.map_or(packet, |(_, now)| *now)
    }
}

/// A datapath whose packets have times by the test's clock.
struct Timed {
    datapath: Arc<Mutex<dyn Datapath>>,
    steps: Arc<Mutex<Steps>>,
}

impl Timed {
    fn with<T>(&self, act: impl FnOnce(&mut dyn Datapath) -> T) -> T {
        act(&mut *self.datapath.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn time(&self, packet: Option<Instant>) -> Option<Instant> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        packet.map(|packet| steps.time(packet))
    }
}

impl Datapath for Timed {
    fn name(&self) -> &'static str {
        self.with(|datapath| datapath.name())
    }
    fn features(&self) -> UpFunctionFeatures {
        self.with(|datapath| datapath.features())
    }
    fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError> {
        self.with(|datapath| datapath.apply(change))
    }
    fn remove(&mut self, seid: u64) -> Vec<Usage> {
        self.with(|datapath| datapath.remove(seid))
    }
    fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        self.with(|datapath| datapath.take_usage(seid, urrs))
    }
    fn forwarded(&self, seid: u64) -> [u64; 2] {
        self.with(|datapath| datapath.forwarded(seid))
    }
    fn last_activity(&self, seid: u64) -> Option<Instant> {
        self.time(self.with(|datapath| datapath.last_activity(seid)))
    }
    fn last_packet(&self, seid: u64, urr: u32) -> Option<Instant> {
        self.time(self.with(|datapath| datapath.last_packet(seid, urr)))
    }
    fn buffered(&self, seid: u64) -> Buffered {
        self.with(|datapath| datapath.buffered(seid))
    }
    fn events(&self) -> EventSender {
        self.with(|datapath| datapath.events())
    }
    fn counters(&self) -> Arc<Counters> {
        self.with(|datapath| datapath.counters())
    }
}

/// N4 above one datapath, and its SMF.
struct Side {
    n4: N4,
    sequence: u32,
    /// SEIDs that N4 has chosen, by those of the SMF.
    seids: BTreeMap<u64, u64>,
    /// What N4 has sent by itself, with the SMF's SEID.
    reports: Vec<(u64, Message)>,
}

impl Side {
    fn new(settings: Settings, datapath: Timed, now: Moment) -> Side {
        let n4 = N4::new(settings, Box::new(datapath), now);
        let mut side = Side { n4, sequence: 0, seids: BTreeMap::new(), reports: Vec::new() };
        let request = AssociationSetupRequest {
            node_id: NodeId::Ip(SMF),
            recovery: RecoveryTimeStamp(1),
            up_features: None,
            cp_features: None,
            retention: None,
        };
        assert!(matches!(
            side.ask(None, request.into(), now),
            Message::AssociationSetupResponse(answer) if answer.cause.is_accepted()
        ));
        side
    }

    /// Sends a request and returns the response.
    fn ask(&mut self, seid: Option<u64>, message: Message, now: Moment) -> Message {
        self.sequence += 1;
        let packet = Packet { seid, sequence: self.sequence, message };
        self.n4.receive(address(), &packet.encode(), now);
        self.take(now).expect("a response")
    }

    /// Reads what N4 has sent: answers reports, and returns the response to a request.
    fn take(&mut self, now: Moment) -> Option<Message> {
        let mut answer = None;
        loop {
            let sent = self.n4.take_outgoing();
            if sent.is_empty() {
                return answer;
            }
            for out in sent {
                let packet = Packet::decode(&out.bytes).expect("the sent message decodes");
                if !packet.message.is_request() {
                    answer = Some(packet.message);
                    continue;
                }
                let cp = packet.seid.expect("a message of a session");
                self.reports.push((cp, without_packets(packet.message)));
                let response = SessionReportResponse {
                    cause: Cause::ACCEPTED,
                    offending_ie: None,
                    flags: None,
                };
                let seid = self.seids.get(&cp).copied().unwrap_or_default();
                let response = Packet::session(seid, packet.sequence, response).encode();
                self.n4.receive(address(), &response, now);
            }
        }
    }

    /// Lets time pass until then, by all deadlines.
    fn advance(&mut self, from: Moment, to: Moment) {
        while let Some(due) = self.n4.next_timeout().filter(|due| *due <= to.instant) {
            let now = later(from, due.saturating_duration_since(from.instant));
            self.n4.poll(now);
            self.take(now);
        }
    }

    /// The SMF's SEID of a session.
    fn cp_of(&self, seid: u64) -> u64 {
        let of = self.seids.iter().find(|(_, own)| **own == seid);
        *of.expect("a session of ours").0
    }
}

fn later(now: Moment, by: Duration) -> Moment {
    Moment { instant: now.instant + by, wall: now.wall + by }
}

/// A message without what differs: the times of packets by the machine's clock, and the order of
/// usage reports.
fn without_packets(mut message: Message) -> Message {
    macro_rules! clear {
        ($reports:expr) => {{
            for report in &mut $reports {
                (report.first_packet, report.last_packet) = (None, None);
            }
            $reports.sort_by_key(|report| (report.urr_id.0, report.ur_seqn.0));
        }};
    }
    match &mut message {
        Message::SessionReportRequest(request) => clear!(request.usage_reports),
        Message::SessionModificationResponse(response) => clear!(response.usage_reports),
        Message::SessionDeletionResponse(response) => clear!(response.usage_reports),
        _ => {}
    }
    message
}

/// The application of PDRs.
const VIDEO: &str = "video";
/// What predefined rules and forwarding policies are drawn from; the last one is not configured.
const RULES: [&str; 4] = ["port-7000", "nothing", "flow-7", "unknown"];
const POLICIES: [&str; 3] = ["to-board", "to-default", "unknown"];

/// A set of sessions.
fn set(csid: u16) -> FqCsid {
    FqCsid { node: CsidNode::Ip(SMF), csids: vec![csid] }
}

/// A segment of TCP with ports, as a packet.
fn segment(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = (40 + payload.len() as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, length[0], length[1], 0, 0, 0x40, 0, 64, 6, 0, 0];
    packet.extend([from.0.octets(), to.0.octets()].concat());
    checksum(&mut packet);
    packet.extend([from.1.to_be_bytes(), to.1.to_be_bytes()].concat());
    packet.extend([0, 0, 0, 9, 0, 0, 0, 7, 0x50, flags, 1, 0, 0, 0, 0, 0]);
    packet.extend(payload);
    packet
}

/// The tunnel and the address of a session.
fn ends(n: u32) -> (u32, Ipv4Addr) {
    (0x200 + n, Ipv4Addr::from_bits(0x0a2d_0102 + n))
}

/// Draws what the SMF asks for.
struct Draw(StdRng);

impl Draw {
    fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    fn seconds(&mut self) -> u32 {
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

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
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
    fn pfds(&mut self) -> PfdManagementRequest {
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
    fn establishment(&mut self, n: u32, now: Moment) -> SessionEstablishmentRequest {
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
    fn modification(&mut self) -> SessionModificationRequest {
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

/// Both sides, and the time.
struct Script<'a> {
    pair: &'a mut Pair,
    sides: [Side; 2],
    steps: Arc<Mutex<Steps>>,
    now: Moment,
    seed: u64,
}

impl Script<'_> {
    /// Sends a request to both, whose responses must be equal.
    fn ask(&mut self, cp: u64, message: &Message) -> Message {
        let ask = |side: &mut Side| {
            let seid = side.seids.get(&cp).copied().unwrap_or_default();
            without_packets(side.ask(Some(seid), message.clone(), self.now))
        };
        let [kernel, xdp] = self.sides.each_mut().map(ask);
        assert_eq!(kernel, xdp, "seed {}: {message:#?}", self.seed);
        self.compare(&format!("{message:#?}"));
        kernel
    }

    /// Sends a message of nodes to both, whose responses must be equal.
    fn ask_node(&mut self, message: &Message) -> Message {
        let ask = |side: &mut Side| side.ask(None, message.clone(), self.now);
        let [kernel, xdp] = self.sides.each_mut().map(ask);
        assert_eq!(kernel, xdp, "seed {}: {message:#?}", self.seed);
        self.compare(&format!("{message:#?}"));
        kernel
    }

    /// Deletes a set of sessions; the rest of these.
    fn delete_set(&mut self, csid: u16, established: Vec<u64>) -> Vec<u64> {
        let node_id = NodeId::Ip(SMF);
        let request = SessionSetDeletionRequest { node_id, fq_csids: vec![set(csid)] };
        let answer = self.ask_node(&request.into());
        assert!(
            matches!(&answer, Message::SessionSetDeletionResponse(it) if it.cause.is_accepted())
        );
        let query = SessionModificationRequest::default();
        let is_there = |cp: &u64| {
            let answer = self.ask(*cp, &query.clone().into());
            matches!(&answer, Message::SessionModificationResponse(it) if it.cause.is_accepted())
        };
        established.into_iter().filter(is_there).collect()
    }

    /// What both have sent by themselves must be equal.
    fn compare(&mut self, after: &str) -> usize {
        let [kernel, xdp] = self.sides.each_mut().map(|side| {
            let mut reports = std::mem::take(&mut side.reports);
            // Sessions whose deadlines are equal report in the order of their random SEIDs.
            reports.sort_by_key(|(cp, _)| *cp);
            reports
        });
        assert_eq!(kernel, xdp, "reports: seed {}, after {after}", self.seed);
        kernel.len()
    }

    /// Establishes a session on both, or on none.
    fn establish(&mut self, request: &SessionEstablishmentRequest) -> bool {
        let (cp, now) = (request.cp_fseid.seid, self.now);
        let establish = |side: &mut Side| {
            let answer = side.ask(Some(0), request.clone().into(), now);
            let Message::SessionEstablishmentResponse(answer) = answer else {
                panic!("another response: {answer:?}")
            };
            side.seids.extend(answer.up_fseid.map(|seid| (cp, seid.seid)));
            (answer.cause, answer.failed_rule)
        };
        let [kernel, xdp] = self.sides.each_mut().map(establish);
        assert_eq!(kernel, xdp, "seed {}: {request:#?}", self.seed);
        kernel.0.is_accepted()
    }

    fn advance(&mut self, by: Duration) -> usize {
        let to = later(self.now, by);
        self.sides.iter_mut().for_each(|side| side.advance(self.now, to));
        self.now = to;
        self.compare("time passed")
    }

    /// Gives both the events of their datapaths, until there are none.
    fn events(&mut self) -> usize {
        loop {
            let of_both = self.pair.events();
            if of_both.iter().all(Vec::is_empty) {
                return self.compare("packets");
            }
            let mut names = Vec::new();
            for (side, events) in self.sides.iter_mut().zip(of_both) {
                // Their SEIDs differ.
                let named = events.into_iter().map(|event| (named(&event, side), event));
                let mut named: Vec<(String, Event)> = named.collect();
                named.sort_by(|one, other| one.0.cmp(&other.0));
                for (_, event) in &named {
                    side.n4.event(event.clone(), self.now);
                    side.take(self.now);
                }
                names.push(named.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
            }
            assert_eq!(names[0], names[1], "events: seed {}", self.seed);
        }
    }

    /// Some packets pass.
    fn packets(&mut self, draw: &mut Draw) -> usize {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).begin(self.now.instant);
        let mut reports = 0;
        for _ in 0..draw.0.random_range(0..8) {
            let (teid, ue) = ends(draw.0.random_range(0..SESSIONS));
            let payload = vec![b'p'; draw.0.random_range(0..400)];
            let (up, http, port) = (draw.chance(50), draw.chance(25), draw.one(&[7000, 7001]));
            let packet = match (up, http) {
                (true, false) => udp_packet((ue, 9000), (HOST, port), &payload),
                (false, false) => udp_packet((HOST, port), (ue, 9000), &payload),
                (true, true) => {
                    let path = draw.one(&["video/1", "news", "other"]);
                    let request = format!("GET /{path} HTTP/1.1\r\nHost: a.example\r\n\r\n");
                    let (flags, payload) =
                        draw.one(&[(0x02, &b""[..]), (0x10, b""), (0x18, request.as_bytes())]);
                    segment((ue, 5000), (HOST, 80), flags, payload)
                }
                (false, true) => segment((HOST, 80), (ue, 5000), 0x18, b"HTTP/1.1 200 OK\r\n\r\n"),
            };
            let (kernel, xdp) = match up {
                true => self.pair.uplink(&g_pdu(teid, Some(9), &packet), true, false),
                false => self.pair.downlink(&packet),
            };
            assert_eq!(kernel, xdp, "kernel, and xdp: seed {}", self.seed);
            reports += self.events();
        }
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).ended = Instant::now();
        reports
    }
}

/// An event with the SMF's SEID.
fn named(event: &Event, side: &Side) -> String {
    let mut event = event.clone();
    match &mut event {
        Event::DownlinkData { seid, .. }
        | Event::UsageReached { seid, .. }
        | Event::TrafficStarted { seid, .. } => *seid = side.cp_of(*seid),
        Event::ErrorIndication { .. } | Event::Answer { .. } => {}
    }
    format!("{event:?}")
}

/// Plays one script; the number of messages that N4 sent by itself.
fn play(pair: &mut Pair, seed: u64, tick: Duration) -> usize {
    let now = Moment::now();
    let steps = Steps { tick, begun: Vec::new(), ended: Instant::now() };
    let steps = Arc::new(Mutex::new(steps));
    let datapaths: [Arc<Mutex<dyn Datapath>>; 2] = [pair.kernel.shared(), pair.xdp.clone()];
    let sides = datapaths.map(|datapath| {
        let datapath = Timed { datapath, steps: steps.clone() };
        Side::new(Settings::from(&pair.config), datapath, now)
    });
    let mut script = Script { pair, sides, steps, now, seed };
    let mut draw = Draw(StdRng::seed_from_u64(seed));
    let mut reports = 0;
    script.ask_node(&draw.pfds().into());
    let mut established: Vec<u64> = (0..SESSIONS)
        .filter(|n| script.establish(&draw.establishment(*n, now)))
        .map(|n| u64::from(n) + 1)
        .collect();
    for _ in 0..STEPS {
        // Not by whole seconds alone: no deadline is due in the moment of a packet.
        let by = u64::from(draw.seconds()) * 1000 + 70;
        reports += script.advance(Duration::from_millis(by));
        reports += script.packets(&mut draw);
        let some = established.choose(&mut draw.0).copied();
        if let Some(cp) = some.filter(|_| draw.chance(50)) {
            script.ask(cp, &draw.modification().into());
        }
        if draw.chance(25) {
            script.ask_node(&draw.pfds().into());
        }
        if draw.chance(4) {
            established = script.delete_set(draw.one(&[5, 6]), established);
        }
    }
    for cp in established {
        let answer = script.ask(cp, &SessionDeletionRequest {}.into());
        assert!(
            matches!(&answer, Message::SessionDeletionResponse(it) if it.cause.is_accepted()),
            "seed {seed}: {answer:?}"
        );
    }
    // What the last packets raised is of sessions that are gone.
    script.pair.events();
    reports
}

#[test]
fn usage_reports_agree_on_kernel_and_xdp() {
    let (sets, first) = set_up();
    in_namespace(move || {
        let mut pair = Pair::new(false);
        let (_, tick) = pair.xdp().programs().clock().expect("the programs run");
        let tick = Duration::from_nanos(tick.into());
        let scripts = sets.div_ceil(6);
        let reports: usize = (0..scripts).map(|n| play(&mut pair, first + n, tick)).sum();
        assert!(reports as u64 > scripts * 4, "{reports} reports in {scripts} scripts");
        // Of few scripts, none may have such a packet: quotas stop most.
        let followed = pair.on_board[0] > 0 || scripts < 40;
        assert!(followed, "no forwarding policy was followed");
    });
}

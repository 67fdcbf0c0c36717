//! A scripted SMF for tests.
use crate::{Moment, N4, Outgoing, Settings};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_config::{KernelLimits, UpfConfig};
use martlet_upf_datapath::conformance::Rig;
use martlet_upf_kernel::bench::{Bench, GNB};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Address of the SMF.
pub const SMF: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 7));
/// SEID of the SMF's session.
pub const CP_SEID: u64 = 0x5001;
/// Address of the UE.
pub const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
/// The gNB's end of the tunnel.
pub const REMOTE: u32 = 0xbeef;

/// A scripted SMF with its UPF.
pub struct Smf {
    /// The N4 under test.
    pub n4: N4,
    /// Its datapath.
    pub bench: Bench,
    /// The current time.
    pub now: Moment,
    /// The last sequence number.
    pub sequence: u32,
}

/// Socket address of the SMF.
pub fn address() -> SocketAddr {
    SocketAddr::new(SMF, PORT)
}

impl Smf {
    /// Before the association.
    pub fn alone() -> Self {
        Self::with(|_| {})
    }

    /// Before the association, with a changed configuration.
    pub fn with(configure: impl FnOnce(&mut UpfConfig)) -> Self {
        let mut config = UpfConfig::default();
        configure(&mut config);
        let bench = Bench::new(KernelLimits::default());
        let now = Moment::now();
        let datapath = bench.boxed();
        Smf { n4: N4::new(Settings::from(&config), datapath, now), bench, now, sequence: 100 }
    }

    /// With an association.
    pub fn associated() -> Self {
        let mut smf = Self::alone();
        smf.associate(1);
        smf
    }

    /// With an association, and without heartbeats.
    pub fn without_heartbeats() -> Self {
        let mut smf = Self::with(|config| config.n4.heartbeat_s = 0);
        smf.associate(1);
        smf
    }

    /// Creates an association and a session whose downlink is forwarded; returns the UP function's
    /// SEID and TEID.
    pub fn in_session() -> (Self, u64, u32) {
        let mut smf = Self::associated();
        let (seid, teid) = smf.establish(establishment());
        smf.accepted(seid, to_gnb(REMOTE));
        (smf, seid, teid)
    }

    /// Creates an association with an SMF that supports load and overload control, without
    /// heartbeats.
    pub fn informed(configure: impl FnOnce(&mut UpfConfig)) -> Self {
        let mut smf = Self::with(|config| {
            config.n4.heartbeat_s = 0;
            configure(config);
        });
        let request = AssociationSetupRequest {
            node_id: NodeId::Ip(SMF),
            recovery: RecoveryTimeStamp(1),
            up_features: None,
            cp_features: Some(CpFunctionFeatures::LOAD | CpFunctionFeatures::OVRL),
            retention: None,
        };
        smf.node(request);
        smf
    }

    /// Sets up an association with a recovery time stamp.
    pub fn associate(&mut self, recovery: u32) -> AssociationSetupResponse {
        let request = AssociationSetupRequest {
            node_id: NodeId::Ip(SMF),
            recovery: RecoveryTimeStamp(recovery),
            up_features: None,
            cp_features: None,
            retention: None,
        };
        let Message::AssociationSetupResponse(answer) = self.node(request) else {
            panic!("another answer")
        };
        answer
    }

    /// Delivers a datagram and returns the responses.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<Packet> {
        self.n4.receive(address(), bytes, self.now);
        self.sent()
    }

    /// The response to a datagram of another peer.
    pub fn receive_from(&mut self, from: IpAddr, bytes: &[u8]) -> Vec<Packet> {
        self.n4.receive(SocketAddr::new(from, PORT), bytes, self.now);
        self.n4
            .take_outgoing()
            .iter()
            .map(|out| Packet::decode(&out.bytes).expect("the sent message decodes"))
            .collect()
    }

    /// The messages sent, all of them to the SMF.
    pub fn sent(&mut self) -> Vec<Packet> {
        let read = |out: Outgoing| {
            assert_eq!(out.to, address());
            Packet::decode(&out.bytes).expect("the sent message decodes")
        };
        self.n4.take_outgoing().into_iter().map(read).collect()
    }

    fn ask(&mut self, packet: Packet) -> Packet {
        let mut answers = self.receive(&packet.encode());
        let answer = answers.pop().expect("an answer");
        assert_eq!((answers.len(), answer.sequence), (0, packet.sequence));
        answer
    }

    /// Sends a node message and returns the response.
    pub fn node(&mut self, message: impl Into<Message>) -> Message {
        self.sequence += 1;
        self.ask(Packet::node(self.sequence, message)).message
    }

    /// Sends a session message and returns the response.
    pub fn session(&mut self, seid: u64, message: impl Into<Message>) -> Packet {
        self.sequence += 1;
        self.ask(Packet::session(seid, self.sequence, message))
    }

    /// Sends an establishment request and returns the response.
    pub fn try_establish(
        &mut self,
        request: SessionEstablishmentRequest,
    ) -> SessionEstablishmentResponse {
        let cp_seid = request.cp_fseid.seid;
        let answer = self.session(0, request);
        assert_eq!(answer.seid, Some(cp_seid));
        let Message::SessionEstablishmentResponse(answer) = answer.message else {
            panic!("another answer")
        };
        answer
    }

    /// Returns the UP function's SEID and the allocated TEID.
    pub fn establish(&mut self, request: SessionEstablishmentRequest) -> (u64, u32) {
        let answer = self.try_establish(request);
        assert_eq!(answer.cause, Cause::ACCEPTED, "{answer:?}");
        let [
            CreatedPdr {
                pdr_id: PdrId(1),
                local_fteid: Some(FTeid::Given { teid, ipv4, ipv6: None }),
                ..
            },
        ] = answer.created_pdrs[..]
        else {
            panic!("{answer:?}")
        };
        assert_eq!(ipv4, Some(Ipv4Addr::new(127, 0, 0, 8)));
        (answer.up_fseid.expect("an F-SEID").seid, teid)
    }

    /// Sends a modification request and returns the response.
    pub fn modify(
        &mut self,
        seid: u64,
        request: SessionModificationRequest,
    ) -> SessionModificationResponse {
        let answer = self.session(seid, request);
        let Message::SessionModificationResponse(answer) = answer.message else {
            panic!("another answer")
        };
        answer
    }

    /// Sends a modification request that must be accepted.
    pub fn accepted(
        &mut self,
        seid: u64,
        request: SessionModificationRequest,
    ) -> SessionModificationResponse {
        let answer = self.modify(seid, request);
        assert_eq!(answer.cause, Cause::ACCEPTED, "{answer:?}");
        answer
    }

    /// Deletes a session.
    pub fn delete(&mut self, seid: u64) -> SessionDeletionResponse {
        let answer = self.session(seid, SessionDeletionRequest {});
        let Message::SessionDeletionResponse(answer) = answer.message else {
            panic!("another answer")
        };
        answer
    }

    /// Advances the time through all deadlines; returns the messages sent.
    pub fn pass(&mut self, time: Duration) -> Vec<Packet> {
        let end = self.now.instant + time;
        while let Some(due) = self.n4.next_timeout().filter(|due| *due <= end) {
            let step = due.saturating_duration_since(self.now.instant);
            self.now = Moment { instant: self.now.instant + step, wall: self.now.wall + step };
            self.n4.poll(self.now);
        }
        let step = end.saturating_duration_since(self.now.instant);
        self.now = Moment { instant: end, wall: self.now.wall + step };
        self.sent()
    }

    /// Passes the events of the datapath to N4; returns the resulting reports.
    pub fn reports(&mut self) -> Vec<(Packet, SessionReportRequest)> {
        while let Some(event) = self.bench.event() {
            self.n4.event(event, self.now);
        }
        self.sent().into_iter().filter_map(report_of).collect()
    }

    /// Answers a report.
    pub fn answer(&mut self, report: &Packet, cause: Cause, flags: Option<PfcpSrRspFlags>) {
        let up_seid = self.n4.sessions.keys().next().copied().unwrap_or(0);
        let response = SessionReportResponse { cause, offending_ie: None, flags };
        assert_eq!(self.receive(&Packet::session(up_seid, report.sequence, response).encode()), []);
    }
}

/// The session report in a packet, if it is one.
pub fn report_of(packet: Packet) -> Option<(Packet, SessionReportRequest)> {
    match packet.message.clone() {
        Message::SessionReportRequest(report) => Some((packet, report)),
        _ => None,
    }
}

fn pdi(interface: Interface, local_fteid: Option<FTeid>, is_destination: bool) -> Pdi {
    let ue = UeIpAddress { is_destination, ipv4: Some(UE), ..Default::default() };
    Pdi {
        local_fteid,
        network_instance: Some(NetworkInstance::new("internet")),
        ue_ip_addresses: vec![ue],
        ..Pdi::of(interface)
    }
}

/// A Create PDR.
pub fn pdr(id: u16, pdi: Pdi, removal: Option<OuterHeaderRemoval>) -> CreatePdr {
    CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(255),
        pdi,
        outer_header_removal: removal,
        far_id: Some(FarId(id.into())),
        urr_ids: vec![],
        qer_ids: vec![QerId(1)],
        activate_predefined_rules: vec![],
    }
}

/// The same for another session.
pub fn another(cp_seid: u64) -> SessionEstablishmentRequest {
    SessionEstablishmentRequest { cp_fseid: FSeid::new(cp_seid, SMF), ..establishment() }
}

/// A session before the SMF knows the gNB: downlink packets are buffered.
pub fn establishment() -> SessionEstablishmentRequest {
    let choose = FTeid::Choose { ipv4: true, ipv6: false, choose_id: None };
    let removal = Some(OuterHeaderRemoval { description: 0 });
    SessionEstablishmentRequest {
        node_id: NodeId::Ip(SMF),
        cp_fseid: FSeid::new(CP_SEID, SMF),
        create_pdrs: vec![
            pdr(1, pdi(Interface::Access, Some(choose), false), removal),
            pdr(2, pdi(Interface::Core, None, true), None),
        ],
        create_fars: vec![
            CreateFar {
                far_id: FarId(1),
                apply_action: ApplyAction::FORW,
                forwarding_parameters: Some(ForwardingParameters {
                    destination_interface: DestinationInterface(Interface::Core),
                    ..Default::default()
                }),
                ..Default::default()
            },
            CreateFar {
                far_id: FarId(2),
                apply_action: ApplyAction::BUFF | ApplyAction::NOCP,
                ..Default::default()
            },
        ],
        create_urrs: vec![],
        create_qers: vec![CreateQer {
            qer_id: QerId(1),
            gate_status: GateStatus::default(),
            mbr: Some(Mbr { uplink: 1_000_000, downlink: 1_000_000 }),
            qfi: Some(Qfi(9)),
            ..Default::default()
        }],
        create_bar: None,
        pdn_type: Some(PdnType(1)),
        inactivity_timer: None,
        flags: None,
        create_traffic_endpoints: vec![],
        fq_csids: vec![],
    }
}

/// A usage reporting rule of volume and duration, put on both PDRs of an establishment.
pub fn measured(
    mut request: SessionEstablishmentRequest,
    triggers: ReportingTriggers,
    change: impl FnOnce(&mut CreateUrr),
) -> SessionEstablishmentRequest {
    let mut urr = CreateUrr {
        urr_id: UrrId(7),
        measurement_method: MeasurementMethod(3),
        reporting_triggers: triggers,
        ..Default::default()
    };
    change(&mut urr);
    request.create_urrs.push(urr);
    request.create_pdrs.iter_mut().for_each(|pdr| pdr.urr_ids.push(UrrId(7)));
    request
}

fn far_2(
    apply_action: ApplyAction,
    to: Option<UpdateForwardingParameters>,
) -> SessionModificationRequest {
    let far = UpdateFar {
        far_id: FarId(2),
        apply_action: Some(apply_action),
        update_forwarding_parameters: to,
        ..Default::default()
    };
    SessionModificationRequest { update_fars: vec![far], ..Default::default() }
}

/// Forwards the downlink to the gNB.
pub fn to_gnb(teid: u32) -> SessionModificationRequest {
    let parameters = UpdateForwardingParameters {
        destination_interface: Some(DestinationInterface(Interface::Access)),
        outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, GNB)),
        ..Default::default()
    };
    far_2(ApplyAction::FORW, Some(parameters))
}

/// The UE is idle.
pub fn idle() -> SessionModificationRequest {
    far_2(ApplyAction::BUFF | ApplyAction::NOCP, None)
}

//! An SMF, a gNB and a host of the data network, as sockets.
use crate::common::peers::Peer;
use crate::common::rig::{GNB, N3};
use crate::common::{REMOTE as HOST, run};
use martlet_gtpu::{GPdu, Message as Gtpu, decode};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf::StatusSource;
use martlet_upf::conformance::{g_pdu, payload_of, udp_packet};
use martlet_upf_n4::testing::{CP_SEID, SMF};
pub use martlet_upf_n4::testing::{REMOTE, UE, establishment, idle, measured, pdr, to_gnb};
use std::collections::{HashSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Limit for what is expected.
const LONG: Duration = Duration::from_secs(20);
/// Limit for what is not.
const SHORT: Duration = Duration::from_millis(150);

/// A server that only the network instance `edge` reaches.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);
/// The UPF's interface there, and the router behind it.
pub const EDGE_INTERFACE: &str = "edgea";
pub const EDGE_ROUTER: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 2);

/// The network of the network instance `edge`.
pub struct Edge {
    server: UdpSocket,
    /// Its namespace.
    _peer: Peer,
}

impl Edge {
    pub fn connect() -> Edge {
        let peer = Peer::connect("edge", Ipv4Addr::new(10, 97, 0, 1), EDGE_ROUTER);
        run("ip", &format!("-n {} addr add {SERVER}/32 dev lo", peer.0));
        let server = peer.within(|| socket((SERVER, 7000).into()));
        Edge { server, _peer: peer }
    }
}

pub struct Lab {
    smf: UdpSocket,
    upf: SocketAddr,
    gnb: UdpSocket,
    hosts: [UdpSocket; 2],
    edge: Edge,
    sequence: u32,
    reports: VecDeque<SessionReportRequest>,
    answered: HashSet<u32>,
    /// Reports are answered.
    pub answers: bool,
    status: StatusSource,
}

/// A session that was established.
#[derive(Debug, Clone, Copy)]
pub struct Made {
    pub seid: u64,
    pub teid: u32,
}

fn socket(address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind(address).expect("a port");
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    socket
}

impl Lab {
    pub fn new(status: StatusSource, edge: Edge) -> Lab {
        let host = |port| socket((HOST, port).into());
        Lab {
            smf: socket(SocketAddr::new(SMF, PORT)),
            upf: SocketAddr::from((N3, PORT)),
            gnb: socket((GNB, 2152).into()),
            hosts: [host(7000), host(7001)],
            edge,
            sequence: 0,
            reports: VecDeque::new(),
            answered: HashSet::new(),
            answers: true,
            status,
        }
    }

    /// Sessions at the UPF.
    pub fn sessions(&self) -> u64 {
        (self.status)()["sessionCount"].as_u64().unwrap_or(u64::MAX)
    }

    pub fn associate(&mut self) -> AssociationSetupResponse {
        let request = AssociationSetupRequest {
            node_id: NodeId::Ip(SMF),
            recovery: RecoveryTimeStamp(1),
            up_features: None,
            cp_features: None,
            retention: None,
        };
        let Message::AssociationSetupResponse(answer) = self.node(request) else { panic!() };
        answer
    }

    /// Starts again after a case that failed.
    pub fn reset(&mut self) {
        self.answers = true;
        self.node(AssociationReleaseRequestMessage { node_id: NodeId::Ip(SMF) });
        self.associate();
        self.reports.clear();
        self.drain();
    }

    /// Receives one message; session reports are kept, and answered.
    fn receive(&mut self) -> Option<Packet> {
        let mut buffer = [0; 65_535];
        let (length, from) = self.smf.recv_from(&mut buffer).ok()?;
        assert_eq!(from, self.upf);
        let packet = Packet::decode(&buffer[..length]).expect("a message");
        let Message::SessionReportRequest(report) = &packet.message else { return Some(packet) };
        if self.answered.insert(packet.sequence) {
            self.reports.push_back(report.clone());
        }
        if self.answers {
            let cause = Cause::ACCEPTED;
            let answer = SessionReportResponse { cause, offending_ie: None, flags: None };
            let seid = packet.seid.unwrap_or(0);
            let answer = Packet::session(seid, packet.sequence, answer);
            self.smf.send_to(&answer.encode(), self.upf).expect("sent");
        }
        None
    }

    /// Sends bytes whose sequence number is `sequence`, and returns the response.
    pub fn exchange(&mut self, bytes: &[u8], sequence: u32) -> Packet {
        self.smf.send_to(bytes, self.upf).expect("sent");
        let deadline = Instant::now() + LONG;
        while Instant::now() < deadline {
            if let Some(packet) = self.receive().filter(|packet| packet.sequence == sequence) {
                return packet;
            }
        }
        panic!("no response to {bytes:02x?}");
    }

    pub fn next_sequence(&mut self) -> u32 {
        self.sequence += 1;
        self.sequence
    }

    pub fn node(&mut self, message: impl Into<Message>) -> Message {
        let packet = Packet::node(self.next_sequence(), message);
        self.exchange(&packet.encode(), packet.sequence).message
    }

    fn session(&mut self, seid: u64, message: impl Into<Message>) -> Message {
        let packet = Packet::session(seid, self.next_sequence(), message);
        self.exchange(&packet.encode(), packet.sequence).message
    }

    /// A request of a session with these elements as bytes.
    pub fn raw(&mut self, message_type: u8, seid: u64, elements: &[u8]) -> Message {
        let sequence = self.next_sequence();
        let header = Header { message_type, seid: Some(seid), sequence, priority: None };
        let bytes = header.encode(|out| out.extend(elements));
        self.exchange(&bytes, sequence).message
    }

    pub fn try_establish(
        &mut self,
        request: SessionEstablishmentRequest,
    ) -> SessionEstablishmentResponse {
        let Message::SessionEstablishmentResponse(answer) = self.session(0, request) else {
            panic!("another answer")
        };
        answer
    }

    /// Establishes a session that must be accepted; the downlink goes to the gNB.
    pub fn establish(&mut self, request: SessionEstablishmentRequest) -> Made {
        let made = self.establish_only(request);
        self.accepted(made, to_gnb(REMOTE));
        made
    }

    /// The same without the tunnel to the gNB.
    pub fn establish_only(&mut self, request: SessionEstablishmentRequest) -> Made {
        let answer = self.try_establish(request);
        Self::made(&answer)
    }

    /// The session of a response that accepts it.
    pub fn made(answer: &SessionEstablishmentResponse) -> Made {
        assert_eq!(answer.cause, Cause::ACCEPTED, "{answer:?}");
        let of_endpoint = answer.created_traffic_endpoints.iter().map(|made| made.local_fteid);
        let fteids = answer.created_pdrs.iter().map(|made| made.local_fteid).chain(of_endpoint);
        let teid = fteids.flatten().find_map(|fteid| match fteid {
            FTeid::Given { teid, .. } => Some(teid),
            FTeid::Choose { .. } => None,
        });
        Made { seid: answer.up_fseid.expect("an F-SEID").seid, teid: teid.expect("a TEID") }
    }

    pub fn modify(
        &mut self,
        made: Made,
        request: SessionModificationRequest,
    ) -> SessionModificationResponse {
        let Message::SessionModificationResponse(answer) = self.session(made.seid, request) else {
            panic!("another answer")
        };
        answer
    }

    pub fn accepted(
        &mut self,
        made: Made,
        request: SessionModificationRequest,
    ) -> SessionModificationResponse {
        let answer = self.modify(made, request);
        assert_eq!(answer.cause, Cause::ACCEPTED, "{answer:?}");
        answer
    }

    /// Deletes a session; returns its last usage reports. Reports and packets that are left are
    /// forgotten.
    pub fn delete(&mut self, made: Made) -> Vec<UsageReportInDeletion> {
        let Message::SessionDeletionResponse(answer) =
            self.session(made.seid, SessionDeletionRequest {})
        else {
            panic!("another answer")
        };
        assert_eq!(answer.cause, Cause::ACCEPTED, "{answer:?}");
        self.reports.clear();
        self.drain();
        answer.usage_reports
    }

    fn drain(&mut self) {
        let mut buffer = [0; 9216];
        while self.gnb.recv_from(&mut buffer).is_ok() {}
        while self.hosts.iter().any(|host| host.recv_from(&mut buffer).is_ok()) {}
    }

    /// The next session report.
    pub fn report(&mut self) -> SessionReportRequest {
        self.report_within(LONG).expect("a session report")
    }

    pub fn report_within(&mut self, limit: Duration) -> Option<SessionReportRequest> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(report) = self.reports.pop_front() {
                return Some(report);
            }
            if Instant::now() >= deadline {
                return None;
            }
            self.receive();
        }
    }

    /// The usage reports of the next session report, which has some.
    pub fn usage(&mut self) -> Vec<UsageReport> {
        let report = self.report();
        assert_eq!(report.report_type, ReportType::USAR, "{report:?}");
        report.usage_reports
    }

    /// No session report is sent for a while.
    pub fn no_report(&mut self) {
        assert_eq!(self.report_within(SHORT * 2), None);
    }

    /// The UE sends a packet with a payload to a port of the host.
    pub fn up(&mut self, made: Made, port: u16, payload: &[u8]) {
        let packet = udp_packet((UE, 9000), (HOST, port), payload);
        self.up_packet(made, Some(9), &packet);
    }

    pub fn up_packet(&mut self, made: Made, qfi: Option<u8>, packet: &[u8]) {
        self.gnb.send_to(&g_pdu(made.teid, qfi, packet), (N3, 2152)).expect("sent");
    }

    /// Bytes to the GTP-U port.
    pub fn gtpu(&mut self, bytes: &[u8]) {
        self.gnb.send_to(bytes, (N3, 2152)).expect("sent");
    }

    /// What the host receives at a port.
    pub fn at_host(&mut self, port: u16) -> Option<Vec<u8>> {
        self.at_host_within(port, LONG)
    }

    pub fn at_host_within(&mut self, port: u16, limit: Duration) -> Option<Vec<u8>> {
        let mut buffer = [0; 9216];
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if let Ok((length, _)) = self.hosts[usize::from(port - 7000)].recv_from(&mut buffer) {
                return Some(buffer[..length].to_vec());
            }
        }
        None
    }

    /// What the server of the network instance `edge` receives.
    pub fn at_edge_within(&mut self, limit: Duration) -> Option<Vec<u8>> {
        let mut buffer = [0; 9216];
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if let Ok((length, _)) = self.edge.server.recv_from(&mut buffer) {
                return Some(buffer[..length].to_vec());
            }
        }
        None
    }

    /// The UE sends a packet to the server, which receives it or not.
    pub fn reaches_edge(&mut self, made: Made) -> bool {
        let packet = udp_packet((UE, 9000), (SERVER, 7000), b"to the edge");
        self.up_packet(made, Some(9), &packet);
        // Twice the time of what is not expected: the first packet waits for ARP.
        self.at_edge_within(SHORT * 4).as_deref() == Some(&b"to the edge"[..])
    }

    /// A packet passes from the UE to the host.
    pub fn passes_up(&mut self, made: Made, port: u16) {
        self.up(made, port, b"from the UE");
        assert_eq!(self.at_host(port).as_deref(), Some(&b"from the UE"[..]));
    }

    /// None does.
    pub fn stops_up(&mut self, made: Made, port: u16) {
        self.up(made, port, b"from the UE");
        assert_eq!(self.at_host_within(port, SHORT), None);
    }

    /// The host sends a packet to the UE.
    pub fn down(&mut self, port: u16, payload: &[u8]) {
        self.down_to(port, 9000, payload);
    }

    /// The host sends a packet to a port of the UE.
    pub fn down_to(&mut self, port: u16, to: u16, payload: &[u8]) {
        let host = &self.hosts[usize::from(port - 7000)];
        host.send_to(payload, (UE, to)).expect("sent");
    }

    /// The next datagram at the gNB.
    pub fn at_gnb(&mut self) -> Option<Vec<u8>> {
        self.at_gnb_within(LONG)
    }

    pub fn at_gnb_within(&mut self, limit: Duration) -> Option<Vec<u8>> {
        let mut buffer = [0; 9216];
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if let Ok((length, _)) = self.gnb.recv_from(&mut buffer) {
                return Some(buffer[..length].to_vec());
            }
        }
        None
    }

    /// A packet passes from the host to the gNB, in this tunnel.
    pub fn passes_down(&mut self, port: u16, teid: u32) -> Vec<u8> {
        self.down(port, b"to the UE");
        let bytes = self.at_gnb().expect("a G-PDU");
        assert_eq!(pdu(&bytes).teid, teid);
        assert_eq!(payload_of(pdu(&bytes).payload), Some(&b"to the UE"[..]));
        bytes
    }

    /// None does.
    pub fn stops_down(&mut self, port: u16) {
        self.down(port, b"to the UE");
        assert_eq!(self.at_gnb_within(SHORT), None);
    }

    /// The gNB's socket.
    pub fn gnb(&self) -> &UdpSocket {
        &self.gnb
    }
}

/// The G-PDU in a datagram.
pub fn pdu(bytes: &[u8]) -> GPdu<'_> {
    let Ok(Gtpu::GPdu(pdu)) = decode(bytes) else { panic!("no G-PDU: {bytes:02x?}") };
    pdu
}

/// The same session with another SEID of the SMF and another UE address.
pub fn another(n: u8) -> SessionEstablishmentRequest {
    let mut request = establishment();
    request.cp_fseid = FSeid::new(CP_SEID + u64::from(n), SMF);
    for ue in request.create_pdrs.iter_mut().flat_map(|pdr| &mut pdr.pdi.ue_ip_addresses) {
        ue.ipv4 = Some([10, 45, 0, 2 + n].into());
    }
    request
}

/// An update of one URR.
pub fn update_urr(change: impl FnOnce(&mut UpdateUrr)) -> SessionModificationRequest {
    let mut urr = UpdateUrr { urr_id: UrrId(7), ..Default::default() };
    change(&mut urr);
    SessionModificationRequest { update_urrs: vec![urr], ..Default::default() }
}

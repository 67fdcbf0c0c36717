//! A minimal SMF, which requests sessions as fast as a UPF answers.
use anyhow::{Context, Result, bail, ensure};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_xdp::bench_ue;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Maximum number of outstanding requests.
const WINDOW: usize = 64;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A minimal SMF.
pub(super) struct Smf {
    socket: UdpSocket,
    address: Ipv4Addr,
    sequence: u32,
}

/// A session that a UPF has accepted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Established {
    pub(super) seid: u64,
    /// The tunnel endpoint for the uplink, if the UPF has named it.
    pub(super) teid: Option<u32>,
}

fn pdr(id: u16, pdi: Pdi, removal: Option<OuterHeaderRemoval>) -> CreatePdr {
    CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(255),
        pdi,
        outer_header_removal: removal,
        far_id: Some(FarId(id.into())),
        urr_ids: vec![UrrId(1), UrrId(2)],
        qer_ids: vec![QerId(1)],
        activate_predefined_rules: vec![],
    }
}

/// The request for a session with one PDR, FAR, QER and two URRs in each direction.
fn establishment(n: u32, smf: Ipv4Addr, gnb: Ipv4Addr) -> SessionEstablishmentRequest {
    let pdi = |interface, local_fteid, is_destination| Pdi {
        local_fteid,
        network_instance: Some(NetworkInstance::new("internet")),
        ue_ip_addresses: vec![UeIpAddress {
            is_destination,
            ipv4: Some(bench_ue(n)),
            ..Default::default()
        }],
        ..Pdi::of(interface)
    };
    let choose = FTeid::Choose { ipv4: true, ipv6: false, choose_id: None };
    let far = |id, interface, outer_header_creation| CreateFar {
        far_id: FarId(id),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: DestinationInterface(interface),
            outer_header_creation,
            ..Default::default()
        }),
        ..Default::default()
    };
    let header = OuterHeaderCreation::gtpu(n + 1, gnb.into());
    let fast = 1_000_000_000;
    SessionEstablishmentRequest {
        node_id: NodeId::Ip(smf.into()),
        cp_fseid: FSeid::new(u64::from(n) + 1, smf.into()),
        create_pdrs: vec![
            pdr(
                1,
                pdi(Interface::Access, Some(choose), false),
                Some(OuterHeaderRemoval { description: 0 }),
            ),
            pdr(2, pdi(Interface::Core, None, true), None),
        ],
        create_fars: vec![far(1, Interface::Core, None), far(2, Interface::Access, Some(header))],
        create_urrs: [1, 2]
            .map(|id| CreateUrr {
                urr_id: UrrId(id),
                measurement_method: MeasurementMethod(2),
                reporting_triggers: ReportingTriggers::VOLTH,
                volume_threshold: Some(VolumeThreshold {
                    total: Some(1 << 50),
                    ..Default::default()
                }),
                ..Default::default()
            })
            .into(),
        create_qers: vec![CreateQer {
            qer_id: QerId(1),
            gate_status: GateStatus::default(),
            mbr: Some(Mbr { uplink: fast, downlink: fast }),
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

/// The request for a UE in CM-IDLE: downlink packets are buffered.
fn buffer_downlink() -> SessionModificationRequest {
    let update =
        UpdateFar { far_id: FarId(2), apply_action: Some(ApplyAction::BUFF), ..Default::default() };
    SessionModificationRequest { update_fars: vec![update], ..Default::default() }
}

const RECOVERY: RecoveryTimeStamp = RecoveryTimeStamp(1);

impl Smf {
    /// An SMF with an address of this machine, for one UPF.
    pub(super) fn connect(address: Ipv4Addr, upf: SocketAddr) -> Result<Smf> {
        let socket = UdpSocket::bind((address, martlet_pfcp::PORT))?;
        socket.connect(upf)?;
        socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(Smf { socket, address, sequence: 0 })
    }

    /// Sets the association up.
    pub(super) fn associate(&mut self) -> Result<()> {
        let setup = AssociationSetupRequest {
            node_id: NodeId::Ip(self.address.into()),
            recovery: RECOVERY,
            retention: None,
            up_features: None,
            cp_features: None,
        };
        let answer = self.request(setup)?;
        let Message::AssociationSetupResponse(response) = &answer.message else {
            bail!("no association: {answer:?}")
        };
        ensure!(response.cause.is_accepted(), "no association: {answer:?}");
        Ok(())
    }

    /// Establishes the sessions of these numbers, whose downlink goes to the gNB.
    pub(super) fn establish(
        &mut self,
        sessions: Range<u32>,
        gnb: Ipv4Addr,
    ) -> Result<Vec<Established>> {
        let smf = self.address;
        // Answers come in another order than requests, and carry the CP SEID.
        let requests = sessions.map(|n| (0, establishment(n, smf, gnb).into()));
        let mut established = self.request_all(requests, |packet| {
            let Message::SessionEstablishmentResponse(answer) = packet.message else {
                bail!("{packet:?}")
            };
            ensure!(answer.cause == Cause::ACCEPTED, "{answer:?}");
            let seid = answer.up_fseid.context("the answer has no UP F-SEID")?.seid;
            let teid = answer.created_pdrs.iter().find_map(|created| match created.local_fteid {
                Some(FTeid::Given { teid, .. }) => Some(teid),
                _ => None,
            });
            Ok((packet.seid.unwrap_or(0), Established { seid, teid }))
        })?;
        established.sort_by_key(|(cp_seid, _)| *cp_seid);
        Ok(established.into_iter().map(|(_, session)| session).collect())
    }

    /// Modifies sessions: their downlink is buffered.
    pub(super) fn modify(&mut self, sessions: &[Established]) -> Result<()> {
        let request = buffer_downlink();
        let requests = sessions.iter().map(|session| (session.seid, request.clone().into()));
        let all = self.request_all(requests, |packet| {
            let Message::SessionModificationResponse(answer) = packet.message else {
                bail!("{packet:?}")
            };
            ensure!(answer.cause == Cause::ACCEPTED, "{answer:?}");
            Ok(())
        });
        all.map(drop)
    }

    /// Deletes sessions.
    pub(super) fn delete(&mut self, sessions: &[Established]) -> Result<()> {
        let requests =
            sessions.iter().map(|session| (session.seid, SessionDeletionRequest {}.into()));
        self.request_all(requests, |_| Ok(())).map(drop)
    }

    /// Answers heartbeats of the UPF until `stopped`.
    pub(super) fn keep_alive(&self, stopped: &AtomicBool) -> Result<()> {
        self.socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        let mut buffer = [0; 4096];
        while !stopped.load(Ordering::Relaxed) {
            if let Ok(length) = self.socket.recv(&mut buffer) {
                self.answer_heartbeat(&Packet::decode(&buffer[..length])?)?;
            }
        }
        Ok(self.socket.set_read_timeout(Some(ANSWER_TIMEOUT))?)
    }

    /// Answers a heartbeat. Returns whether the packet was one.
    fn answer_heartbeat(&self, packet: &Packet) -> Result<bool> {
        let is_heartbeat = matches!(packet.message, Message::HeartbeatRequest(_));
        if is_heartbeat {
            let response = HeartbeatResponse { recovery: RECOVERY };
            self.socket.send(&Packet::node(packet.sequence, response).encode())?;
        }
        Ok(is_heartbeat)
    }

    fn request(&mut self, message: impl Into<Message>) -> Result<Packet> {
        self.sequence += 1;
        self.socket.send(&Packet::node(self.sequence, message).encode())?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Packet> {
        let mut buffer = [0; 4096];
        loop {
            let length = self.socket.recv(&mut buffer).context("the UPF does not answer")?;
            let packet = Packet::decode(&buffer[..length])?;
            if !self.answer_heartbeat(&packet)? {
                return Ok(packet);
            }
        }
    }

    /// Sends requests, up to a window of them at a time, and maps the answers.
    fn request_all<T>(
        &mut self,
        requests: impl Iterator<Item = (u64, Message)>,
        mut map: impl FnMut(Packet) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut requests = requests.peekable();
        let (mut waiting, mut results) = (0, Vec::new());
        while waiting > 0 || requests.peek().is_some() {
            while waiting < WINDOW
                && let Some((seid, message)) = requests.next()
            {
                self.sequence = (self.sequence + 1) & 0xff_ffff;
                self.socket.send(&Packet::session(seid, self.sequence, message).encode())?;
                waiting += 1;
            }
            results.push(map(self.answer()?)?);
            waiting -= 1;
        }
        Ok(results)
    }
}

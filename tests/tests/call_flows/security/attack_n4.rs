//! Attacks of a neighbour on N4: under the identity of the SMF, and as an SMF of its own. A user of
//! the machine sends from the addresses of SMF and UPF.
use crate::security::rounds;
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches, without_switch};
use martlet_upf::config::DatapathChoice;
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::net::UdpSocket;

const UPF: (Ipv4Addr, u16) = (Ipv4Addr::new(127, 0, 0, 8), 8805);
const SMF: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 7);
pub const NEIGHBOUR: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);

/// A node that speaks PFCP from its own address.
pub struct Neighbour(UdpSocket);

impl Neighbour {
    pub async fn open() -> Result<Neighbour> {
        Ok(Neighbour(UdpSocket::bind((NEIGHBOUR, 8805)).await?))
    }

    /// The answer to a request, if there is one.
    pub async fn request(&self, packet: Packet) -> Result<Option<Message>> {
        self.0.send_to(&packet.encode(), UPF).await?;
        let mut buffer = [0; 4096];
        match tokio::time::timeout(Duration::from_secs(3), self.0.recv_from(&mut buffer)).await {
            Ok(received) => Ok(Some(Packet::decode(&buffer[..received?.0])?.message)),
            Err(_) => Ok(None),
        }
    }

    /// Asks for an association; the cause of the answer.
    pub async fn associate(&self, sequence: u32, node: Ipv4Addr) -> Result<Option<Cause>> {
        let request = AssociationSetupRequest {
            node_id: NodeId::Ip(node.into()),
            recovery: RecoveryTimeStamp(0xe000_0000 + sequence),
            up_features: None,
            cp_features: None,
            retention: None,
        };
        Ok(match self.request(Packet::node(sequence, request)).await? {
            Some(Message::AssociationSetupResponse(answer)) => Some(answer.cause),
            _ => None,
        })
    }
}

async fn second_association(datapath: DatapathChoice, allowed: bool) -> Result<()> {
    let core = TestCore::start(Sbi::Local, |config| {
        without_switch(&mut config.upf);
        config.upf.datapath = datapath;
        if allowed {
            config.upf.n4.allow = vec!["127.0.0.0/8".parse().expect("a network")];
        }
    })
    .await?;
    let gnb = core.gnb(1).await?;
    let (ue, _) = core.ue_with_session(&gnb, 1).await?;
    reaches(&ue, 1, GATEWAY).await?;
    let neighbour = Neighbour::open().await?;
    let sessions = || core.status("upf")["sessionCount"].as_u64();
    let rounds = rounds(10);
    for sequence in 1..=rounds {
        let cause = neighbour.associate(sequence, SMF).await?;
        ensure!(cause == Some(Cause::REJECTED), "the UPF answers with {cause:?}");
        ensure!(sessions() == Some(1), "{}", core.status("upf"));
    }
    let release = AssociationReleaseRequestMessage { node_id: NodeId::Ip(SMF.into()) };
    neighbour.request(Packet::node(rounds + 1, release)).await?;
    ensure!(sessions() == Some(1), "{}", core.status("upf"));
    reaches(&ue, 1, GATEWAY).await
}

#[test]
fn attack_second_association_deletes_sessions() {
    in_namespace(|| second_association(DatapathChoice::Kernel, false));
}

#[test]
fn attack_second_association_deletes_sessions_with_xdp() {
    in_namespace(|| second_association(DatapathChoice::Xdp, false));
}

/// Another configured SMF does not get the SMF's node ID, either.
#[test]
fn attack_second_association_of_a_configured_smf_deletes_sessions() {
    in_namespace(|| second_association(DatapathChoice::Kernel, true));
}

#[test]
fn attack_neighbour_claims_ue_addresses_over_n4() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| without_switch(&mut config.upf)).await?;
        let gnb = core.gnb(1).await?;
        let (ue, address) = core.ue_with_session(&gnb, 1).await?;
        let next = Ipv4Addr::from_bits(address.to_bits() + 1);
        let neighbour = Neighbour::open().await?;
        let cause = neighbour.associate(1, NEIGHBOUR).await?;
        ensure!(cause == Some(Cause::REJECTED), "the UPF answers with {cause:?}");
        let claim = claim_of(next);
        let answer = neighbour.request(Packet::session(0, 2, claim)).await?;
        ensure!(answer.is_none(), "{answer:?}");
        let status = core.status("upf");
        ensure!(status["sessionCount"] == 1, "{status}");
        ensure!(status["associations"].as_array().is_some_and(|all| all.len() == 1), "{status}");
        // The next UE gets the address.
        let (other, its_address) = core.ue_with_session(&gnb, 2).await?;
        ensure!(its_address == next, "{its_address}");
        reaches(&other, 1, GATEWAY).await?;
        reaches(&ue, 1, GATEWAY).await
    });
}

/// Any user of the machine can send from a loopback address, but not from a port in use.
#[test]
fn attack_local_user_sends_from_the_addresses_of_smf_and_upf() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| without_switch(&mut config.upf)).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let as_smf = Neighbour(UdpSocket::bind((SMF, 0)).await?);
        let cause = as_smf.associate(1, SMF).await?;
        ensure!(cause == Some(Cause::REJECTED), "the UPF answers with {cause:?}");
        ensure!(core.status("upf")["sessionCount"] == 1, "{}", core.status("upf"));
        // A new recovery time stamp of the UPF would have the SMF restore all sessions.
        let as_upf = UdpSocket::bind((UPF.0, 0)).await?;
        let beat = HeartbeatRequest { recovery: RecoveryTimeStamp(1) };
        as_upf.send_to(&Packet::node(1, beat).encode(), (SMF, 8805)).await?;
        let mut buffer = [0; 4096];
        let answer = tokio::time::timeout(Duration::from_millis(500), as_upf.recv(&mut buffer));
        ensure!(answer.await.is_err(), "the SMF answers");
        reaches(&ue, 1, GATEWAY).await
    });
}

/// A session whose downlink goes to the neighbour.
pub fn claim_of(ue: Ipv4Addr) -> SessionEstablishmentRequest {
    let address = UeIpAddress { is_destination: true, ipv4: Some(ue), ..Default::default() };
    let pdr = CreatePdr {
        pdr_id: PdrId(1),
        precedence: Precedence(255),
        pdi: Pdi { ue_ip_addresses: vec![address], ..Pdi::of(Interface::Core) },
        outer_header_removal: None,
        far_id: Some(FarId(1)),
        urr_ids: vec![],
        qer_ids: vec![],
        activate_predefined_rules: vec![],
    };
    let far = CreateFar {
        far_id: FarId(1),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: DestinationInterface(Interface::Access),
            network_instance: None,
            outer_header_creation: Some(OuterHeaderCreation::gtpu(1, NEIGHBOUR.into())),
            ..Default::default()
        }),
        bar_id: None,
        ..Default::default()
    };
    SessionEstablishmentRequest {
        node_id: NodeId::Ip(NEIGHBOUR.into()),
        cp_fseid: FSeid::new(1, NEIGHBOUR.into()),
        create_pdrs: vec![pdr],
        create_fars: vec![far],
        create_urrs: vec![],
        create_qers: vec![],
        create_bar: None,
        pdn_type: Some(PdnType(1)),
        inactivity_timer: None,
        flags: None,
        create_traffic_endpoints: vec![],
        fq_csids: vec![],
    }
}

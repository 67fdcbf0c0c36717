//! N4 session establishment (TS 23.502, 4.4.1.2), also at two UPFs (4.3.5.4).
use super::n4_session_release;
use crate::config::BranchingConfig;
use crate::n4::{
    Downlink, N4, N4Error, RuleParameters, access_rules, access_tunnels, establishment,
    forward_to_gnb,
};
use crate::qos_flows::DEFAULT_QFI;
use crate::session::{PreparedUpf, Session};
use crate::user_plane_path::{N9Tunnel, SECOND_SEID, Tunnel, UpfSession, UserPlanePath};
use martlet_pfcp::ie::{Cause, FTeid};
use martlet_pfcp::{Message, SessionEstablishmentRequest, SessionEstablishmentResponse};
use martlet_sbi_api::common::PduSessionType;
use std::net::{IpAddr, SocketAddr};

/// Establishes the N4 sessions of a new PDU session at an anchor. An uplink classifier stands
/// before it if one is configured for the UE's location, else an intermediate UPF if the UE's gNB
/// does not reach the anchor.
pub async fn establish(session: &Session) -> Result<UserPlanePath, N4Error> {
    establish_path(session, Downlink::Buffer, None).await
}

/// Establishes the N4 sessions again, with the anchor if it is still associated.
pub async fn reestablish(session: &Session, anchor: SocketAddr) -> Result<UserPlanePath, N4Error> {
    establish_path(session, Downlink::Notify, Some(anchor)).await
}

/// `idle` is the handling of the downlink while the UE is idle.
async fn establish_path(
    session: &Session,
    idle: Downlink,
    anchor: Option<SocketAddr>,
) -> Result<UserPlanePath, N4Error> {
    let n4 = &session.smf.n4;
    let upf = match anchor.filter(|upf| n4.is_up(*upf)) {
        Some(anchor) => anchor,
        None => n4.select(&session.upf_criteria(), None)?,
    };
    let classifier = classifier(session, upf);
    let intermediate = match n4.reaches(upf, session.mobility.tac) {
        true => None,
        false => n4.select_intermediate(upf, &session.upf_criteria()),
    };
    let role = if classifier.is_some() { Role::AnchorBehindClassifier } else { Role::Anchor };
    let anchor = establish_anchor(session, upf, None, (role, idle)).await?;
    let path = match (classifier, intermediate) {
        (Some(branching), _) => add_classifier(session, anchor, branching, idle).await,
        (None, Some(via)) => add_intermediate(session, anchor, via, idle).await,
        (None, None) => return Ok(UserPlanePath::Anchor(anchor)),
    };
    if path.is_err() {
        let _ = n4_session_release::release(session, anchor).await;
    }
    path
}

/// The uplink classifier for a session, if one is configured and associated.
fn classifier(session: &Session, anchor: SocketAddr) -> Option<&BranchingConfig> {
    use PduSessionType::{Ipv4, Ipv4v6, Ipv6};
    let is_ip = matches!(session.parameters.kind, Ipv4 | Ipv6 | Ipv4v6);
    let tac = session.mobility.tac;
    let fits = |branching: &&BranchingConfig| {
        let serves_area =
            branching.tacs.is_empty() || tac.is_some_and(|tac| branching.tacs.contains(&tac));
        is_ip
            && branching.dnn.eq_ignore_ascii_case(&session.dnn)
            && serves_area
            && branching.via != anchor
            && session.smf.n4.is_up(branching.via)
    };
    session.smf.config.branching.iter().find(fits)
}

async fn add_classifier(
    session: &Session,
    anchor: UpfSession,
    branching: &BranchingConfig,
    idle: Downlink,
) -> Result<UserPlanePath, N4Error> {
    let parameters = parameters(session, None, Role::Anchor, downlink_action(session, idle));
    let request = access_rules(&parameters, (anchor.teid, anchor.address), &branching.local);
    let classifier = establish_access(session, branching.via, request).await?;
    connect_anchor(session, anchor, classifier).await?;
    Ok(UserPlanePath::Classifier { classifier: classifier.session, anchor })
}

async fn add_intermediate(
    session: &Session,
    anchor: UpfSession,
    via: SocketAddr,
    idle: Downlink,
) -> Result<UserPlanePath, N4Error> {
    let action = downlink_action(session, idle);
    let prepared = establish_intermediate(session, anchor, via, action).await?;
    connect_anchor(session, anchor, prepared).await?;
    Ok(UserPlanePath::Intermediate { intermediate: prepared.session, anchor })
}

/// Establishes the N4 session at an intermediate UPF before an anchor. The anchor's downlink is not
/// changed.
pub async fn establish_intermediate(
    session: &Session,
    anchor: UpfSession,
    via: SocketAddr,
    downlink_action: Downlink,
) -> Result<PreparedUpf, N4Error> {
    let parameters = parameters(session, None, Role::Intermediate, downlink_action);
    let request = access_rules(&parameters, (anchor.teid, anchor.address), &[]);
    establish_access(session, via, request).await
}

/// Establishes the N4 session at a UPF before an anchor.
async fn establish_access(
    session: &Session,
    via: SocketAddr,
    request: SessionEstablishmentRequest,
) -> Result<PreparedUpf, N4Error> {
    let n4 = &session.smf.n4;
    let generation = n4.generation(via);
    let response = accepted(n4, (via, generation), request).await?;
    let seid = response.up_fseid.ok_or(N4Error::Unexpected("no F-SEID"))?.seid;
    let tunnels = access_tunnels(&response.created_pdrs);
    let ((teid, address, ipv6), n9) =
        tunnels.ok_or_else(|| unusable(n4, (via, generation, seid), "no F-TEID"))?;
    let session = UpfSession { upf: via, generation, seid, teid, address, ipv6 };
    Ok(PreparedUpf { session, n9 })
}

/// Forwards the anchor's downlink to the UPF before it.
async fn connect_anchor(
    session: &Session,
    anchor: UpfSession,
    access: PreparedUpf,
) -> Result<(), N4Error> {
    let (teid, address): N9Tunnel = access.n9;
    let request = forward_to_gnb(teid, address);
    match session.smf.n4.request(anchor.upf, Some(anchor.seid), request).await {
        Ok(Message::SessionModificationResponse(response)) if response.cause.is_accepted() => {
            Ok(())
        }
        outcome => {
            let _ = n4_session_release::release(session, access.session).await;
            let rejected = N4Error::Unexpected("the anchor rejects the N9 tunnel");
            Err(outcome.err().unwrap_or(rejected))
        }
    }
}

/// Establishes a session that exists already at another anchor.
pub async fn establish_at(session: &Session, upf: SocketAddr) -> Result<UpfSession, N4Error> {
    establish_anchor(session, upf, None, (Role::Anchor, Downlink::Notify)).await
}

/// Restores a session at its anchor, with the same N3 endpoint.
pub async fn restore_at(
    session: &Session,
    upf: SocketAddr,
    n3: Tunnel,
) -> Result<UpfSession, N4Error> {
    establish_anchor(session, upf, Some(n3), (Role::Anchor, Downlink::Notify)).await
}

/// The role of a UPF in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The anchor, or a classifier: it counts the usage.
    Anchor,
    /// The anchor behind an uplink classifier.
    AnchorBehindClassifier,
    /// The intermediate UPF before an anchor.
    Intermediate,
}

/// Handling of the downlink at the UPF that gNBs send to; `idle` applies while the UE is idle.
fn downlink_action(session: &Session, idle: Downlink) -> Downlink {
    session.user_plane.connection.gnb().map_or(idle, Downlink::Forward)
}

fn parameters(
    session: &Session,
    restored: Option<Tunnel>,
    role: Role,
    downlink_action: Downlink,
) -> RuleParameters<'_> {
    let n4 = &session.smf.n4;
    let counts = role == Role::Anchor;
    let charging = session.charging.as_ref().filter(|_| counts).map(|charging| &charging.state);
    let audit_s = session.smf.config.audit_s;
    RuleParameters {
        node: n4.node(),
        cp_address: n4.address(),
        cp_seid: if counts { session.reference } else { session.reference | SECOND_SEID },
        traffic: session.traffic(),
        unstructured_server: session.parameters.unstructured_server,
        qfi: DEFAULT_QFI,
        uplink: session.qos.ambr.uplink.bps(),
        downlink: session.qos.ambr.downlink.bps(),
        flows: &session.qos.flows,
        quota: charging.and_then(|state| state.default_quota()),
        // An uplink classifier sees no flows: it counts everything as the default rating group.
        groups: charging.map_or(Vec::new(), |state| state.other_quotas()),
        restored,
        inactivity_s: (audit_s > 0).then_some(audit_s),
        downlink_action,
    }
}

/// A UPF accepted a session that is of no use: it is deleted there.
fn unusable(
    n4: &N4,
    (upf, generation, seid): (SocketAddr, u64, u64),
    why: &'static str,
) -> N4Error {
    n4.delete_later(upf, generation, seid);
    N4Error::Unexpected(why)
}

/// Requests an N4 session. Returns the response of a UPF that accepts it.
///
/// # Errors
/// [`N4Error::NotAssociated`] if the UPF has no association: it is set up again.
async fn accepted(
    n4: &N4,
    (upf, generation): (SocketAddr, u64),
    request: SessionEstablishmentRequest,
) -> Result<SessionEstablishmentResponse, N4Error> {
    let is_missing = |cause: u8| cause == Cause::NO_ESTABLISHED_ASSOCIATION.0;
    let not_associated = || {
        n4.association_missing(upf, generation);
        N4Error::NotAssociated
    };
    let answer = match n4.request(upf, Some(0), request).await {
        // The response is malformed, such as without a Node ID.
        Err(N4Error::Rejected(cause)) if is_missing(cause) => return Err(not_associated()),
        answer => answer?,
    };
    let Message::SessionEstablishmentResponse(response) = answer else {
        return Err(N4Error::Unexpected("another message"));
    };
    if is_missing(response.cause.0) {
        return Err(not_associated());
    }
    if !response.cause.is_accepted() {
        return Err(N4Error::Rejected(response.cause.0));
    }
    Ok(response)
}

async fn establish_anchor(
    session: &Session,
    upf: SocketAddr,
    restored: Option<Tunnel>,
    (role, idle): (Role, Downlink),
) -> Result<UpfSession, N4Error> {
    let n4 = &session.smf.n4;
    let generation = n4.generation(upf);
    let parameters = parameters(session, restored, role, downlink_action(session, idle));
    let response = accepted(n4, (upf, generation), establishment(&parameters)).await?;
    let seid = response.up_fseid.ok_or(N4Error::Unexpected("no F-SEID"))?.seid;
    let chosen = response.created_pdrs.iter().find_map(|created| match created.local_fteid {
        Some(FTeid::Given { teid, ipv4, ipv6 }) => Some((
            teid,
            ipv4.map(IpAddr::V4).or(ipv6.map(IpAddr::V6))?,
            ipv6.filter(|_| ipv4.is_some()),
        )),
        _ => None,
    });
    let before = session.user_plane.access().filter(|at| restored == Some((at.teid, at.address)));
    let restored =
        restored.map(|(teid, address)| (teid, address, before.and_then(|before| before.ipv6)));
    // A UPF need not repeat the F-TEID of a restored session.
    let at = (upf, generation, seid);
    let (teid, address, ipv6) = chosen.or(restored).ok_or_else(|| unusable(n4, at, "no F-TEID"))?;
    if restored.is_some_and(|restored| (restored.0, restored.1) != (teid, address)) {
        return Err(unusable(n4, at, "another F-TEID"));
    }
    Ok(UpfSession { upf, generation, seid, teid, address, ipv6 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SmfConfig, UpfConfig};
    use crate::session_table::SessionTable;
    use martlet_nf::Shutdown;
    use martlet_pfcp::ie::{FSeid, NodeId, RecoveryTimeStamp};
    use martlet_pfcp::{AssociationSetupResponse, Packet};
    use std::net::Ipv4Addr;
    use std::time::Duration;
    use tokio::net::UdpSocket;

    const LIMIT: Duration = Duration::from_secs(10);

    fn node() -> NodeId {
        NodeId::Ip(Ipv4Addr::LOCALHOST.into())
    }

    /// A UPF that accepts associations, and has none when a session is requested.
    async fn run_upf(socket: &UdpSocket) {
        let mut buffer = [0; 2048];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
            let Packet { sequence, message, .. } = Packet::decode(&buffer[..length]).unwrap();
            let setup = AssociationSetupResponse {
                node_id: node(),
                cause: Cause::ACCEPTED,
                recovery: RecoveryTimeStamp(1),
                up_features: None,
                cp_features: None,
                ip_resources: vec![],
                flags: None,
            };
            let rejection = SessionEstablishmentResponse {
                node_id: node(),
                cause: Cause::NO_ESTABLISHED_ASSOCIATION,
                offending_ie: None,
                up_fseid: None,
                created_pdrs: vec![],
                load: None,
                overload: None,
                failed_rule: None,
                created_traffic_endpoints: vec![],
            };
            let response = match message {
                Message::AssociationSetupRequest(_) => Packet::node(sequence, setup),
                _ => Packet::session(0, sequence, rejection),
            };
            socket.send_to(&response.encode(), from).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_missing_association_is_set_up_again() {
        let upf = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = upf.local_addr().unwrap();
        let mut config = SmfConfig { upfs: vec![UpfConfig::at(address)], ..SmfConfig::default() };
        (config.n4.bind, config.n4.port) = (address.ip(), 0);
        let n4 = N4::open(&config, None, false).await.unwrap();
        let sessions = SessionTable::new(1, 0);
        let (_trigger, shutdown) = Shutdown::new();
        let request = SessionEstablishmentRequest {
            node_id: node(),
            cp_fseid: FSeid::new(1, Ipv4Addr::LOCALHOST.into()),
            create_pdrs: vec![],
            create_fars: vec![],
            create_urrs: vec![],
            create_qers: vec![],
            create_bar: None,
            pdn_type: None,
            inactivity_timer: None,
            flags: None,
            create_traffic_endpoints: vec![],
            fq_csids: vec![],
        };
        let establish = async {
            n4.wait_associated_after(address, 0, LIMIT).await;
            let generation = n4.generation(address);
            let outcome = accepted(&n4, (address, generation), request).await;
            assert!(matches!(outcome, Err(N4Error::NotAssociated)), "{outcome:?}");
            n4.wait_associated_after(address, generation, LIMIT).await;
            assert_eq!(n4.generation(address), generation + 1);
        };
        tokio::select! {
            _ = n4.run(&sessions, shutdown) => panic!("N4 has ended"),
            () = run_upf(&upf) => {}
            () = establish => {}
        }
    }
}

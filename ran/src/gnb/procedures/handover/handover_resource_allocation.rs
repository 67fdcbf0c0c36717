//! N2 handover at the target gNB (TS 38.413, 8.4.2, 8.4.3, 8.4.7): a UE is announced, and comes.
use super::handover_preparation::{self, HandoverOutcome, HandoverTurn, Left, amf_id_of};
use crate::gnb::procedures::pdu_session::resources::{RanSession, protect, told};
use crate::gnb::ue_task::{Connection, Downlink, Fault, ToUe, UeTask};
use super::{ran_status_transfer, transparent_containers};
use crate::gnb::Gnb;
use crate::ue::{FullContext, Security};
use crate::user_plane::{Port, Tunnel};
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{
    GtpTunnel, HandoverRequestAcknowledge as AcknowledgeTransfer,
    HandoverResourceAllocationUnsuccessful, SetupRequest,
};
use martlet_ngap::{
    Error, Message, NgapPduKind as Kind, build_ngap, build_ngap_ie, extract_ngap_ies,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long the end of forwarded data is waited for.
pub(crate) const END_OF_FORWARDING: Duration = Duration::from_millis(200);

/// What the target has of a UE that is to come.
#[derive(Default)]
pub(crate) struct AtTarget {
    /// What the AMF wants to be told of the UE's place.
    pub(crate) reporting: Option<LocationReportingRequestType>,
    pub(crate) connection: Connection,
    pub(crate) sessions: BTreeMap<u8, RanSession>,
    pub(crate) ports: BTreeMap<u8, Port>,
    /// What the UE is told there of a new K_AMF; empty inside where it does not prove itself.
    pub(crate) new_key: Option<Option<Box<FullContext>>>,
}

/// HANDOVER REQUEST: to the UE that its source means.
pub(crate) async fn request(gnb: &Gnb, pdu: NGAP_PDU, at: Instant) -> Result<(), Error> {
    let container = container(&pdu)?;
    // The identifier of a cell begins with its gNB's (TS 38.413, 9.3.1.7).
    let meant = transparent_containers::meant(&container).map(|(cell, ran_id)| {
        let bits = 36 - u32::from(gnb.config().gnb_id_bits);
        ((cell >> bits) as u32, ran_id)
    });
    let mailbox = meant.and_then(|meant| gnb.announced().remove(&meant));
    match mailbox {
        Some(mailbox) => {
            gnb.deliver(&mailbox, ToUe::Downlink(Box::new(Downlink { pdu, at, gnb: gnb.clone() })))
        }
        None => {
            tracing::warn!(gnb = gnb.name(), "HANDOVER REQUEST for a UE that nobody has announced");
            if let Some(amf_id) = amf_id_of(&pdu) {
                let cause = CauseRadioNetwork::no_radio_resources_available_in_target_cell;
                fail(gnb, amf_id, cause).await?;
            }
        }
    }
    Ok(())
}

fn container(pdu: &NGAP_PDU) -> Result<Vec<u8>, Error> {
    extract_ngap_ies!(pdu, HandoverRequest,
        req container: SourceToTargetTransparentContainer = SourceToTarget_TransparentContainer(it) => it,
    );
    Ok(container.0.to_vec())
}

/// HANDOVER FAILURE.
async fn fail(gnb: &Gnb, amf_id: u64, cause: CauseRadioNetwork) -> Result<(), Error> {
    let failure = build_ngap!(
        UnsuccessfulOutcome,
        HandoverResourceAllocation,
        HandoverFailure,
        AMF_UE_NGAP_ID(amf_id),
        Cause(Cause::radioNetwork(cause)),
    )?;
    handover_preparation::send(gnb, &Connection::default(), failure.encode()?).await;
    Ok(())
}

/// A message about the UE to the target.
pub(crate) async fn downlink(ue: &mut UeTask, downlink: Downlink) {
    let outcome = match downlink.pdu.kind() {
        Kind::Initiating_HandoverResourceAllocation => {
            admit(ue, &downlink.pdu, &downlink.gnb).await
        }
        Kind::Initiating_DownlinkRANStatusTransfer => {
            ran_status_transfer::downlink(ue, &downlink.gnb, &downlink.pdu).map_err(Fault::from)
        }
        Kind::Initiating_UEContextRelease => {
            if let Some(at) = ue.handover.as_mut().and_then(|handover| handover.at_target.take()) {
                handover_preparation::complete_release(&downlink.gnb, &at.connection).await;
                Left {
                    gnb: downlink.gnb.clone(),
                    connection: at.connection,
                    ports: at.ports,
                    outcome: None,
                }
                .release();
            }
            Ok(())
        }
        kind => {
            tracing::warn!(supi = ue.supi(), ?kind, "for a UE that has not come yet");
            Ok(())
        }
    };
    if let Err(error) = outcome {
        tracing::warn!(supi = ue.supi(), gnb = downlink.gnb.name(), %error, "handover at the target");
    }
}

/// HANDOVER REQUEST: resources for the sessions, and the answer.
async fn admit(ue: &mut UeTask, pdu: &NGAP_PDU, gnb: &Gnb) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, HandoverRequest,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req security: SecurityContext = SecurityContext(it) => it,
        lax new_context: Vec<u8> = NASC(it) => it.0.to_vec(),
        lax reporting: LocationReportingRequestType = LocationReportingRequestType(asked) => asked,
        req sessions: PDUSessionResourceSetupListHOReq = PDUSessionResourceSetupListHOReq(list) => list,
    );
    let Some(plan) = ue.handover.as_ref().filter(|it| it.target.is(gnb)).map(|it| it.plan.clone())
    else {
        return Ok(fail(
            gnb,
            amf_id,
            CauseRadioNetwork::no_radio_resources_available_in_target_cell,
        )
        .await?);
    };
    match plan.turn {
        HandoverTurn::TargetSilent => return Ok(()),
        HandoverTurn::TargetFull => {
            return Ok(fail(
                gnb,
                amf_id,
                CauseRadioNetwork::no_radio_resources_available_in_target_cell,
            )
            .await?);
        }
        _ => {}
    }
    let (ncc, nh) =
        (security.next_hop_chaining_count.0, security.next_hop_nh.0.as_octets().to_vec());
    let new_key = new_context.map(|mut container| {
        if plan.turn == HandoverTurn::NewKeyNotProved {
            container.iter_mut().take(1).for_each(|octet| *octet ^= 1);
        }
        ue.nas.security_mut().changed_key(&container).map(Box::new)
    });
    let keys_agree = !gnb.config().check_k_gnb
        || match &new_key {
            Some(Some(new)) => Security::begins_with(new, ncc, &nh),
            // The UE will see that.
            Some(None) => true,
            None => ue.nas.security_mut().take_next_hop(ncc, &nh),
        };
    if !keys_agree {
        tracing::warn!(
            supi = ue.supi(),
            gnb = gnb.name(),
            ncc,
            "the NH of the AMF is not the UE's (TS 33.501, A.10)"
        );
        return Ok(
            fail(gnb, amf_id, CauseRadioNetwork::failure_in_radio_interface_procedure).await?
        );
    }
    let ran_id = gnb.table().connect(ue.mailbox.clone());
    gnb.table().learn_amf_id(ran_id, amf_id);
    let connection = Connection {
        ran_id: Some(ran_id),
        amf_id: Some(amf_id),
        stream: gnb.stream_of(ran_id),
        early: Vec::new(),
    };
    let mut at = AtTarget { connection, reporting, new_key, ..AtTarget::default() };
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for item in &sessions.0 {
        let psi = item.pdu_session_id.0;
        let request = SetupRequest::decode(&item.handover_request_transfer);
        let no_room = || Cause::radioNetwork(CauseRadioNetwork::radio_resources_not_available);
        let protected = request.map_err(|error| error.cause()).and_then(|request| {
            let asked = request.security;
            let security = asked
                .map(|asked| protect(gnb.config(), asked).map(|done| (done, asked)))
                .transpose()?;
            Ok((request, security))
        });
        let (request, security) = match protected {
            Ok(taken) if !plan.refused.contains(&psi) => taken,
            refused => {
                let cause = refused.err().unwrap_or_else(no_room);
                let transfer = HandoverResourceAllocationUnsuccessful { cause }.encode()?;
                failed.push(PDUSessionResourceFailedToSetupItemHOAck::new(
                    item.pdu_session_id,
                    transfer.into(),
                    None,
                ));
                continue;
            }
        };
        let qfis: Vec<u8> = request.flows.iter().map(|flow| flow.qfi).collect();
        let forwards = !plan.without_forwarding;
        let (downlink, forwarding) = at.take(ue, gnb, psi, (request.uplink, &qfis), forwards);
        if let Some(session) = at.sessions.get_mut(&psi) {
            session.security = security;
        }
        let transfer = AcknowledgeTransfer {
            downlink,
            forwarding,
            security: security.and_then(told),
            flows: qfis.iter().map(|qfi| (*qfi, forwarding.is_some())).collect(),
            failed_flows: Vec::new(),
        };
        done.push(PDUSessionResourceAdmittedItem::new(
            item.pdu_session_id,
            transfer.encode()?.into(),
            None,
        ));
    }
    let mut ies = vec![
        build_ngap_ie!(HandoverRequestAcknowledge, AMF_UE_NGAP_ID(amf_id))?,
        build_ngap_ie!(HandoverRequestAcknowledge, RAN_UE_NGAP_ID(ran_id))?,
        build_ngap_ie!(
            HandoverRequestAcknowledge,
            PDUSessionResourceAdmittedList(PDUSessionResourceAdmittedList(done))
        )?,
    ];
    if !failed.is_empty() {
        let list = PDUSessionResourceFailedToSetupListHOAck(failed);
        ies.push(build_ngap_ie!(
            HandoverRequestAcknowledge,
            PDUSessionResourceFailedToSetupListHOAck(list)
        )?);
    }
    let container = transparent_containers::target_to_source()?;
    ies.push(build_ngap_ie!(
        HandoverRequestAcknowledge,
        TargetToSource_TransparentContainer(container)
    )?);
    type Acknowledge<'a> = HandoverRequestAcknowledge<'a>;
    let acknowledge = HandoverRequestAcknowledge::new(ProtocolIEContainer(ies));
    let acknowledge = NGAP_PDU::of_message(&acknowledge, Acknowledge::CRITICALITY)?.encode()?;
    handover_preparation::send(gnb, &at.connection, acknowledge).await;
    if let Some(handover) = &mut ue.handover {
        handover.at_target = Some(at);
    }
    Ok(())
}

impl AtTarget {
    /// A tunnel for a session, and one for what is forwarded: the target's ends.
    pub(crate) fn take(
        &mut self,
        ue: &UeTask,
        gnb: &Gnb,
        psi: u8,
        (uplink, qfis): (GtpTunnel, &[u8]),
        forwards: bool,
    ) -> (GtpTunnel, Option<GtpTunnel>) {
        let address = gnb.config().n3_address();
        let (downlink, forwarding) = match gnb.user_plane() {
            Some(user_plane) => {
                let port = user_plane.open(psi, ue.downlink_ip.clone(), ue.mailbox.clone());
                let forwarding = port.expect(forwards);
                let downlink = port
                    .activate(Tunnel { uplink, qfi: qfis.first().copied().unwrap_or_default() });
                self.ports.insert(psi, port);
                (downlink, forwarding)
            }
            None => (gnb.next_teid(), forwards.then(|| gnb.next_teid())),
        };
        self.sessions.insert(psi, RanSession { uplink, qfis: qfis.to_vec(), security: None });
        (GtpTunnel::new(address, downlink), forwarding.map(|teid| GtpTunnel::new(address, teid)))
    }
}

/// The UE is at the target: HANDOVER NOTIFY.
pub(crate) async fn arrive(ue: &mut UeTask, taken: &[u8]) -> Result<(), Fault> {
    let Some(handover) = ue.handover.take() else { return Ok(()) };
    let Some(mut at) = handover.at_target else { return Ok(()) };
    // What the core did not command stays behind.
    at.sessions.retain(|psi, _| taken.contains(psi));
    if let Some(new) = at.new_key.take().flatten() {
        ue.nas.security_mut().take_changed_key(*new);
        ue.key_changes += 1;
    }
    let mut outcome = HandoverOutcome {
        sessions: at.sessions.keys().copied().collect(),
        preparation: handover
            .commanded
            .unwrap_or(handover.start)
            .saturating_duration_since(handover.start),
        total: Duration::ZERO,
    };
    outcome.sessions.sort_unstable();
    let (gnb, connection, ports) = move_to(ue, handover.target, at);
    ue.left.push(Left { gnb, connection, ports, outcome: Some((handover.start, outcome)) });
    let (amf_id, ran_id) = ue.ids().unwrap_or_default();
    let notify = build_ngap!(
        InitiatingMessage,
        HandoverNotification,
        HandoverNotify,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        UserLocationInformation(ue.location()),
    )?;
    ue.transmit(notify.encode()?).await?;
    Ok(())
}

/// The UE goes to another gNB with its interfaces: gives what it had at the gNB of before.
pub(crate) fn move_to(
    ue: &mut UeTask,
    gnb: Gnb,
    mut at: AtTarget,
) -> (Gnb, Connection, BTreeMap<u8, Port>) {
    ue.leave_cell();
    for (psi, before) in &ue.ports {
        // A session that stays behind has no tunnel at the target, and its packets wait for one.
        let taken = at.sessions.contains_key(psi);
        let port = match (at.ports.remove(psi), gnb.user_plane()) {
            (Some(port), _) => port,
            (None, Some(user_plane)) => {
                user_plane.open(*psi, ue.downlink_ip.clone(), ue.mailbox.clone())
            }
            (None, None) => continue,
        };
        if !taken {
            port.deactivate();
        }
        if let Err(error) = port.succeed(before) {
            tracing::warn!(supi = ue.supi(), psi, %error, "the UE's interface did not come along");
        }
        at.ports.insert(*psi, port);
    }
    ue.nas.select_plmn(&gnb.config().plmn);
    let before = (
        std::mem::replace(&mut ue.gnb, gnb),
        std::mem::replace(&mut ue.connection, at.connection),
        std::mem::replace(&mut ue.ports, at.ports),
    );
    ue.sessions = at.sessions;
    (ue.cell, ue.reporting) = (1, at.reporting);
    for port in ue.ports.values() {
        port.arrived(END_OF_FORWARDING);
    }
    before
}

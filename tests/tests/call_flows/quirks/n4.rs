//! Quirks of SMFs on N4.
use super::{check, with_strictness};
use crate::security::attack_n4::{NEIGHBOUR, Neighbour, claim_of};
use anyhow::{Result, bail, ensure};
use martlet::core::Sbi;
use martlet_interop::N4Quirk;
use martlet_pfcp::ie::{
    ApplyAction, Cause, CreatePdr, CreateQer, DestinationInterface, FTeid, FarId, Interface, Mbr,
    Pdi, PdrId, QerId, Qfi, SdfFilter,
};
use martlet_pfcp::{Message, Packet as Pfcp, SessionModificationRequest};
use martlet_tests::TestCore;
use std::net::Ipv4Addr;

#[test]
fn n4_quirks_are_tolerated_unless_strict() {
    check(
        |_| "upf",
        |quirk, is_strict, core| match quirk {
            N4Quirk::ForwardWithoutHeader => Box::pin(forward_without_header(is_strict, core)),
            N4Quirk::ProtocolName => Box::pin(protocol_name(is_strict, core)),
            N4Quirk::ChooseIdOfSession => Box::pin(choose_id_of_session(is_strict, core)),
            N4Quirk::ZeroQfi => Box::pin(zero_qfi(is_strict, core)),
        },
    );
}

/// An associated SMF beside the core's.
async fn other_smf(is_strict: bool, core: &mut Option<TestCore>) -> Result<Neighbour> {
    let core = core.insert(
        TestCore::start(Sbi::Local, |config| {
            crate::n4::malformed::allow_all(config);
            with_strictness(is_strict)(config);
        })
        .await?,
    );
    ensure!(core.counts().user_planes == 0);
    let smf = Neighbour::open().await?;
    ensure!(smf.associate(1, NEIGHBOUR).await? == Some(Cause::ACCEPTED));
    Ok(smf)
}

/// As free5GC's SMF before the gNB has named its tunnel.
async fn forward_without_header(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let smf = other_smf(is_strict, core).await?;
    let mut request = claim_of(Ipv4Addr::new(10, 99, 0, 7));
    for parameters in request.create_fars.iter_mut().flat_map(|far| &mut far.forwarding_parameters)
    {
        parameters.destination_interface = DestinationInterface(Interface::Access);
        parameters.outer_header_creation = None;
    }
    let Some(Message::SessionEstablishmentResponse(answer)) =
        smf.request(Pfcp::session(0, 2, request)).await?
    else {
        bail!("no answer of the UPF")
    };
    match answer.cause {
        Cause::ACCEPTED => Ok(true),
        Cause::CONDITIONAL_IE_MISSING => Ok(false),
        other => bail!("{other:?}"),
    }
}

/// As pfcpsim asks for the traffic of an application.
async fn protocol_name(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let smf = other_smf(is_strict, core).await?;
    let mut request = claim_of(Ipv4Addr::new(10, 99, 0, 7));
    request.create_pdrs[0].pdi.sdf_filters = vec![SdfFilter {
        flow_description: Some("permit out udp from 10.0.0.0/8 to assigned 80-88".into()),
        filter_id: Some(1),
        ..SdfFilter::default()
    }];
    for far in &mut request.create_fars {
        (far.apply_action, far.forwarding_parameters) = (ApplyAction::DROP, None);
    }
    let Some(Message::SessionEstablishmentResponse(answer)) =
        smf.request(Pfcp::session(0, 2, request)).await?
    else {
        bail!("no answer of the UPF")
    };
    match answer.cause {
        Cause::ACCEPTED => Ok(true),
        Cause::RULE_CREATION_FAILURE => Ok(false),
        other => bail!("{other:?}"),
    }
}

/// As Open5GS's SMF adds a QoS flow to a session.
async fn choose_id_of_session(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let smf = other_smf(is_strict, core).await?;
    let mut request = claim_of(Ipv4Addr::new(10, 99, 0, 7));
    for far in &mut request.create_fars {
        (far.apply_action, far.forwarding_parameters) = (ApplyAction::DROP, None);
    }
    let choose = FTeid::Choose { ipv4: true, ipv6: true, choose_id: Some(5) };
    let uplink = |id| CreatePdr {
        pdr_id: PdrId(id),
        pdi: Pdi { local_fteid: Some(choose), ..Pdi::of(Interface::Access) },
        far_id: Some(FarId(1)),
        ..CreatePdr::default()
    };
    request.create_pdrs.push(uplink(2));
    let Some(Message::SessionEstablishmentResponse(made)) =
        smf.request(Pfcp::session(0, 2, request)).await?
    else {
        bail!("no answer of the UPF")
    };
    ensure!(made.cause == Cause::ACCEPTED, "{made:?}");
    let seid = made.up_fseid.as_ref().map_or(0, |fseid| fseid.seid);
    let create_pdrs = vec![uplink(3)];
    let change = SessionModificationRequest { create_pdrs, ..Default::default() };
    let Some(Message::SessionModificationResponse(changed)) =
        smf.request(Pfcp::session(seid, 3, change)).await?
    else {
        bail!("no answer of the UPF")
    };
    ensure!(changed.cause == Cause::ACCEPTED, "{changed:?}");
    let [first] = &made.created_pdrs[..] else { bail!("{made:?}") };
    let [second] = &changed.created_pdrs[..] else { bail!("{changed:?}") };
    ensure!(second.local_fteid.is_some(), "{changed:?}");
    Ok(first.local_fteid == second.local_fteid)
}

/// As free5GC's SMF limits the rate of a session.
async fn zero_qfi(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let smf = other_smf(is_strict, core).await?;
    let mut request = claim_of(Ipv4Addr::new(10, 99, 0, 7));
    for far in &mut request.create_fars {
        (far.apply_action, far.forwarding_parameters) = (ApplyAction::DROP, None);
    }
    request.create_qers = vec![CreateQer {
        qer_id: QerId(1),
        mbr: Some(Mbr { uplink: 1000, downlink: 1000 }),
        qfi: Some(Qfi(0)),
        ..CreateQer::default()
    }];
    request.create_pdrs[0].qer_ids = vec![QerId(1)];
    let Some(Message::SessionEstablishmentResponse(answer)) =
        smf.request(Pfcp::session(0, 2, request)).await?
    else {
        bail!("no answer of the UPF")
    };
    match answer.cause {
        Cause::ACCEPTED => Ok(true),
        Cause::RULE_CREATION_FAILURE => Ok(false),
        other => bail!("{other:?}"),
    }
}

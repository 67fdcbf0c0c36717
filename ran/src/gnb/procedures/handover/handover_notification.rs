//! Handover notification by the target gNB (TS 38.413, 8.4.3), and the change of the serving gNB.
use crate::gnb::handover_plan::HandoverOutcome;
use crate::gnb::node::Gnb;
use crate::gnb::ue::context::{Connection, Fault, SourceContext, TargetContext, UeContext};
use crate::user_plane::Port;
use martlet_ngap::build_ngap;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long the target waits for the end marker of forwarded data.
const END_OF_FORWARDING: Duration = Duration::from_millis(200);

/// The UE has arrived at the target: HANDOVER NOTIFY.
pub(crate) async fn run(ue: &mut UeContext, admitted: &[u8]) -> Result<(), Fault> {
    let Some(handover) = ue.handover.take() else { return Ok(()) };
    let Some(mut at) = handover.at_target else { return Ok(()) };
    // Sessions that HANDOVER COMMAND does not list stay at the source.
    at.sessions.retain(|psi, _| admitted.contains(psi));
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
    let (gnb, connection, ports) = change_gnb(ue, handover.target, at);
    ue.left.push(SourceContext {
        gnb,
        connection,
        ports,
        outcome: Some((handover.start, outcome)),
    });
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

/// Makes `gnb` the serving gNB and moves the UE's interfaces to its ports. Returns the context at
/// the source.
pub(crate) fn change_gnb(
    ue: &mut UeContext,
    gnb: Gnb,
    mut at: TargetContext,
) -> (Gnb, Connection, BTreeMap<u8, Port>) {
    ue.leave_cell();
    for (psi, before) in &ue.ports {
        // A session that the target did not admit has a port without a tunnel: its packets wait.
        let admitted = at.sessions.contains_key(psi);
        let port = match (at.ports.remove(psi), gnb.user_plane()) {
            (Some(port), _) => port,
            (None, Some(user_plane)) => ue.open_port(user_plane, *psi),
            (None, None) => continue,
        };
        if !admitted {
            port.deactivate();
        }
        if let Err(error) = port.take_over(before) {
            tracing::warn!(supi = ue.supi(), psi, %error, "UE interface not moved to the target");
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
        port.ue_arrived(END_OF_FORWARDING);
    }
    before
}

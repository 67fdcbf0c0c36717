//! Handovers (TS 23.502, 4.9.1; TS 38.413, 8.4).
use super::super::bench::Bench;
use super::super::case::{Behaviour, Case};
use super::super::unmet::{Unmet, failed, require};
use crate::UeError;
use crate::gnb::{Gnb, HandoverPlan, HandoverScript, Ue};
use crate::ue::PduSession;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "n2-handover",
        behaviour: Behaviour::Valid,
        stimulus: "HANDOVER REQUIRED, HANDOVER REQUEST ACKNOWLEDGE, HANDOVER NOTIFY",
        expected: "HANDOVER REQUEST, HANDOVER COMMAND, and UE CONTEXT RELEASE COMMAND at the \
                   source",
        clause: "TS 23.502, 4.9.1.3; TS 38.413, 8.4.1 to 8.4.3",
        run: |bench| Box::pin(n2(bench)),
    },
    Case {
        name: "n2-handover-data",
        behaviour: Behaviour::Valid,
        stimulus: "an ICMP echo request after an N2 handover",
        expected: "its reply",
        clause: "TS 23.502, 4.9.1.3",
        run: |bench| Box::pin(n2_data(bench)),
    },
    Case {
        name: "n2-handover-and-back",
        behaviour: Behaviour::Valid,
        stimulus: "an N2 handover to the second gNB and one back",
        expected: "both succeed, each with a fresh {NH, NCC} pair",
        clause: "TS 33.501, 6.9.2.3.3",
        run: |bench| Box::pin(n2_and_back(bench)),
    },
    Case {
        name: "xn-handover",
        behaviour: Behaviour::Valid,
        stimulus: "PATH SWITCH REQUEST of the second gNB",
        expected: "PATH SWITCH REQUEST ACKNOWLEDGE with the next {NH, NCC} pair",
        clause: "TS 23.502, 4.9.1.2; TS 38.413, 8.4.4.2; TS 33.501, 6.9.2.3.2",
        run: |bench| Box::pin(xn(bench)),
    },
    Case {
        name: "xn-handover-data",
        behaviour: Behaviour::Valid,
        stimulus: "an ICMP echo request after an Xn handover",
        expected: "its reply",
        clause: "TS 23.502, 4.9.1.2",
        run: |bench| Box::pin(xn_data(bench)),
    },
    Case {
        name: "handover-to-unknown-gnb",
        behaviour: Behaviour::Invalid,
        stimulus: "HANDOVER REQUIRED with a target that has no association with the AMF",
        expected: "HANDOVER PREPARATION FAILURE; the UE keeps its connection",
        clause: "TS 38.413, 8.4.1.3",
        run: |bench| Box::pin(to_unknown(bench)),
    },
    Case {
        name: "handover-refused-by-target",
        behaviour: Behaviour::Valid,
        stimulus: "HANDOVER FAILURE of the target",
        expected: "HANDOVER PREPARATION FAILURE; the UE keeps its connection",
        clause: "TS 38.413, 8.4.1.3 and 8.4.2.3",
        run: |bench| Box::pin(refused(bench)),
    },
    Case {
        name: "handover-cancel",
        behaviour: Behaviour::Valid,
        stimulus: "HANDOVER CANCEL after HANDOVER COMMAND",
        expected: "HANDOVER CANCEL ACKNOWLEDGE; the UE keeps its connection",
        clause: "TS 38.413, 8.4.5.2",
        run: |bench| Box::pin(cancel(bench)),
    },
];

async fn start(bench: &Bench) -> Result<(Gnb, Ue, PduSession), Unmet> {
    let target = bench.gnb(1).await?;
    let (ue, session) = bench.with_session().await?;
    Ok((target, ue, session))
}

async fn n2(bench: &Bench) -> Result<(), Unmet> {
    let (target, ue, _) = start(bench).await?;
    ue.handover_to(&target).await?;
    ue.deregister().await?;
    Ok(())
}

async fn n2_data(bench: &Bench) -> Result<(), Unmet> {
    let (target, ue, session) = start(bench).await?;
    bench.ping(&ue, &session).await?;
    ue.handover_to(&target).await?;
    bench.ping(&ue, &session).await?;
    ue.deregister().await?;
    Ok(())
}

async fn n2_and_back(bench: &Bench) -> Result<(), Unmet> {
    let (target, ue, _) = start(bench).await?;
    ue.handover_to(&target).await?;
    ue.handover_to(&bench.gnb(0).await?).await?;
    ue.deregister().await?;
    Ok(())
}

async fn xn(bench: &Bench) -> Result<(), Unmet> {
    let (target, ue, _) = start(bench).await?;
    ue.xn_handover_to(&target).await?;
    ue.deregister().await?;
    Ok(())
}

async fn xn_data(bench: &Bench) -> Result<(), Unmet> {
    let (target, ue, session) = start(bench).await?;
    bench.ping(&ue, &session).await?;
    ue.xn_handover_to(&target).await?;
    bench.ping(&ue, &session).await?;
    ue.deregister().await?;
    Ok(())
}

/// Requires that a handover failed, and that the UE is still served.
async fn expect_failed<T>(
    bench: &Bench,
    ue: &Ue,
    outcome: Result<T, UeError>,
) -> Result<(), Unmet> {
    match outcome {
        Err(UeError::Handover(_)) => {}
        Err(error) => return failed(error.to_string()),
        Ok(_) => return failed("HANDOVER COMMAND"),
    }
    require(ue.status().await?.connected, || "the UE lost its connection".into())?;
    ue.establish_pdu_session(bench.session()).await?;
    ue.deregister().await?;
    Ok(())
}

async fn to_unknown(bench: &Bench) -> Result<(), Unmet> {
    let (target, ue, _) = start(bench).await?;
    target.abort();
    target.lost().await;
    // The AMF may take a moment to see the ABORT.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    let outcome = ue.handover_to(&target).await;
    expect_failed(bench, &ue, outcome).await
}

async fn refused(bench: &Bench) -> Result<(), Unmet> {
    let (target, ue, _) = start(bench).await?;
    let script = HandoverScript::TargetRejects;
    let outcome = ue.handover(&target, HandoverPlan { script, ..HandoverPlan::default() }).await;
    expect_failed(bench, &ue, outcome).await
}

async fn cancel(bench: &Bench) -> Result<(), Unmet> {
    let (target, ue, _) = start(bench).await?;
    let script = HandoverScript::CancelledAfterCommand;
    let outcome = ue.handover(&target, HandoverPlan { script, ..HandoverPlan::default() }).await;
    expect_failed(bench, &ue, outcome).await
}

//! Primary authentication and its failures (TS 24.501, 5.4.1.3; TS 33.501, 6.1.3).
use super::super::bench::Bench;
use super::super::case::{Behaviour, Case};
use super::super::raw_gnb::RawGnb;
use super::super::raw_ue::RawUe;
use super::super::unmet::{Unmet, failed, require};
use crate::ue::{Event, OperatorKey};
use crate::{UeError, UeEvent};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "authentication",
        behaviour: Behaviour::Valid,
        stimulus: "the right answer to the challenge",
        expected: "SECURITY MODE COMMAND, integrity protected with the new context",
        clause: "TS 24.501, 5.4.1.3.4 and 5.4.2.2",
        run: |bench| Box::pin(right_answer(bench)),
    },
    Case {
        name: "authentication-wrong-res-star",
        behaviour: Behaviour::Invalid,
        stimulus: "AUTHENTICATION RESPONSE with a wrong RES* of a UE that was identified by SUCI",
        expected: "AUTHENTICATION REJECT, and the connection is released",
        clause: "TS 24.501, 5.4.1.3.5",
        run: |bench| Box::pin(wrong_res_star(bench)),
    },
    Case {
        name: "authentication-mac-failure",
        behaviour: Behaviour::Invalid,
        stimulus: "a UE with another key answers AUTHENTICATION FAILURE #20 to each challenge",
        expected: "IDENTITY REQUEST, another challenge or AUTHENTICATION REJECT; never acceptance",
        clause: "TS 24.501, 5.4.1.3.7 c",
        run: |bench| Box::pin(mac_failure(bench)),
    },
    Case {
        name: "authentication-synch-failure",
        behaviour: Behaviour::Valid,
        stimulus: "AUTHENTICATION FAILURE #21 with AUTS: the USIM's sequence number is ahead",
        expected: "a challenge with a fresh sequence number, and REGISTRATION ACCEPT",
        clause: "TS 24.501, 5.4.1.3.7 f; TS 33.102, 6.3.5",
        run: |bench| Box::pin(synch_failure(bench)),
    },
    Case {
        name: "authentication-forged-auts",
        behaviour: Behaviour::Invalid,
        stimulus: "AUTHENTICATION FAILURE #21 with an AUTS that the home network cannot verify, \
                   twice",
        expected: "no acceptance; the sequence number is not changed by it: the UE registers \
                   afterwards",
        clause: "TS 24.501, 5.4.1.3.7 f; TS 33.102, 6.3.5",
        run: |bench| Box::pin(forged_auts(bench)),
    },
    Case {
        name: "authentication-ngksi-in-use",
        behaviour: Behaviour::Valid,
        stimulus: "AUTHENTICATION FAILURE #71: ngKSI already in use",
        expected: "AUTHENTICATION REQUEST with another ngKSI",
        clause: "TS 24.501, 5.4.1.3.7 e",
        run: |bench| Box::pin(ngksi_in_use(bench)),
    },
    Case {
        name: "authentication-skipped",
        behaviour: Behaviour::Invalid,
        stimulus: "SECURITY MODE COMPLETE and REGISTRATION COMPLETE, plain, in place of the answer \
                   to the challenge",
        expected: "no acceptance",
        clause: "TS 24.501, 4.4.4.3",
        run: |bench| Box::pin(skipped(bench)),
    },
];

async fn right_answer(bench: &Bench) -> Result<(), Unmet> {
    let (gnb, mut ue, challenge) = challenged(bench).await?;
    for answer in ue.receive(&challenge) {
        gnb.send_nas(&ue, &answer).await?;
    }
    let command = gnb.next_nas(&mut ue).await?.unwrap_or_default();
    // Security header type 3, and SECURITY MODE COMMAND inside.
    let is_command = command.get(1) == Some(&3) && command.get(9) == Some(&0x5d);
    require(is_command, || format!("{command:02x?} in place of SECURITY MODE COMMAND"))?;
    require(!ue.receive(&command).is_empty(), || "the UE does not accept its MAC".into())?;
    gnb.shutdown().await;
    Ok(())
}

async fn challenged(bench: &Bench) -> Result<(RawGnb, RawUe, Vec<u8>), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    let mut ue = bench.raw_ue()?;
    let challenge = gnb.challenge(&mut ue).await?;
    Ok((gnb, ue, challenge))
}

const REJECT: u8 = 0x58;

/// Requires that the UE receives no SECURITY MODE COMMAND and no REGISTRATION ACCEPT until the
/// connection ends or the core is silent. Returns the types of the plain messages.
async fn expect_no_acceptance(gnb: &RawGnb, ue: &mut RawUe) -> Result<Vec<u8>, Unmet> {
    let mut types = Vec::new();
    while let Some(nas) = gnb.next_nas_soon(ue).await? {
        match (nas.get(1), nas.get(2)) {
            (Some(0), Some(kind)) => types.push(*kind),
            _ => return failed("a protected message after a failed authentication"),
        }
    }
    Ok(types)
}

async fn wrong_res_star(bench: &Bench) -> Result<(), Unmet> {
    let (gnb, mut ue, _) = challenged(bench).await?;
    let mut response = vec![0x7e, 0, 0x57, 0x2d, 16];
    response.extend([0x5a; 16]);
    gnb.send_nas(&ue, &response).await?;
    let types = expect_no_acceptance(&gnb, &mut ue).await?;
    require(types.contains(&REJECT), || format!("{types:02x?}, no AUTHENTICATION REJECT"))?;
    require(ue.ids().is_none(), || "the connection is not released".into())?;
    gnb.shutdown().await;
    Ok(())
}

async fn mac_failure(bench: &Bench) -> Result<(), Unmet> {
    let mut config = bench.ue_config()?;
    config.operator_key = OperatorKey::Opc([0xee; 16]);
    let ue = bench.gnb(0).await?.new_ue(config)?;
    let mut events = ue.subscribe().await?;
    match ue.register().await {
        Err(UeError::Rejected(_) | UeError::Aborted(_)) => {}
        Err(error) => return failed(error.to_string()),
        Ok(_) => return failed("REGISTRATION ACCEPT"),
    }
    let failure =
        |event| matches!(event, UeEvent::Nas(Event::AuthenticationFailureSent { cause: 20 }));
    let sent = std::iter::from_fn(|| events.try_recv().ok()).any(failure);
    require(sent, || "no challenge".into())
}

async fn synch_failure(bench: &Bench) -> Result<(), Unmet> {
    let mut config = bench.ue_config()?;
    config.sqn = 1 << 24;
    let ue = bench.gnb(0).await?.new_ue(config)?;
    let mut events = ue.subscribe().await?;
    ue.register().await?;
    // A core whose sequence number is already ahead causes no failure.
    let failed_first = std::iter::from_fn(|| events.try_recv().ok())
        .any(|event| matches!(event, UeEvent::Nas(Event::AuthenticationFailureSent { cause: 21 })));
    if !failed_first {
        tracing::debug!("the core's sequence number was ahead of the UE's");
    }
    ue.deregister().await?;
    Ok(())
}

async fn forged_auts(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    let config = bench.ue_config()?;
    let mut ue = RawUe::new(config.clone(), bench.config().gnb.plmn)?;
    gnb.challenge(&mut ue).await?;
    let mut failure = vec![0x7e, 0, 0x59, 21, 0x30, 14];
    failure.extend([0x5a; 14]);
    for _ in 0..2 {
        gnb.send_nas(&ue, &failure).await?;
        if gnb.next_nas_soon(&mut ue).await?.is_none() {
            break;
        }
    }
    expect_no_acceptance(&gnb, &mut ue).await?;
    gnb.shutdown().await;
    let ue = bench.gnb(0).await?.new_ue(config)?;
    ue.register().await?;
    ue.deregister().await?;
    Ok(())
}

async fn ngksi_in_use(bench: &Bench) -> Result<(), Unmet> {
    let (gnb, mut ue, challenge) = challenged(bench).await?;
    gnb.send_nas(&ue, &[0x7e, 0, 0x59, 71]).await?;
    let again = gnb.next_nas(&mut ue).await?.unwrap_or_default();
    require(again.get(2) == Some(&0x56), || {
        format!("{again:02x?} in place of AUTHENTICATION REQUEST")
    })?;
    let ngksi = |nas: &[u8]| nas.get(3).map(|octet| octet & 7);
    require(ngksi(&again) != ngksi(&challenge), || "the same ngKSI".into())?;
    gnb.shutdown().await;
    Ok(())
}

async fn skipped(bench: &Bench) -> Result<(), Unmet> {
    let (gnb, mut ue, _) = challenged(bench).await?;
    for nas in [[0x7e, 0, 0x5e], [0x7e, 0, 0x43]] {
        gnb.send_nas(&ue, &nas).await?;
    }
    expect_no_acceptance(&gnb, &mut ue).await?;
    gnb.shutdown().await;
    Ok(())
}

//! Security mode control, and the protection of NAS messages (TS 24.501, 4.4 and 5.4.2; TS 33.501,
//! 5.5 and 6.7).
use super::super::bench::Bench;
use super::super::case::{Behaviour, Case, Unmet, failed, require};
use crate::UeError;
use crate::gnb::Ue;
use martlet_nas::{
    AccessTypeValue, KeySetIdentifier, Nas5gsMessage, NasDeRegistrationType,
    NasDeregistrationRequestUeOriginating, NasFGsMobileIdentity, NasKeySetIdentifier,
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "algorithms-of-the-ue",
        behaviour: Behaviour::Valid,
        stimulus: "registration of a UE that supports 5G-EA0, 128-5G-EA2 and 128-5G-IA2 alone",
        expected: "SECURITY MODE COMMAND selects among these, and replays the capabilities",
        clause: "TS 33.501, 6.7.2; TS 24.501, 5.4.2.2",
        run: |bench| Box::pin(algorithms(bench)),
    },
    Case {
        name: "null-integrity-refused",
        behaviour: Behaviour::Invalid,
        stimulus: "registration of a UE that supports 5G-IA0 alone, and would accept it",
        expected: "no REGISTRATION ACCEPT: 5G-IA0 is for emergency services",
        clause: "TS 33.501, 5.5.2",
        run: |bench| Box::pin(null_integrity(bench)),
    },
    Case {
        name: "security-mode-reject",
        behaviour: Behaviour::Valid,
        stimulus: "SECURITY MODE REJECT #24",
        expected: "no REGISTRATION ACCEPT: the procedure is aborted",
        clause: "TS 24.501, 5.4.2.5",
        run: |bench| Box::pin(security_mode_reject(bench)),
    },
    Case {
        name: "security-mode-complete-with-wrong-mac",
        behaviour: Behaviour::Invalid,
        stimulus: "SECURITY MODE COMPLETE with a wrong MAC",
        expected: "the message is discarded: no REGISTRATION ACCEPT",
        clause: "TS 24.501, 4.4.4.3",
        run: |bench| Box::pin(complete_with_wrong_mac(bench)),
    },
    Case {
        name: "plain-deregistration-of-secured-ue",
        behaviour: Behaviour::Invalid,
        stimulus: "plain DEREGISTRATION REQUEST on the connection of a UE with NAS security",
        expected: "the message is discarded: the UE stays registered",
        clause: "TS 24.501, 4.4.4.3",
        run: |bench| Box::pin(plain_deregistration(bench)),
    },
    Case {
        name: "wrong-mac",
        behaviour: Behaviour::Invalid,
        stimulus: "DEREGISTRATION REQUEST with a wrong MAC",
        expected: "the message is discarded: the UE stays registered",
        clause: "TS 24.501, 4.4.4.3",
        run: |bench| Box::pin(wrong_mac(bench)),
    },
    Case {
        name: "replayed-nas-message",
        behaviour: Behaviour::Invalid,
        stimulus: "the last protected message of a UE with a session, three times more",
        expected: "the messages are discarded: the UE stays registered, and has its session",
        clause: "TS 24.501, 4.4.3.2; TS 33.501, 6.4.3.1",
        run: |bench| Box::pin(replayed(bench)),
    },
    Case {
        name: "rekeying-of-registered-ue",
        behaviour: Behaviour::Valid,
        stimulus: "initial registration by SUCI of a UE that is registered",
        expected: "authentication and REGISTRATION ACCEPT",
        clause: "TS 24.501, 5.5.1.2.8",
        run: |bench| Box::pin(registered_again(bench)),
    },
];

async fn algorithms(bench: &Bench) -> Result<(), Unmet> {
    let mut config = bench.ue_config()?;
    (config.nea, config.nia) = (0xa0, 0x20);
    let ue = bench.gnb(0).await?.new_ue(config)?;
    let chosen = ue.register().await?.algorithms;
    require(matches!(chosen, Some((0 | 2, 2))), || format!("NEA and NIA {chosen:?}"))?;
    ue.deregister().await?;
    Ok(())
}

async fn null_integrity(bench: &Bench) -> Result<(), Unmet> {
    let mut config = bench.ue_config()?;
    (config.nea, config.nia, config.null_integrity_allowed) = (0x80, 0x80, true);
    let ue = bench.gnb(0).await?.new_ue(config)?;
    match ue.register().await {
        Ok(outcome) => failed(format!("REGISTRATION ACCEPT, {:?}", outcome.algorithms)),
        Err(UeError::GnbLost(why)) => failed(why),
        Err(_) => Ok(()),
    }
}

/// The UE's SECURITY MODE COMPLETE, not sent.
async fn until_security_mode(
    bench: &Bench,
) -> Result<(super::super::raw_gnb::RawGnb, super::super::raw_ue::RawUe, Vec<u8>), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    let mut ue = bench.raw_ue()?;
    let challenge = gnb.challenge(&mut ue).await?;
    for answer in ue.receive(&challenge) {
        gnb.send_nas(&ue, &answer).await?;
    }
    let Some(command) = gnb.next_nas(&mut ue).await? else {
        return failed("no SECURITY MODE COMMAND");
    };
    match ue.receive(&command).pop() {
        Some(complete) => Ok((gnb, ue, complete)),
        None => failed("the UE does not accept SECURITY MODE COMMAND"),
    }
}

async fn security_mode_reject(bench: &Bench) -> Result<(), Unmet> {
    let (gnb, mut ue, _) = until_security_mode(bench).await?;
    gnb.send_nas(&ue, &[0x7e, 0, 0x5f, 24]).await?;
    while let Some(nas) = gnb.next_nas_soon(&mut ue).await? {
        ue.receive(&nas);
        require(!ue.nas.state().is_registered(), || "REGISTRATION ACCEPT".into())?;
    }
    gnb.shutdown().await;
    Ok(())
}

async fn complete_with_wrong_mac(bench: &Bench) -> Result<(), Unmet> {
    let (gnb, mut ue, mut complete) = until_security_mode(bench).await?;
    if let Some(mac) = complete.get_mut(3) {
        *mac ^= 0x55;
    }
    gnb.send_nas(&ue, &complete).await?;
    while let Some(nas) = gnb.next_nas_soon(&mut ue).await? {
        ue.receive(&nas);
        require(!ue.nas.state().is_registered(), || "REGISTRATION ACCEPT".into())?;
    }
    gnb.shutdown().await;
    Ok(())
}

async fn deregistration_request(ue: &Ue) -> Result<Nas5gsMessage, Unmet> {
    let Some(guti) = ue.status().await?.guti else { return failed("no 5G-GUTI") };
    let ngksi = NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0))?;
    let kind = NasDeRegistrationType::default().with_access_type(AccessTypeValue::ThreeGppAccess);
    let identity = NasFGsMobileIdentity::from_guti(guti);
    Ok(Nas5gsMessage::new_5gmm(NasDeregistrationRequestUeOriginating::new(kind, ngksi, identity)))
}

/// A session is established: the UE is registered and its NAS security in use.
async fn expect_session(bench: &Bench, ue: &Ue) -> Result<(), Unmet> {
    ue.establish_pdu_session(bench.session()).await?;
    ue.deregister().await?;
    Ok(())
}

async fn plain_deregistration(bench: &Bench) -> Result<(), Unmet> {
    let ue = bench.registered().await?;
    ue.send_raw_nas(deregistration_request(&ue).await?.encode()?).await?;
    expect_session(bench, &ue).await
}

async fn wrong_mac(bench: &Bench) -> Result<(), Unmet> {
    let ue = bench.registered().await?;
    let message = deregistration_request(&ue).await?;
    ue.send_with_wrong_mac(message).await?;
    expect_session(bench, &ue).await
}

async fn replayed(bench: &Bench) -> Result<(), Unmet> {
    let (ue, session) = bench.with_session().await?;
    for _ in 0..3 {
        ue.replay_last_nas().await?;
    }
    ue.release_pdu_session(session.psi).await?;
    ue.deregister().await?;
    Ok(())
}

async fn registered_again(bench: &Bench) -> Result<(), Unmet> {
    let config = bench.ue_config()?;
    let gnb = bench.gnb(0).await?;
    let first = gnb.new_ue(config.clone())?;
    first.register().await?;
    let second = gnb.new_ue(config)?;
    second.register().await?;
    second.deregister().await?;
    Ok(())
}

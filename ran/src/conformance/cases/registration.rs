//! Registration and deregistration (TS 24.501, 5.5.1 and 5.5.2).
use super::super::bench::Bench;
use super::super::case::{Behaviour, Case, Unmet, failed, require};
use crate::ue::{Event, RegistrationType, Slice};
use crate::{UeError, UeEvent};
use martlet_security::identity::Imsi;
use std::time::Instant;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "registration-by-suci",
        behaviour: Behaviour::Valid,
        stimulus: "initial registration by SUCI",
        expected: "REGISTRATION ACCEPT with a 5G-GUTI and a registration area",
        clause: "TS 24.501, 5.5.1.2.4",
        run: |bench| Box::pin(by_suci(bench)),
    },
    Case {
        name: "registration-by-guti",
        behaviour: Behaviour::Valid,
        stimulus: "deregistration, then initial registration by 5G-GUTI",
        expected: "REGISTRATION ACCEPT",
        clause: "TS 24.501, 5.5.1.2.2 and 5.5.1.2.4",
        run: |bench| Box::pin(by_guti(bench)),
    },
    Case {
        name: "registration-by-unknown-guti",
        behaviour: Behaviour::Valid,
        stimulus: "initial registration by a 5G-GUTI of an AMF that does not exist",
        expected: "IDENTITY REQUEST for the SUCI",
        clause: "TS 24.501, 5.4.3.1; TS 23.502, 4.2.2.2.2",
        run: |bench| Box::pin(by_unknown_guti(bench)),
    },
    Case {
        name: "registration-of-unknown-subscriber",
        behaviour: Behaviour::Invalid,
        stimulus: "initial registration of an IMSI that is not subscribed",
        expected: "REGISTRATION REJECT or AUTHENTICATION REJECT",
        clause: "TS 24.501, 5.5.1.2.5",
        run: |bench| Box::pin(unknown_subscriber(bench)),
    },
    Case {
        name: "registration-with-unknown-slice",
        behaviour: Behaviour::Invalid,
        stimulus: "initial registration whose only requested S-NSSAI the network does not have",
        expected: "REGISTRATION ACCEPT without it in the allowed NSSAI, or REGISTRATION REJECT #62",
        clause: "TS 24.501, 5.5.1.2.4 and 5.5.1.2.5",
        run: |bench| Box::pin(unknown_slice(bench)),
    },
    Case {
        name: "mobility-registration-update",
        behaviour: Behaviour::Valid,
        stimulus: "mobility registration update of a connected UE",
        expected: "REGISTRATION ACCEPT",
        clause: "TS 24.501, 5.5.1.3.4",
        run: |bench| Box::pin(update(bench, RegistrationType::MobilityRegistrationUpdating)),
    },
    Case {
        name: "periodic-registration-update",
        behaviour: Behaviour::Valid,
        stimulus: "periodic registration update of an idle UE",
        expected: "REGISTRATION ACCEPT",
        clause: "TS 24.501, 5.5.1.3.4",
        run: |bench| Box::pin(periodic(bench)),
    },
    Case {
        name: "registrations-at-once",
        behaviour: Behaviour::Valid,
        stimulus: "ten UEs, or all subscribers, register at once",
        expected: "REGISTRATION ACCEPT for each",
        clause: "TS 24.501, 5.5.1.2.4",
        run: |bench| Box::pin(at_once(bench)),
    },
    Case {
        name: "deregistration",
        behaviour: Behaviour::Valid,
        stimulus: "deregistration without switch-off",
        expected: "DEREGISTRATION ACCEPT, then UE CONTEXT RELEASE COMMAND",
        clause: "TS 24.501, 5.5.2.2.2; TS 23.502, 4.2.2.3.2",
        run: |bench| Box::pin(deregistration(bench, false)),
    },
    Case {
        name: "deregistration-switch-off",
        behaviour: Behaviour::Valid,
        stimulus: "deregistration with switch-off",
        expected: "no DEREGISTRATION ACCEPT; UE CONTEXT RELEASE COMMAND",
        clause: "TS 24.501, 5.5.2.2.2; TS 23.502, 4.2.2.3.2",
        run: |bench| Box::pin(deregistration(bench, true)),
    },
    Case {
        name: "truncated-registration-request",
        behaviour: Behaviour::Invalid,
        stimulus: "REGISTRATION REQUEST that ends after its message type",
        expected: "no acceptance, and the next UE is registered",
        clause: "TS 24.501, 7.2.1 and 7.5.1",
        run: |bench| Box::pin(truncated_request(bench)),
    },
];

async fn by_suci(bench: &Bench) -> Result<(), Unmet> {
    let ue = bench.ue().await?;
    ue.forget_registration().await?;
    let outcome = ue.register().await?;
    require(outcome.guti.is_some(), || "no 5G-GUTI".into())?;
    require(!outcome.registration_area.is_empty(), || "no registration area".into())?;
    ue.deregister().await?;
    Ok(())
}

async fn by_guti(bench: &Bench) -> Result<(), Unmet> {
    let ue = bench.registered().await?;
    ue.deregister().await?;
    ue.register().await?;
    ue.deregister().await?;
    Ok(())
}

async fn by_unknown_guti(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    let mut ue = bench.raw_ue()?;
    let request = ue.registration_request()?;
    // The mobile identity begins at octet 5: two octets of length, then its value.
    let length = match request.get(4..6) {
        Some(&[high, low]) => usize::from(u16::from_be_bytes([high, low])),
        _ => return failed("the UE's request has no identity"),
    };
    let guti =
        [0xf2, gnb.plmn()[0], gnb.plmn()[1], gnb.plmn()[2], 0xfe, 0xff, 0xbe, 11, 13, 17, 19];
    let mut changed = request[..4].to_vec();
    changed.extend([0, guti.len() as u8]);
    changed.extend(guti);
    changed.extend(request.get(6 + length..).unwrap_or_default());
    gnb.send_nas(&ue, &changed).await?;
    let answer = gnb.next_nas(&mut ue).await?;
    require(answer.as_deref() == Some(&[0x7e, 0, 0x5b, 1]), || {
        format!("{answer:02x?} in place of IDENTITY REQUEST for the SUCI")
    })?;
    gnb.shutdown().await;
    Ok(())
}

async fn unknown_subscriber(bench: &Bench) -> Result<(), Unmet> {
    let mut config = bench.ue_config()?;
    let plmn = 3 + config.mnc_digits;
    let imsi = config.imsi.as_str();
    let unknown = format!("{}{}", &imsi[..plmn], "9".repeat(imsi.len() - plmn));
    config.imsi = Imsi::new(&unknown)?;
    let ue = bench.gnb(0).await?.new_ue(config)?;
    match ue.register().await {
        Err(UeError::Rejected(_) | UeError::Aborted(crate::ue::Abort::AuthenticationRejected)) => {
            Ok(())
        }
        Err(error) => failed(error.to_string()),
        Ok(_) => failed("REGISTRATION ACCEPT"),
    }
}

async fn unknown_slice(bench: &Bench) -> Result<(), Unmet> {
    let unknown = Slice { sst: 251, sd: Some([0xaa, 0xbb, 0xcc]) };
    let mut config = bench.ue_config()?;
    config.requested_nssai = vec![unknown];
    let ue = bench.gnb(0).await?.new_ue(config)?;
    match ue.register().await {
        Ok(outcome) => {
            require(!outcome.allowed_nssai.contains(&unknown), || {
                "the unknown S-NSSAI is allowed".into()
            })?;
            ue.deregister().await?;
            Ok(())
        }
        Err(UeError::Rejected(62)) => Ok(()),
        Err(error) => failed(error.to_string()),
    }
}

async fn update(bench: &Bench, kind: RegistrationType) -> Result<(), Unmet> {
    let ue = bench.registered().await?;
    ue.register_as(kind).await?;
    ue.deregister().await?;
    Ok(())
}

async fn periodic(bench: &Bench) -> Result<(), Unmet> {
    let ue = bench.registered().await?;
    ue.release_to_idle().await?;
    ue.register_as(RegistrationType::PeriodicRegistrationUpdating).await?;
    // Without follow-on request the network releases the connection, which a deregistration may
    // meet.
    ue.wait_idle().await.ok();
    ue.deregister().await?;
    Ok(())
}

async fn at_once(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.gnb(0).await?;
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..bench.config().subscribers.min(10) {
        let ue = gnb.new_ue(bench.ue_config()?)?;
        all.spawn(async move {
            ue.register().await?;
            ue.deregister().await
        });
    }
    while let Some(done) = all.join_next().await {
        done??;
    }
    Ok(())
}

async fn deregistration(bench: &Bench, switch_off: bool) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    let mut ue = bench.raw_ue()?;
    let ids = gnb.register(&mut ue).await?;
    gnb.settle(&mut ue).await?;
    ue.nas.deregister(switch_off, Instant::now())?;
    for nas in ue.take_sent() {
        gnb.send(gnb.uplink_nas_transport(ids, &nas)?).await?;
    }
    let accepted = match gnb.next_nas(&mut ue).await? {
        Some(nas) => {
            ue.events.clear();
            ue.receive(&nas);
            let accepted = ue.events.contains(&Event::Deregistered);
            require(accepted, || "another message than DEREGISTRATION ACCEPT".into())?;
            require(!switch_off, || "DEREGISTRATION ACCEPT after switch-off".into())?;
            require(gnb.next_nas(&mut ue).await?.is_none(), || "another NAS message".into())?;
            true
        }
        None => false,
    };
    require(accepted != switch_off, || "no DEREGISTRATION ACCEPT".into())?;
    require(ue.ids().is_none(), || "no UE CONTEXT RELEASE COMMAND".into())?;
    gnb.shutdown().await;
    Ok(())
}

async fn truncated_request(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    let mut ue = bench.raw_ue()?;
    gnb.send_nas(&ue, &[0x7e, 0, 0x41]).await?;
    while let Some(nas) = gnb.next_nas_soon(&mut ue).await? {
        require(!matches!(nas.get(2), Some(0x42 | 0x56)), || {
            format!("{nas:02x?}: the request is processed")
        })?;
    }
    gnb.shutdown().await;
    let ue = bench.registered().await?;
    let mut events = ue.subscribe().await?;
    ue.deregister().await?;
    let released = std::iter::from_fn(|| events.try_recv().ok())
        .any(|event| event == UeEvent::ConnectionReleased);
    require(released, || "the connection is not released".into())
}

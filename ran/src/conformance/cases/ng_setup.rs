//! NG setup, configuration update and reset (TS 38.413, 8.7).
use super::super::bench::Bench;
use super::super::case::{Behaviour, Case};
use super::super::raw_gnb::described;
use super::super::unmet::{Unmet, require};
use bytes::Bytes;
use martlet_ngap::ngap::*;
use martlet_ngap::{NgapPduKind as Kind, helpers, ie};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ng-setup",
        behaviour: Behaviour::Valid,
        stimulus: "NG SETUP REQUEST",
        expected: "NG SETUP RESPONSE with AMF Name, Served GUAMI List, Relative AMF Capacity and \
                   PLMN Support List",
        clause: "TS 38.413, 8.7.1.2 and 9.2.6.2",
        run: |bench| Box::pin(ng_setup(bench)),
    },
    Case {
        name: "ng-setup-unknown-plmn",
        behaviour: Behaviour::Invalid,
        stimulus: "NG SETUP REQUEST with a PLMN that the AMF does not serve",
        expected: "NG SETUP FAILURE",
        clause: "TS 38.413, 8.7.1.4",
        run: |bench| Box::pin(unknown_plmn(bench)),
    },
    Case {
        name: "ng-setup-missing-element",
        behaviour: Behaviour::Invalid,
        stimulus: "NG SETUP REQUEST without Supported TA List (criticality reject)",
        expected: "NG SETUP FAILURE, or ERROR INDICATION",
        clause: "TS 38.413, 10.3.5",
        run: |bench| Box::pin(missing_element(bench)),
    },
    Case {
        name: "ng-setup-unknown-element-ignore",
        behaviour: Behaviour::Valid,
        stimulus: "NG SETUP REQUEST with an unknown element of criticality ignore",
        expected: "NG SETUP RESPONSE",
        clause: "TS 38.413, 10.3.4.2",
        run: |bench| Box::pin(unknown_element_ignore(bench)),
    },
    Case {
        name: "ng-setup-unknown-element-reject",
        behaviour: Behaviour::Valid,
        stimulus: "NG SETUP REQUEST with an unknown element of criticality reject",
        expected: "NG SETUP FAILURE",
        clause: "TS 38.413, 10.3.4.2",
        run: |bench| Box::pin(unknown_element_reject(bench)),
    },
    Case {
        name: "ng-setup-after-failure",
        behaviour: Behaviour::Valid,
        stimulus: "NG SETUP REQUEST again on the association that got NG SETUP FAILURE",
        expected: "NG SETUP RESPONSE",
        clause: "TS 38.413, 8.7.1.3",
        run: |bench| Box::pin(after_failure(bench)),
    },
    Case {
        name: "ng-setup-again",
        behaviour: Behaviour::Valid,
        stimulus: "NG SETUP REQUEST of a gNB whose former association was shut down",
        expected: "NG SETUP RESPONSE",
        clause: "TS 38.413, 8.7.1.1",
        run: |bench| Box::pin(again(bench)),
    },
    Case {
        name: "message-before-ng-setup",
        behaviour: Behaviour::Invalid,
        stimulus: "INITIAL UE MESSAGE before NG setup",
        expected: "no service: ERROR INDICATION, silence, or the end of the association",
        clause: "TS 38.413, 8.7.1.1",
        run: |bench| Box::pin(before_setup(bench)),
    },
    Case {
        name: "ran-configuration-update",
        behaviour: Behaviour::Valid,
        stimulus: "RAN CONFIGURATION UPDATE with another RAN Node Name",
        expected: "RAN CONFIGURATION UPDATE ACKNOWLEDGE",
        clause: "TS 38.413, 8.7.2.2",
        run: |bench| Box::pin(configuration_update(bench)),
    },
    Case {
        name: "ng-reset",
        behaviour: Behaviour::Valid,
        stimulus: "NG RESET of the NG interface",
        expected: "NG RESET ACKNOWLEDGE, and the connections of all UEs are gone",
        clause: "TS 38.413, 8.7.4.2.2",
        run: |bench| Box::pin(reset(bench)),
    },
    Case {
        name: "ng-reset-of-one-connection",
        behaviour: Behaviour::Valid,
        stimulus: "NG RESET of one UE-associated logical NG connection",
        expected: "NG RESET ACKNOWLEDGE that lists it",
        clause: "TS 38.413, 8.7.4.2.2",
        run: |bench| Box::pin(reset_of_one(bench)),
    },
    Case {
        name: "gnb-restart",
        behaviour: Behaviour::Valid,
        stimulus: "a gNB with a registered UE aborts its association, connects again, and its UE \
                   registers",
        expected: "NG SETUP RESPONSE and REGISTRATION ACCEPT",
        clause: "TS 38.413, 8.7.1.1; TS 24.501, 5.5.1.2.4",
        run: |bench| Box::pin(gnb_restart(bench)),
    },
];

async fn ng_setup(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb().await?;
    gnb.send(gnb.ng_setup_request()?).await?;
    let response = gnb.next().await?;
    require(response.kind() == Kind::Successful_NGSetup, || described(&response))?;
    let has = |present: bool, what: &str| {
        require(present, || format!("NG SETUP RESPONSE without {what}"))
    };
    has(response.ie::<ie::AMFName>().transpose()?.is_some(), "AMF Name")?;
    has(response.ie::<ie::ServedGUAMIList>().transpose()?.is_some(), "Served GUAMI List")?;
    has(response.ie::<ie::RelativeAMFCapacity>().transpose()?.is_some(), "Relative AMF Capacity")?;
    has(response.ie::<ie::PLMNSupportList>().transpose()?.is_some(), "PLMN Support List")?;
    gnb.shutdown().await;
    Ok(())
}

async fn unknown_plmn(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb().await?;
    gnb.send(gnb.ng_setup_of(helpers::plmn("999", "99")?)?).await?;
    expect_failure(&gnb.next().await?)?;
    gnb.shutdown().await;
    Ok(())
}

fn expect_failure(answer: &NGAP_PDU) -> Result<(), Unmet> {
    require(answer.kind() == Kind::Unsuccessful_NGSetup, || described(answer))
}

async fn missing_element(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb().await?;
    gnb.send(gnb.ng_setup_without_areas()?).await?;
    let answer = gnb.next().await?;
    let rejects =
        matches!(answer.kind(), Kind::Unsuccessful_NGSetup | Kind::Initiating_ErrorIndication);
    require(rejects, || described(&answer))?;
    gnb.shutdown().await;
    Ok(())
}

/// Appends an element with an identifier that TS 38.413 does not assign.
fn with_unknown_element(message: &Bytes, criticality: u8) -> Bytes {
    // Choice, procedure code, criticality, length of the open type, then the sequence: one octet
    // of extension bits, and the number of elements.
    let (head, length) = match message.get(3) {
        Some(first) if first & 0x80 == 0 => (3, 1),
        _ => (3, 2),
    };
    let body = message.slice(head + length..);
    let mut changed = body.to_vec();
    let count = u16::from_be_bytes([body[1], body[2]]) + 1;
    changed[1..3].copy_from_slice(&count.to_be_bytes());
    changed.extend([0xff, 0xf0, criticality, 1, 0]);
    let mut whole = message[..head].to_vec();
    match u8::try_from(changed.len()) {
        Ok(short @ 0..=0x7f) => whole.push(short),
        _ => whole.extend((0x8000 | changed.len() as u16).to_be_bytes()),
    }
    whole.extend(changed);
    whole.into()
}

async fn unknown_element_ignore(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb().await?;
    gnb.send(with_unknown_element(&gnb.ng_setup_request()?, 0x40)).await?;
    let answer = gnb.next().await?;
    require(answer.kind() == Kind::Successful_NGSetup, || described(&answer))?;
    gnb.shutdown().await;
    Ok(())
}

async fn unknown_element_reject(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb().await?;
    gnb.send(with_unknown_element(&gnb.ng_setup_request()?, 0)).await?;
    expect_failure(&gnb.next().await?)?;
    gnb.shutdown().await;
    Ok(())
}

async fn after_failure(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb().await?;
    gnb.send(gnb.ng_setup_of(helpers::plmn("999", "99")?)?).await?;
    expect_failure(&gnb.next().await?)?;
    gnb.set_up().await?;
    gnb.shutdown().await;
    Ok(())
}

async fn again(bench: &Bench) -> Result<(), Unmet> {
    let config = {
        let gnb = bench.raw_gnb_after_setup().await?;
        gnb.shutdown().await;
        gnb.config().clone()
    };
    let gnb = bench.raw_gnb_of(config).await?;
    gnb.set_up().await?;
    gnb.shutdown().await;
    Ok(())
}

async fn before_setup(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb().await?;
    let mut ue = bench.raw_ue()?;
    let request = ue.registration_request()?;
    gnb.send_nas(&ue, &request).await?;
    let answered = gnb.next_nas_soon(&mut ue).await.is_ok_and(|nas| nas.is_some());
    require(!answered, || "a NAS message for the UE".into())?;
    gnb.shutdown().await;
    Ok(())
}

async fn configuration_update(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    gnb.send(gnb.configuration_update()?).await?;
    let answer = gnb.next().await?;
    require(answer.kind() == Kind::Successful_RANConfigurationUpdate, || described(&answer))?;
    gnb.shutdown().await;
    Ok(())
}

async fn reset(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    let mut ue = bench.raw_ue()?;
    let ids = gnb.register(&mut ue).await?;
    gnb.send(gnb.reset()?).await?;
    gnb.next_of(Kind::Successful_NGReset).await?;
    gnb.send(gnb.uplink_nas_transport(ids, &[0x7e, 0, 0x43])?).await?;
    // The AMF no longer knows the connection.
    let answer = gnb.next_ignoring_nas().await?;
    require(answer.kind() == Kind::Initiating_ErrorIndication, || described(&answer))?;
    gnb.shutdown().await;
    Ok(())
}

async fn reset_of_one(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    let mut ue = bench.raw_ue()?;
    let ids = gnb.register(&mut ue).await?;
    gnb.send(gnb.reset_of(ids)?).await?;
    let answer = gnb.next_of(Kind::Successful_NGReset).await?;
    let list = answer.ie::<ie::UE_associatedLogicalNG_connectionList>().transpose()?;
    let listed = list.is_some_and(|list| {
        list.0.iter().any(|item| {
            item.ran_ue_ngap_id.is_some_and(|id| id.0 == ids.ran)
                || item.amf_ue_ngap_id.is_some_and(|id| id.0 == ids.amf)
        })
    });
    require(listed, || "NG RESET ACKNOWLEDGE that does not list the connection".into())?;
    gnb.shutdown().await;
    Ok(())
}

async fn gnb_restart(bench: &Bench) -> Result<(), Unmet> {
    let config = bench.ue_config()?;
    let gnb = bench.gnb(0).await?;
    let ue = gnb.new_ue(config.clone())?;
    ue.register().await?;
    gnb.abort();
    gnb.lost().await;
    let ue = bench.gnb(0).await?.new_ue(config)?;
    ue.register().await?;
    ue.deregister().await?;
    Ok(())
}

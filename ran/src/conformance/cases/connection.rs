//! AN release, service request, paging and unexpected messages (TS 23.502, 4.2.3 and 4.2.6).
use super::super::bench::Bench;
use super::super::case::{Behaviour, Case};
use super::super::raw_gnb::{RawGnb, described};
use super::super::raw_ue::RawUe;
use super::super::unmet::{Unmet, require};
use crate::gnb::Ue;
use martlet_nas::{
    Guti, KeySetIdentifier, Nas5gsMessage, NasConfigurationUpdateComplete, NasFGsMobileIdentity,
    NasKeySetIdentifier, NasRegistrationComplete, NasServiceAccept, NasServiceRequest,
    NasServiceType, ServiceType,
};
use martlet_ngap::NgapPduKind as Kind;
use std::time::Duration;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "an-release",
        behaviour: Behaviour::Valid,
        stimulus: "UE CONTEXT RELEASE REQUEST for user inactivity",
        expected: "UE CONTEXT RELEASE COMMAND",
        clause: "TS 38.413, 8.3.2; TS 23.502, 4.2.6",
        run: |bench| Box::pin(an_release(bench)),
    },
    Case {
        name: "uplink-after-release",
        behaviour: Behaviour::Invalid,
        stimulus: "UPLINK NAS TRANSPORT on a connection that was released",
        expected: "ERROR INDICATION",
        clause: "TS 38.413, 10.6",
        run: |bench| Box::pin(uplink_after_release(bench)),
    },
    Case {
        name: "service-request",
        behaviour: Behaviour::Valid,
        stimulus: "service request of an idle UE with uplink data of its session",
        expected: "SERVICE ACCEPT, and the user plane of the session is set up",
        clause: "TS 24.501, 5.6.1.4; TS 23.502, 4.2.3.2",
        run: |bench| Box::pin(service_request(bench)),
    },
    Case {
        name: "service-request-data",
        behaviour: Behaviour::Valid,
        stimulus: "an ICMP echo request after the service request",
        expected: "its reply",
        clause: "TS 23.502, 4.2.3.2",
        run: |bench| Box::pin(service_request_data(bench)),
    },
    Case {
        name: "service-request-of-unknown-ue",
        behaviour: Behaviour::Valid,
        stimulus: "SERVICE REQUEST with a 5G-S-TMSI that the AMF did not assign",
        expected: "SERVICE REJECT #9 or #10",
        clause: "TS 24.501, 5.6.1.5",
        run: |bench| Box::pin(service_request_of_unknown(bench)),
    },
    Case {
        name: "forged-service-request",
        behaviour: Behaviour::Invalid,
        stimulus: "SERVICE REQUEST of another gNB with the 5G-S-TMSI of an idle UE and a wrong MAC",
        expected: "SERVICE REJECT #9; the UE's context stays: its own service request is accepted",
        clause: "TS 24.501, 4.4.4.3",
        run: |bench| Box::pin(forged_service_request(bench)),
    },
    Case {
        name: "paging",
        behaviour: Behaviour::Valid,
        stimulus: "downlink data for an idle UE",
        expected: "PAGING with its 5G-S-TMSI; its service request is accepted",
        clause: "TS 23.502, 4.2.3.3; TS 38.413, 8.5.1",
        run: |bench| Box::pin(paging(bench)),
    },
    Case {
        name: "downlink-message-of-the-ue",
        behaviour: Behaviour::Invalid,
        stimulus: "SERVICE ACCEPT, a message of the network, from the UE",
        expected: "5GMM STATUS or silence; the UE is served further",
        clause: "TS 24.501, 7.4",
        run: |bench| Box::pin(downlink_message(bench)),
    },
    Case {
        name: "unexpected-registration-complete",
        behaviour: Behaviour::Invalid,
        stimulus: "REGISTRATION COMPLETE and CONFIGURATION UPDATE COMPLETE without a request",
        expected: "silence or 5GMM STATUS #98; the UE is served further",
        clause: "TS 24.501, 7.4",
        run: |bench| Box::pin(unexpected_complete(bench)),
    },
    Case {
        name: "radio-capability",
        behaviour: Behaviour::Valid,
        stimulus: "UE RADIO CAPABILITY INFO INDICATION",
        expected: "no error; the UE is served further",
        clause: "TS 38.413, 8.14.1",
        run: |bench| Box::pin(radio_capability(bench)),
    },
];

async fn an_release(bench: &Bench) -> Result<(), Unmet> {
    let ue = bench.registered().await?;
    ue.release_to_idle().await?;
    ue.service_request().await?;
    ue.deregister().await?;
    Ok(())
}

async fn uplink_after_release(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    let mut ue = bench.raw_ue()?;
    let ids = gnb.register(&mut ue).await?;
    gnb.settle(&mut ue).await?;
    gnb.send(gnb.release_request(ids)?).await?;
    gnb.next_nas(&mut ue).await?;
    require(ue.ids().is_none(), || "no UE CONTEXT RELEASE COMMAND".into())?;
    gnb.send(gnb.uplink_nas_transport(ids, &[0x7e, 0, 0x43])?).await?;
    let answer = gnb.next_ignoring_nas().await?;
    require(answer.kind() == Kind::Initiating_ErrorIndication, || described(&answer))?;
    gnb.shutdown().await;
    Ok(())
}

async fn service_request(bench: &Bench) -> Result<(), Unmet> {
    let (ue, session) = bench.with_session().await?;
    ue.release_to_idle().await?;
    let purpose = crate::ue::ServicePurpose::Data;
    ue.service_request_for(purpose, &[session.psi]).await?;
    let active = ue.status().await?.active_user_planes;
    require(active == [session.psi], || format!("user planes of the sessions {active:?}"))?;
    ue.deregister().await?;
    Ok(())
}

async fn service_request_data(bench: &Bench) -> Result<(), Unmet> {
    let (ue, session) = bench.with_session().await?;
    bench.ping(&ue, &session).await?;
    ue.release_to_idle().await?;
    // The packet makes the UE request service.
    bench.ping(&ue, &session).await?;
    ue.deregister().await?;
    Ok(())
}

/// SERVICE REQUEST with a security header and a MAC of ours.
fn service_request_of(guti: Guti) -> Result<Vec<u8>, Unmet> {
    let ngksi = NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0))?;
    let kind = NasServiceType::from_service_type(ServiceType::Data);
    let identity = NasFGsMobileIdentity::from_s_tmsi(guti.s_tmsi());
    let plain = Nas5gsMessage::new_5gmm(NasServiceRequest::new(ngksi, kind, identity)).encode()?;
    Ok([vec![0x7e, 1, 1, 2, 3, 4, 0], plain].concat())
}

/// Requires SERVICE REJECT with one of these causes.
async fn expect_service_reject(
    gnb: &RawGnb,
    ue: &mut RawUe,
    request: &[u8],
    causes: &[u8],
) -> Result<(), Unmet> {
    gnb.send_nas(ue, request).await?;
    let answer = gnb.next_nas(ue).await?.unwrap_or_default();
    let rejected =
        answer.get(2) == Some(&0x4d) && answer.get(3).is_some_and(|cause| causes.contains(cause));
    require(rejected, || format!("{answer:02x?} in place of SERVICE REJECT {causes:?}"))
}

async fn service_request_of_unknown(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    // An identity of this AMF, with another 5G-TMSI than any that it assigned.
    let mut known = bench.raw_ue()?;
    gnb.register(&mut known).await?;
    gnb.settle(&mut known).await?;
    let guti = known.nas.guti().ok_or_else(|| Unmet::Failed("no 5G-GUTI".into()))?;
    let mut request = service_request_of(guti)?;
    let end = request.len();
    if let Some(tmsi) = request.get_mut(end - 4..) {
        tmsi.iter_mut().for_each(|octet| *octet ^= 0xa5);
    }
    let mut unknown = bench.raw_ue()?;
    expect_service_reject(&gnb, &mut unknown, &request, &[9, 10]).await?;
    gnb.shutdown().await;
    Ok(())
}

async fn forged_service_request(bench: &Bench) -> Result<(), Unmet> {
    let (ue, _) = bench.with_session().await?;
    ue.release_to_idle().await?;
    let guti = ue.status().await?.guti.ok_or_else(|| Unmet::Failed("no 5G-GUTI".into()))?;
    let gnb = bench.raw_gnb_after_setup().await?;
    let mut forger = bench.raw_ue()?;
    expect_service_reject(&gnb, &mut forger, &service_request_of(guti)?, &[9]).await?;
    gnb.shutdown().await;
    ue.service_request().await?;
    ue.deregister().await?;
    Ok(())
}

async fn paging(bench: &Bench) -> Result<(), Unmet> {
    if bench.config().downlink.is_none() || bench.config().gnb.n3.is_none() {
        return Err(Unmet::NotRun("--downlink and an N3 address"));
    }
    let (ue, session) = bench.with_session().await?;
    ue.release_to_idle().await?;
    let mut events = ue.subscribe().await?;
    bench.send_downlink(&session)?;
    let paged = async {
        while let Ok(event) = events.recv().await {
            if event == crate::UeEvent::Nas(crate::ue::Event::Paged) {
                return true;
            }
        }
        false
    };
    let paged = tokio::time::timeout(Duration::from_secs(10), paged).await;
    require(paged == Ok(true), || "no PAGING".into())?;
    ue.service_request().await?;
    ue.deregister().await?;
    Ok(())
}

async fn downlink_message(bench: &Bench) -> Result<(), Unmet> {
    let ue = bench.registered().await?;
    ue.send_nas(Nas5gsMessage::new_5gmm(NasServiceAccept::new())).await?;
    expect_service(bench, &ue).await
}

/// A session is established after the core was silent for a time.
async fn expect_service(bench: &Bench, ue: &Ue) -> Result<(), Unmet> {
    tokio::time::sleep(bench.config().silence).await;
    ue.establish_pdu_session(bench.session()).await?;
    ue.deregister().await?;
    Ok(())
}

async fn unexpected_complete(bench: &Bench) -> Result<(), Unmet> {
    let ue = bench.registered().await?;
    ue.send_nas(Nas5gsMessage::new_5gmm(NasRegistrationComplete::new())).await?;
    ue.send_nas(Nas5gsMessage::new_5gmm(NasConfigurationUpdateComplete::new())).await?;
    expect_service(bench, &ue).await
}

async fn radio_capability(bench: &Bench) -> Result<(), Unmet> {
    let mut config = bench.ue_config()?;
    // The container is transparent to the AMF.
    config.radio_capability = vec![4, 2, 0, 0x18, 0];
    let gnb = bench.gnb(0).await?;
    let before = gnb.error_indications();
    let ue = gnb.new_ue(config)?;
    ue.register().await?;
    ue.establish_pdu_session(bench.session()).await?;
    require(gnb.error_indications() == before, || "ERROR INDICATION".into())?;
    ue.deregister().await?;
    Ok(())
}

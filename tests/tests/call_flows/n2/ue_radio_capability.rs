//! UE radio capability info indication (TS 38.413, 8.14.1).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ie;
use martlet_tests::{TestCore, in_namespace};

/// What a gNB tells of a UE's radio (TS 38.413, 8.14.1) is told the next gNB, so that the UE need
/// not be asked again; also by another AMF to which the UE comes.
#[test]
fn radio_capability_is_stored_and_sent_at_the_next_context_setup() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let second = core.second_amf(|_| {}).await?;
        let (one, other, there) =
            (core.gnb(1).await?, core.gnb(2).await?, second.gnb(&core, 3).await?);
        let mut config = core.phone(1);
        config.radio_capability = (0..200).collect();
        let said = config.radio_capability.clone();
        let phone = one.new_ue(config)?;
        // What the next INITIAL CONTEXT SETUP REQUEST says of it.
        let told = async |heard: &mut tokio::sync::broadcast::Receiver<bytes::Bytes>| {
            loop {
                let message = heard.recv().await?;
                let pdu = martlet_ngap::ngap::NGAP_PDU::decode(&message)?;
                if pdu.kind() == Kind::Initiating_InitialContextSetup {
                    let radio = pdu.ie::<ie::UERadioCapability>().transpose()?;
                    return anyhow::Ok(radio.map(|radio| radio.0.to_vec()));
                }
            }
        };
        let mut heard = one.subscribe();
        core.register_with_session(&phone).await?;
        ensure!(told(&mut heard).await?.is_none(), "nobody knows it yet");
        phone.release_to_idle().await?;
        phone.service_request().await?;
        ensure!(told(&mut heard).await?.as_ref() == Some(&said), "at the same gNB");
        for (gnb, place) in [(&other, "at another gNB"), (&there, "at another AMF's")] {
            phone.release_to_idle().await?;
            phone.move_to(gnb).await?;
            let mut heard = gnb.subscribe();
            phone.register_as(martlet_ran::RegistrationType::MobilityRegistrationUpdating).await?;
            if place == "at another gNB" {
                phone.release_to_idle().await?;
                phone.service_request().await?;
            }
            let mut last = told(&mut heard).await?;
            if last.is_none() {
                last = told(&mut heard).await?;
            }
            ensure!(last.as_ref() == Some(&said), "{place}: {last:?}");
        }
        phone.deregister().await?;
        Ok(())
    });
}

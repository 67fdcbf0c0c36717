//! UE radio capability info indication (TS 38.413, 8.14.1).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ie;
use martlet_tests::{TestCore, in_namespace};

/// The AMF stores the capability and sends it to the next gNB, also after a change of the AMF.
#[test]
fn radio_capability_is_stored_and_sent_at_the_next_context_setup() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let second = core.second_amf(|_| {}).await?;
        let (one, other, there) =
            (core.gnb(1).await?, core.gnb(2).await?, second.gnb(&core, 3).await?);
        let mut config = core.ue_config(1);
        config.radio_capability = (0..200).collect();
        let capability = config.radio_capability.clone();
        let ue = one.new_ue(config)?;
        // The capability in the next INITIAL CONTEXT SETUP REQUEST.
        let sent = async |messages: &mut tokio::sync::broadcast::Receiver<bytes::Bytes>| {
            loop {
                let message = messages.recv().await?;
                let pdu = martlet_ngap::ngap::NGAP_PDU::decode(&message)?;
                if pdu.kind() == Kind::Initiating_InitialContextSetup {
                    let radio = pdu.ie::<ie::UERadioCapability>().transpose()?;
                    return anyhow::Ok(radio.map(|radio| radio.0.to_vec()));
                }
            }
        };
        let mut messages = one.subscribe();
        core.register_with_session(&ue).await?;
        ensure!(sent(&mut messages).await?.is_none(), "the capability is not known yet");
        ue.release_to_idle().await?;
        ue.service_request().await?;
        ensure!(sent(&mut messages).await?.as_ref() == Some(&capability), "at the same gNB");
        for (gnb, case) in [(&other, "at another gNB"), (&there, "at a gNB of another AMF")] {
            ue.release_to_idle().await?;
            ue.move_to(gnb).await?;
            let mut messages = gnb.subscribe();
            ue.register_as(martlet_ran::RegistrationType::MobilityRegistrationUpdating).await?;
            if case == "at another gNB" {
                ue.release_to_idle().await?;
                ue.service_request().await?;
            }
            let mut last = sent(&mut messages).await?;
            if last.is_none() {
                last = sent(&mut messages).await?;
            }
            ensure!(last.as_ref() == Some(&capability), "{case}: {last:?}");
        }
        ue.deregister().await?;
        Ok(())
    });
}

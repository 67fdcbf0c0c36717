//! Initial registration (TS 23.502, 4.2.2.2.2; TS 24.501, 5.5.1.2).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::UeEvent;
use martlet_ran::ue::PduSessionRequest;
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};
use tokio::sync::broadcast::Receiver;

pub const AUTHENTICATE: &str = "nausf-auth Authenticate";

/// IDENTITY REQUEST for the SUCI, without protection.
const IDENTITY_REQUEST: [u8; 4] = [0x7e, 0x00, 0x5b, 0x01];

/// Whether the network has asked the phone for its SUCI.
fn was_asked_for_its_identity(events: &mut Receiver<UeEvent>) -> bool {
    std::iter::from_fn(|| events.try_recv().ok())
        .any(|event| matches!(event, UeEvent::NasReceived(nas) if nas[..] == IDENTITY_REQUEST))
}

#[test]
fn known_5g_guti_is_accepted_and_reallocated() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let phone = gnb.new_ue(core.phone(1))?;
        let first = phone.register().await?.guti;
        phone.deregister().await?;
        phone.move_to(&other).await?;
        let mut events = phone.subscribe().await?;
        let second = phone.register().await?.guti;
        ensure!(
            first.is_some() && second.is_some() && first != second,
            "{first:?} and then {second:?}"
        );
        ensure!(
            core.bodies.calls(AUTHENTICATE) == 1,
            "the phone proves itself by the keys that it has"
        );
        ensure!(!was_asked_for_its_identity(&mut events), "the phone has said who it is");
        core.use_session_and_leave(&phone).await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn unknown_5g_guti_triggers_an_identity_request() {
    in_namespace(|| async {
        // An AMF that forgets a phone when it leaves does not know the 5G-GUTI with which it comes
        // back.
        let core =
            TestCore::start(Sbi::Local, |config| config.amf.timers.deregistered_s = 0).await?;
        let gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        phone.register().await?;
        phone.deregister().await?;
        core.until("the AMF has forgotten the phone", |counts| counts.contexts == 0).await?;
        let mut events = phone.subscribe().await?;
        phone.register().await?;
        ensure!(was_asked_for_its_identity(&mut events), "IDENTITY REQUEST is due");
        ensure!(core.bodies.calls(AUTHENTICATE) == 2, "a phone that is not known is authenticated");
        core.use_session_and_leave(&phone).await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn ten_ues_register_concurrently() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut tasks = tokio::task::JoinSet::new();
        for n in 1..=10 {
            let phone = gnb.new_ue(core.phone(n))?;
            tasks.spawn(async move {
                phone.register().await?;
                phone.establish_pdu_session(internet()).await?;
                phone.deregister().await
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        core.until_nothing_is_left().await
    });
}

#[test]
fn initial_registration_of_a_connected_ue_releases_its_sessions() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        phone.register().await?;
        ensure!(
            phone.status().await?.active_user_planes.is_empty(),
            "the gNB has let go of the session"
        );
        core.until("no session is left", |counts| (counts.sessions, counts.user_planes) == (0, 0))
            .await?;
        // A gNB that still had it would refuse to set it up.
        phone.establish_pdu_session(PduSessionRequest { psi: Some(1), ..internet() }).await?;
        reaches(&phone, 1, GATEWAY).await
    });
}

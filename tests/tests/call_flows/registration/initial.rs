//! Registration and deregistration (TS 23.502, 4.2.2; TS 24.501, 5.5.1 and 5.5.2).
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::{RegistrationType, SuciScheme, Ue, UeEvent};
use martlet_security::nas_5gs::HomeNetworkPrivateKey;
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};
use martlet_udm::{HomeNetworkKey, Scheme};
use tokio::sync::broadcast::Receiver;

const AUTHENTICATE: &str = "nausf-auth Authenticate";

/// IDENTITY REQUEST for the SUCI, without protection.
const IDENTITY_REQUEST: [u8; 4] = [0x7e, 0x00, 0x5b, 0x01];

/// Whether the network has asked the phone for its SUCI.
fn was_asked_for_its_identity(events: &mut Receiver<UeEvent>) -> bool {
    std::iter::from_fn(|| events.try_recv().ok())
        .any(|event| matches!(event, UeEvent::NasReceived(nas) if nas[..] == IDENTITY_REQUEST))
}

#[test]
fn a_known_5g_guti_is_enough_and_each_registration_gives_another() {
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
fn an_unknown_5g_guti_leads_to_an_identity_request() {
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
fn an_idle_phone_registers_in_another_cell_and_takes_its_sessions_along() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.release_to_idle().await?;
        phone.move_to(&other).await?;
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&phone, 1, GATEWAY).await?;
        let remote = core.status("upf")["sessions"][0]["remote"].to_string();
        let there = core.gnb_config(2).n3.map(|address| format!("@{address}")).unwrap_or_default();
        ensure!(remote.contains(&there), "downlink goes to the other gNB: {remote}");
        // The periodic one changes nothing.
        phone.release_to_idle().await?;
        phone.register_as(RegistrationType::PeriodicRegistrationUpdating).await?;
        reaches(&phone, 1, GATEWAY).await?;
        ensure!(core.bodies.calls(AUTHENTICATE) == 1, "one authentication is enough");
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

/// Registers a phone that conceals its identity with a key of the home network.
async fn conceals(core: &TestCore, n: u64, key_id: u8, key: &HomeNetworkPrivateKey) -> Result<Ue> {
    let gnb = core.gnb(n as u8).await?;
    let mut config = core.phone(n);
    config.suci = SuciScheme::Ecies { key_id, key: key.public_key() };
    Ok(gnb.new_ue(config)?)
}

#[test]
fn identities_are_revealed_with_the_home_networks_keys_of_both_profiles() {
    in_namespace(|| async {
        let (a, b) = ([7; 32], [9; 32]);
        let core = TestCore::start(Sbi::Local, |config| {
            config.udm.home_network_keys = vec![
                HomeNetworkKey { id: 1, scheme: Scheme::A, private: "07".repeat(32) },
                HomeNetworkKey { id: 2, scheme: Scheme::B, private: "09".repeat(32) },
            ];
        })
        .await?;
        let (a, b) = (HomeNetworkPrivateKey::profile_a(&a), HomeNetworkPrivateKey::profile_b(&b)?);
        for (n, id, key) in [(1, 1, &a), (2, 2, &b)] {
            let phone = conceals(&core, n, id, key).await?;
            phone.register().await?;
            core.use_session_and_leave(&phone).await?;
        }
        // A key that the home network does not have, and another one than it has.
        let other = HomeNetworkPrivateKey::profile_a(&[8; 32]);
        for (n, id, key) in [(3, 9, &a), (4, 1, &other)] {
            let refused = conceals(&core, n, id, key)
                .await?
                .register()
                .await
                .expect_err("nobody can read the identity");
            ensure!(refused.cause() == Some(3), "illegal UE: {refused}");
        }
        core.until_nothing_is_left().await?;
        core.bodies.check(&[AUTHENTICATE]).await
    });
}

/// A new key comes beside the old one, the old one goes, and then the null scheme (TS 33.501,
/// 6.12.2 and C.3).
#[test]
fn home_network_keys_are_rotated_while_phones_are_served() {
    in_namespace(|| async {
        let (old, new) = (
            HomeNetworkPrivateKey::profile_a(&[7; 32]),
            HomeNetworkPrivateKey::profile_a(&[8; 32]),
        );
        let key = |id: u8, octet: &str| HomeNetworkKey {
            id,
            scheme: Scheme::A,
            private: octet.repeat(32),
        };
        let core =
            TestCore::start(Sbi::Local, |config| config.udm.home_network_keys = vec![key(1, "07")])
                .await?;
        let udm = core.config().udm.clone();
        let registers = async |n: u64, id: u8, key: &HomeNetworkPrivateKey| {
            let phone = conceals(&core, n, id, key).await?;
            Ok::<bool, anyhow::Error>(phone.register().await.is_ok())
        };
        ensure!(registers(1, 1, &old).await? && !registers(2, 2, &new).await?, "the old key alone");
        core.reload(
            "udm",
            martlet_udm::UdmConfig {
                home_network_keys: vec![key(1, "07"), key(2, "08")],
                ..udm.clone()
            },
        )?;
        ensure!(registers(3, 1, &old).await? && registers(4, 2, &new).await?, "both");
        let last = martlet_udm::UdmConfig {
            home_network_keys: vec![key(2, "08")],
            null_scheme: false,
            ..udm.clone()
        };
        core.reload("udm", last)?;
        ensure!(!registers(5, 1, &old).await? && registers(6, 2, &new).await?, "the new key alone");
        let gnb = core.gnb(9).await?;
        let refused =
            gnb.new_ue(core.phone(7))?.register().await.expect_err("an identity in the clear");
        ensure!(refused.cause() == Some(3), "{refused}");
        Ok(())
    });
}

#[test]
fn a_phone_that_is_switched_off_leaves_nothing_behind() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        phone.switch_off().await?;
        core.until_nothing_is_left().await?;
        ensure!(gnb.ue_counts() == (0, 0), "the gNB has let go of it: {:?}", gnb.ue_counts());
        core.bodies.check(&["nsmf-pdusession ReleaseSmContext"]).await
    });
}

#[test]
fn an_idle_phone_deregisters() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (one, _) = core.phone_with_session(&gnb, 1).await?;
        let (two, _) = core.phone_with_session(&gnb, 2).await?;
        one.release_to_idle().await?;
        two.release_to_idle().await?;
        one.deregister().await?;
        two.switch_off().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn ten_phones_at_once_all_get_through() {
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

//! Subscription concealed identifiers (TS 33.501, 6.12.2 and Annex C).
use crate::connection::paging::receives;
use crate::registration::general_registration::AUTHENTICATE;
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::{SuciScheme, Ue, UeConfig};
use martlet_security::nas_5gs::HomeNetworkPrivateKey;
use martlet_store::AuthenticationMethod;
use martlet_tests::{TestCore, in_namespace, ping};
use martlet_udm::{HomeNetworkKey, Scheme};

/// A UE that conceals its identity with this public key of the home network.
async fn ue_with_key(
    core: &TestCore,
    n: u64,
    key_id: u8,
    key: &HomeNetworkPrivateKey,
) -> Result<Ue> {
    let gnb = core.gnb(n as u8).await?;
    let mut config = core.ue_config(n);
    config.suci = SuciScheme::Ecies { key_id, key: key.public_key() };
    Ok(gnb.new_ue(config)?)
}

#[test]
fn suci_of_profiles_a_and_b_is_deconcealed() {
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
            let ue = ue_with_key(&core, n, id, key).await?;
            ue.register().await?;
            core.use_session_and_deregister(&ue).await?;
        }
        // A key identifier that the home network does not have, and a wrong key.
        let other = HomeNetworkPrivateKey::profile_a(&[8; 32]);
        for (n, id, key) in [(3, 9, &a), (4, 1, &other)] {
            let refused = ue_with_key(&core, n, id, key)
                .await?
                .register()
                .await
                .expect_err("the identity cannot be deconcealed");
            ensure!(refused.cause() == Some(3), "expected illegal UE: {refused}");
        }
        core.until_all_released().await?;
        core.sbi_record.check(&[AUTHENTICATE]).await
    });
}

/// A second key is added, the first removed, and the null scheme disabled (TS 33.501, 6.12.2 and
/// C.3).
#[test]
fn home_network_keys_are_rotated_at_run_time() {
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
            let ue = ue_with_key(&core, n, id, key).await?;
            Ok::<bool, anyhow::Error>(ue.register().await.is_ok())
        };
        ensure!(
            registers(1, 1, &old).await? && !registers(2, 2, &new).await?,
            "only the old key must be accepted"
        );
        core.reload(
            "udm",
            martlet_udm::UdmConfig {
                home_network_keys: vec![key(1, "07"), key(2, "08")],
                ..udm.clone()
            },
        )?;
        ensure!(
            registers(3, 1, &old).await? && registers(4, 2, &new).await?,
            "both keys must be accepted"
        );
        let last = martlet_udm::UdmConfig {
            home_network_keys: vec![key(2, "08")],
            null_scheme: false,
            ..udm.clone()
        };
        core.reload("udm", last)?;
        ensure!(
            !registers(5, 1, &old).await? && registers(6, 2, &new).await?,
            "only the new key must be accepted"
        );
        let gnb = core.gnb(9).await?;
        let refused = gnb
            .new_ue(core.ue_config(7))?
            .register()
            .await
            .expect_err("the null scheme is disabled");
        ensure!(refused.cause() == Some(3), "{refused}");
        Ok(())
    });
}

#[test]
fn null_scheme_is_rejected_when_disabled() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| config.udm.null_scheme = false).await?;
        core.subscribe(2, |subscriber| subscriber.supi = format!("nai-{NAI}"))?;
        let gnb = core.gnb(1).await?;
        for nai in [None, Some(NAI.to_string())] {
            let config = UeConfig { nai, ..core.ue_config(1) };
            let refused = gnb.new_ue(config)?.register().await.err();
            // Cause #3: illegal UE.
            let cause = refused.and_then(|error| error.cause());
            ensure!(cause == Some(3), "{cause:?}");
        }
        core.until_all_released().await
    });
}

/// A network-specific identifier, with hyphens where the text form of a SUCI has them.
const NAI: &str = "sensor-0-0-7@plant-1.example.org";

/// A UE whose SUPI is a network-specific identifier (TS 23.003, 2.2A and 28.7.2) sends a SUCI of
/// type 1 (28.7.3): null scheme, profiles A and B, with 5G-AKA and EAP-AKA'. Its session, paging
/// and deregistration are those of others.
async fn supi_is_a_network_specific_identifier(sbi: Sbi) -> Result<()> {
    let core = TestCore::start(sbi, |config| {
        config.udm.home_network_keys = vec![
            HomeNetworkKey { id: 1, scheme: Scheme::A, private: "07".repeat(32) },
            HomeNetworkKey { id: 2, scheme: Scheme::B, private: "09".repeat(32) },
        ];
    })
    .await?;
    let (a, b) = (
        HomeNetworkPrivateKey::profile_a(&[7; 32]).public_key(),
        HomeNetworkPrivateKey::profile_b(&[9; 32])?.public_key(),
    );
    let cases = [
        (SuciScheme::Null, AuthenticationMethod::FiveGAka),
        (SuciScheme::Ecies { key_id: 1, key: a }, AuthenticationMethod::FiveGAka),
        (SuciScheme::Ecies { key_id: 2, key: b }, AuthenticationMethod::EapAkaPrime),
    ];
    let gnb = core.gnb(9).await?;
    let (other, from) = core.ue_with_session(&gnb, 9).await?;
    for (n, (suci, method)) in (1..).zip(cases) {
        let nai = format!("{n}-{NAI}");
        core.subscribe(n, |subscriber| {
            subscriber.supi = format!("nai-{nai}");
            subscriber.authentication_method = method;
        })?;
        let gnb = core.gnb(n as u8).await?;
        let config = UeConfig { nai: Some(nai.clone()), suci, ..core.ue_config(n) };
        let ue = gnb.new_ue(config)?;
        let address = core.register_with_session(&ue).await?;
        ensure!(ue.supi() == format!("nai-{nai}"), "{}", ue.supi());
        ue.release_to_idle().await?;
        other.send_ip(1, ping(from, address, 7)).await?;
        receives(&ue, 7..=7).await?;
        ue.deregister().await?;
    }
    other.deregister().await?;
    core.until_all_released().await?;
    core.sbi_record.check(&[AUTHENTICATE, "namf-comm N1N2MessageTransfer"]).await
}

#[test]
fn supi_that_is_a_network_specific_identifier() {
    in_namespace(|| supi_is_a_network_specific_identifier(Sbi::Local));
}

#[test]
fn supi_that_is_a_network_specific_identifier_over_http() {
    in_namespace(|| supi_is_a_network_specific_identifier(Sbi::Http));
}

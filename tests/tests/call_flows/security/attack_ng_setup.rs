//! Attacks by a neighbour on N2 without a gNB (TS 38.413, 8.7.1): it takes the identity of a gNB,
//! or the room for associations.
use crate::security::{limit, rounds};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_amf::AllowConfig;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::{Cause, CauseMisc};
use martlet_ran::{Gnb, GnbError, RegistrationType};
use martlet_tests::{
    GATEWAY, MetricDelta, PacketFilter, RawGnb, TestCore, cause_of, in_namespace,
    in_namespace_within, is_installed, reaches,
};

/// Expects NG SETUP FAILURE and returns its cause.
async fn refused(gnb: &RawGnb) -> Result<Cause> {
    let answer = gnb.next().await?;
    ensure!(answer.kind() == Kind::Unsuccessful_NGSetup, "expected NG SETUP FAILURE: {answer:?}");
    cause_of(&answer)
}

#[test]
fn attack_second_ng_setup_takes_a_gnb_identity() {
    let rounds = rounds(5);
    in_namespace_within(limit(rounds * 2), move || async move {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let in_use = MetricDelta::of(
            "martlet_amf_associations_refused_total",
            &[("reason", "identity_in_use")],
        );
        let attacker = RawGnb::connect(&core, 2).await?;
        for _ in 0..rounds {
            attacker.send(attacker.ng_setup_as(1, "001", 1, 1)).await?;
            let cause = refused(&attacker).await?;
            ensure!(cause == Cause::misc(CauseMisc::unspecified), "{cause:?}");
        }
        // Several at the same time.
        let others = [RawGnb::connect(&core, 3).await?, RawGnb::connect(&core, 4).await?, attacker];
        for other in &others {
            other.send(other.ng_setup_as(1, "001", 1, 1)).await?;
        }
        for other in &others {
            refused(other).await?;
        }
        // An admitted gNB cannot change its identity to that of another one either.
        let admitted = RawGnb::set_up(&core, 5).await?;
        admitted.send(admitted.ng_setup_as(1, "001", 1, 1)).await?;
        refused(&admitted).await?;
        ensure!(in_use.get() >= 9.0, "{} refused", in_use.get());
        let counts = core.counts();
        ensure!((counts.gnbs, counts.connected) == (2, 1), "{counts:?}");
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn restarted_gnb_gets_its_identity_back_within_seconds() {
    if !is_installed("nft") {
        return;
    }
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        // Its machine is switched off, and it connects with another address long before a heartbeat
        // timeout.
        let _filter = PacketFilter::drop_sctp_of(core.gnb_config(1).n2_local.context("local")?)?;
        let again = Gnb::connect({
            let mut config = core.gnb_config(1);
            (config.n2_local, config.n3) = (core.gnb_config(2).n2_local, core.gnb_config(2).n3);
            config
        })
        .await?;
        core.until("one gNB is connected and its UE is in CM-IDLE", |c| {
            (c.gnbs, c.registered, c.connected) == (1, 1, 0)
        })
        .await?;
        gnb.abort();
        ue.wait_idle().await?;
        ue.move_to(&again).await?;
        ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn attack_silent_associations_lock_out_gnbs() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.limits.max_gnbs = 16;
            config.amf.n2.setup_timeout_ms = 20_000;
        })
        .await?;
        let first = core.gnb(1).await?;
        let mut silent = Vec::new();
        // More than `max_gnbs` from one address, and as many from addresses of their own.
        for _ in 0..24 {
            silent.push(RawGnb::connect(&core, 2).await?);
        }
        for number in 3..27 {
            silent.push(RawGnb::connect(&core, number).await?);
        }
        let other = core.gnb(40).await?;
        core.register_use_session_and_deregister(&first, 1).await?;
        core.register_use_session_and_deregister(&other, 2).await?;
        // A gNB with the address of the silent ones.
        let same = RawGnb::connect(&core, 2).await?;
        same.send(same.ng_setup("001", 1)).await?;
        ensure!(same.next().await?.kind() == Kind::Successful_NGSetup, "NG SETUP RESPONSE");
        ensure!(core.counts().gnbs == 3, "{:?}", core.counts());
        core.until_all_released().await
    });
}

#[test]
fn attack_association_without_ng_setup_stays() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Local, |config| config.amf.n2.setup_timeout_ms = 300).await?;
        let late = MetricDelta::of(
            "martlet_amf_associations_refused_total",
            &[("reason", "setup_timeout")],
        );
        let silent = RawGnb::connect(&core, 2).await?;
        let gnb = core.gnb(1).await?;
        ensure!(silent.next().await.is_err(), "a message without NG SETUP");
        ensure!(late.get() >= 1.0, "not counted");
        // The limit is for associations without NG setup only.
        core.register_use_session_and_deregister(&gnb, 1).await?;
        core.until_all_released().await
    });
}

#[test]
fn attack_gnb_that_is_not_allowed() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            let address = config.amf.n2.bind[0].to_string();
            let network = address.trim_end_matches(".5");
            let allow = |last: u8, gnbs: &[&str]| AllowConfig {
                from: format!("{network}.{last}"),
                gnbs: gnbs.iter().map(ToString::to_string).collect(),
            };
            config.amf.n2.allow = vec![allow(21, &["00101-000001"]), allow(22, &[])];
        })
        .await?;
        let gnb = core.gnb(1).await?;
        // Another address: the association ends, whatever it sends.
        let foreign = RawGnb::connect(&core, 3).await?;
        let _ = foreign.send(foreign.ng_setup("001", 1)).await;
        ensure!(foreign.next().await.is_err(), "an association from a foreign address");
        // An admitted address with an identity that it may not have.
        let mut config = core.gnb_config(7);
        config.n2_local = core.gnb_config(1).n2_local;
        config.n3 = core.gnb_config(8).n3;
        let refusal = Gnb::connect(config).await.err();
        ensure!(matches!(refusal, Some(GnbError::SetupRefused { .. })), "{refusal:?}");
        let other = core.gnb(2).await?;
        core.register_use_session_and_deregister(&gnb, 1).await?;
        core.register_use_session_and_deregister(&other, 2).await?;
        core.until_all_released().await
    });
}

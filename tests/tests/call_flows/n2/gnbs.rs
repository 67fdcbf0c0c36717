//! gNBs that come and go (TS 38.413, 8.7; TS 23.527, 5.3).
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{
    FlowTunnel, GtpTunnel, ModifyConfirm, ModifyIndication, NotifyReleased,
};
use martlet_ngap::{NgapPduKind as Kind, build_ngap, ie};
use martlet_ran::{Gnb, RegistrationType, Ue};
use martlet_tests::{GATEWAY, TestCore, Wall, in_namespace, internet, ping, reaches, sequence_of};

/// Phones that are out of reach are forgotten after two seconds.
fn forgetful(config: &mut Config) {
    config.amf.timers.t3512_s = 1;
    config.amf.timers.mobile_reachable_s = 0;
    config.amf.timers.implicit_deregistration_s = 1;
    config.amf.timers.deregistered_s = 0;
}

/// Phones of these numbers, each with a session.
async fn phones(
    core: &TestCore,
    gnb: &Gnb,
    numbers: std::ops::RangeInclusive<u64>,
) -> Result<Vec<Ue>> {
    let mut phones = Vec::new();
    for n in numbers {
        phones.push(core.phone_with_session(gnb, n).await?.0);
    }
    Ok(phones)
}

#[test]
fn the_phones_of_a_gnb_that_aborts_are_idle_and_then_forgotten() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, forgetful).await?;
        let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let lost = phones(&core, &gnb, 1..=3).await?;
        let kept = phones(&core, &other, 4..=4).await?;
        gnb.vanish();
        core.until("three phones are idle", |c| {
            (c.gnbs, c.registered, c.connected, c.user_planes) == (1, 4, 1, 4)
        })
        .await?;
        reaches(&kept[0], 1, GATEWAY).await?;
        // Nobody hears of them any more.
        core.until("three phones are forgotten", |c| {
            (c.contexts, c.sessions, c.addresses, c.user_planes) == (1, 1, 1, 1)
        })
        .await?;
        reaches(&kept[0], 1, GATEWAY).await?;
        kept[0].deregister().await?;
        core.until_nothing_is_left().await?;
        drop(lost);
        core.bodies
            .check(&["nsmf-pdusession UpdateSmContext", "nudm-uecm Update3GppRegistration"])
            .await
    });
}

#[test]
fn a_gnb_that_falls_silent_is_lost_and_its_phones_come_back_elsewhere() {
    if !martlet_tests::has("nft") {
        return;
    }
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.amf.n2.heartbeat_ms = 200).await?;
        let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, to) = core.phone_with_session(&gnb, 1).await?;
        let (friend, from) = core.phone_with_session(&other, 2).await?;
        let address = core.gnb_config(1).n2_local.expect("the gNB has an address");
        let _wall = Wall::around_sctp_of(address)?;
        core.until("the gNB is lost", |c| (c.gnbs, c.registered, c.connected) == (1, 2, 1)).await?;
        // Its phone notices that the gNB has gone, too, and selects another cell, where it is
        // paged.
        gnb.lost().await;
        phone.wait_idle().await?;
        phone.move_to(&other).await?;
        friend.send_ip(1, ping(from, to, 3)).await?;
        let (_, packet) = phone.recv_ip().await?;
        ensure!(sequence_of(&packet) == Some(3), "{packet:02x?}");
        phone.deregister().await?;
        friend.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn a_gnb_that_starts_anew_takes_its_own_place() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        // It comes back before anybody has noticed that it was away.
        let again = Gnb::connect({
            let mut config = core.gnb_config(1);
            (config.n2_local, config.n3) = (core.gnb_config(2).n2_local, core.gnb_config(2).n3);
            config
        })
        .await?;
        core.until("there is one gNB, and its phone idle", |c| {
            (c.gnbs, c.registered, c.connected) == (1, 1, 0)
        })
        .await?;
        phone.wait_idle().await?;
        phone.move_to(&again).await?;
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn a_gnb_that_shuts_down_and_connects_again_serves_its_phones_as_before() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let mut gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        for in_good_order in [true, false, true, false] {
            reaches(&phone, 1, GATEWAY).await?;
            core.until("the phone is connected", |c| (c.gnbs, c.connected) == (1, 1)).await?;
            match in_good_order {
                true => gnb.shutdown().await,
                false => gnb.vanish(),
            }
            core.until("the gNB is gone", |c| (c.gnbs, c.registered, c.connected) == (0, 1, 0))
                .await?;
            gnb.lost().await;
            phone.wait_idle().await?;
            gnb = gnb.connect_again().await?;
            phone.move_to(&gnb).await?;
        }
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn phones_whose_gnb_vanishes_while_they_register_leave_nothing_behind() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, forgetful).await?;
        // The gNB goes at ever later moments of their procedures.
        for (n, moment) in [0, 2, 5, 9, 14, 20, 27].into_iter().enumerate() {
            let gnb = core.gnb(n as u8 + 1).await?;
            let mut tasks = tokio::task::JoinSet::new();
            for phone in 1..=8 {
                let phone = gnb.new_ue(core.phone(phone))?;
                tasks.spawn(async move {
                    phone.register().await?;
                    phone.establish_pdu_session(internet()).await
                });
            }
            tokio::time::sleep(std::time::Duration::from_millis(moment)).await;
            gnb.vanish();
            while tasks.join_next().await.is_some() {}
        }
        core.until_nothing_is_left().await?;
        core.until("the AMF keeps no context", |c| (c.gnbs, c.contexts) == (0, 0)).await?;
        // And all of them may come again.
        let gnb = core.gnb(20).await?;
        for n in 1..=8 {
            core.use_session_and_leave_as(&gnb, n).await?;
        }
        core.until_nothing_is_left().await
    });
}

#[test]
fn two_gnbs_serve_their_phones_at_the_same_time() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let mut tasks = tokio::task::JoinSet::new();
        for number in 1..=3u8 {
            let gnb = core.gnb(number).await?;
            for n in 0..10 {
                let phone = gnb.new_ue(core.phone(u64::from(number) * 10 + n))?;
                tasks.spawn(async move {
                    phone.register().await?;
                    phone.establish_pdu_session(internet()).await?;
                    reaches(&phone, 1, GATEWAY).await?;
                    anyhow::Ok(phone)
                });
            }
        }
        let mut all = Vec::new();
        while let Some(done) = tasks.join_next().await {
            all.push(done??);
        }
        ensure!(core.counts().gnbs == 3 && core.counts().sessions == 30, "{:?}", core.counts());
        for phone in all {
            phone.deregister().await?;
        }
        core.until_nothing_is_left().await
    });
}

/// What AMF and gNB call the UE of the next INITIAL CONTEXT SETUP REQUEST.
async fn called(heard: &mut tokio::sync::broadcast::Receiver<bytes::Bytes>) -> Result<(u64, u32)> {
    loop {
        let message = heard.recv().await?;
        let pdu = NGAP_PDU::decode(&message)?;
        if pdu.kind() == Kind::Initiating_InitialContextSetup {
            let amf_id = pdu.ie::<ie::AMF_UE_NGAP_ID>().transpose()?.context("AMF UE NGAP ID")?;
            let ran_id = pdu.ie::<ie::RAN_UE_NGAP_ID>().transpose()?.context("RAN UE NGAP ID")?;
            return Ok((amf_id.0, ran_id.0));
        }
    }
}

/// PDU SESSION RESOURCE MODIFY INDICATION (TS 38.413, 8.2.5): downlink goes to another end of the
/// gNB. PDU SESSION RESOURCE NOTIFY (8.2.4) that the gNB has let the session go: downlink waits,
/// and a service request brings it back.
#[test]
fn a_gnb_moves_its_end_of_a_session_and_lets_it_go() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut heard = gnb.subscribe();
        let (phone, own) = core.phone_with_session(&gnb, 1).await?;
        let (friend, from) = core.phone_with_session(&core.gnb(2).await?, 2).await?;
        let (amf_id, ran_id) = called(&mut heard).await?;
        let end = tokio::net::UdpSocket::bind("127.0.0.98:2152").await?;
        let tunnel =
            GtpTunnel { address: "127.0.0.98".parse()?, second_address: None, teid: 0xbeef };
        let tunnel = FlowTunnel::new(tunnel, vec![1]);
        let transfer =
            ModifyIndication { downlink: tunnel, additional_downlink: Vec::new() }.encode()?;
        let item = PDUSessionResourceModifyItemModInd::new(PDUSessionID(1), transfer.into(), None);
        let indication = build_ngap!(
            InitiatingMessage,
            PDUSessionResourceModifyIndication,
            PDUSessionResourceModifyIndication,
            AMF_UE_NGAP_ID(amf_id),
            RAN_UE_NGAP_ID(ran_id),
            PDUSessionResourceModifyListModInd(PDUSessionResourceModifyListModInd(vec![item])),
        )?;
        gnb.send_raw_ngap(1, indication.encode()?).await?;
        let flows = loop {
            let message = heard.recv().await?;
            let pdu = NGAP_PDU::decode(&message)?;
            if pdu.kind() == Kind::Successful_PDUSessionResourceModifyIndication {
                let list = pdu
                    .ie::<ie::PDUSessionResourceModifyListModCfm>()
                    .transpose()?
                    .context("a session")?;
                let transfer = &list
                    .0
                    .first()
                    .context("a session")?
                    .pdu_session_resource_modify_confirm_transfer;
                break ModifyConfirm::decode(transfer)?.flows;
            }
        };
        ensure!(flows == [1], "{flows:?}");
        friend.send_ip(1, ping(from, own, 7)).await?;
        let mut octets = [0; 2000];
        let come =
            tokio::time::timeout(std::time::Duration::from_secs(5), end.recv(&mut octets)).await;
        let length = come.context("nothing comes to the new end")??;
        ensure!(length > 36 && octets[4..8] == [0, 0, 0xbe, 0xef], "{:02x?}", &octets[..length]);

        let cause = Cause::radioNetwork(CauseRadioNetwork::radio_resources_not_available);
        let transfer = NotifyReleased { cause }.encode()?;
        let item = PDUSessionResourceReleasedItemNot::new(PDUSessionID(1), transfer.into(), None);
        let notify = build_ngap!(
            InitiatingMessage,
            PDUSessionResourceNotify,
            PDUSessionResourceNotify,
            AMF_UE_NGAP_ID(amf_id),
            RAN_UE_NGAP_ID(ran_id),
            PDUSessionResourceReleasedListNot(PDUSessionResourceReleasedListNot(vec![item])),
        )?;
        gnb.send_raw_ngap(1, notify.encode()?).await?;
        // What comes now waits, and has the session set up once more.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        friend.send_ip(1, ping(from, own, 8)).await?;
        let again = async {
            loop {
                let message = heard.recv().await?;
                if NGAP_PDU::decode(&message)?.kind() == Kind::Initiating_PDUSessionResourceSetup {
                    return anyhow::Ok(());
                }
            }
        };
        let asked = tokio::time::timeout(std::time::Duration::from_secs(5), again).await;
        asked.context("the gNB is not asked to set the session up")??;
        ensure!(end.try_recv(&mut octets).is_err(), "nothing goes where the gNB has let go");
        phone.release_to_idle().await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        friend.deregister().await?;
        core.until_nothing_is_left().await
    });
}

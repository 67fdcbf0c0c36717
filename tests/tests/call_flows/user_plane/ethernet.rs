//! Ethernet sessions (TS 23.501, 5.6.10.2).
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_nas::PduSessionTypeValue;
use martlet_pcf::FlowConfig;
use martlet_ran::Ue;
use martlet_ran::ue::{PduSession, PduSessionRequest};
use martlet_store::{SessionType, SubscribedDnn};
use martlet_tests::{TestCore, add_lan, in_namespace, internet, join_lan, without_switch};
use martlet_upf::config::AllowedService;
use std::net::IpAddr;

/// Address of the host behind the TAP device.
const DN_HOST: [u8; 4] = [10, 9, 0, 1];

pub fn of(dnn: &str, session_type: PduSessionTypeValue) -> PduSessionRequest {
    PduSessionRequest { dnn: Some(dnn.into()), session_type, ..PduSessionRequest::default() }
}

pub fn subscribed(name: &str, session_types: Vec<SessionType>) -> SubscribedDnn {
    SubscribedDnn { session_types, ..SubscribedDnn::new(name) }
}

/// An ARP request (RFC 826) for `wanted` from the MAC address `own` with the IPv4 address
/// `address`.
fn arp_request(own: [u8; 6], address: [u8; 4], wanted: [u8; 4]) -> Vec<u8> {
    let mut frame =
        [&[0xff; 6][..], &own, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &own, &address].concat();
    frame.extend([0; 6]);
    frame.extend(wanted);
    frame
}

/// The next frame of a UE that matches; others before it are ignored.
async fn receives(ue: &Ue, what: &str, wanted: impl Fn(&[u8]) -> bool) -> Result<Vec<u8>> {
    for _ in 0..20 {
        let (_, frame) = ue.recv_ip().await.context(what.to_string())?;
        if wanted(&frame) {
            return Ok(frame.to_vec());
        }
    }
    anyhow::bail!("{what}: not among 20 frames")
}

async fn lan(core: &TestCore, ue: &Ue) -> Result<PduSession> {
    ue.register().await?;
    let session = ue.establish_pdu_session(of("lan", PduSessionTypeValue::Ethernet)).await?;
    ensure!(session.kind == PduSessionTypeValue::Ethernet && session.ipv4.is_none(), "{session:?}");
    ensure!(core.status("smf")["sessions"].as_u64() > Some(0), "the SMF has no session");
    Ok(session)
}

#[test]
fn ethernet_frames_are_switched_between_ues_and_n6() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            without_switch(&mut config.upf);
            add_lan(config);
            // The host is this machine.
            config.upf.n6.allow.push(AllowedService::all(IpAddr::from([10, 9, 0, 1]).into()));
            config.pcf.flows = vec![FlowConfig {
                name: "clock".into(),
                dnn: "lan".into(),
                five_qi: 5,
                filters: vec!["ethernet type 88f7".into()],
                precedence: 9,
                ..FlowConfig::default()
            }];
        })
        .await?;
        for n in [1, 2] {
            let dnns = vec![
                subscribed("internet", vec![SessionType::Ipv4]),
                subscribed("lan", vec![SessionType::Ethernet]),
            ];
            core.subscribe(n, |subscriber| subscriber.slices[0].dnns = dnns)?;
        }
        join_lan(None).await?;
        let gnb = core.gnb(1).await?;
        let (one, two) = (gnb.new_ue(core.ue_config(1))?, gnb.new_ue(core.ue_config(2))?);
        let now = lan(&core, &one).await?;
        ensure!(now.flows == [(1, 9), (2, 5)] && now.rules == [(1, 1), (2, 2)], "{now:?}");
        lan(&core, &two).await?;
        core.sbi_record
            .check(&["nsmf-pdusession PostSmContexts", "npcf-smpolicycontrol CreateSMPolicy"])
            .await?;

        // The host behind the TAP device answers one UE; the other UE receives the broadcast
        // request and not the reply.
        let (mac_one, mac_two) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        one.send_ip(1, arp_request(mac_one, [10, 9, 0, 2], DN_HOST)).await?;
        let answer = receives(&one, "the reply of the host", |f| {
            f.starts_with(&mac_one) && f[20..22] == [0, 2]
        })
        .await?;
        ensure!(answer[28..32] == DN_HOST, "{answer:02x?}");
        let question = receives(&two, "the ARP request", |frame| frame[12..14] == [8, 6]).await?;
        ensure!(question[6..12] == mac_one && question[20..22] == [0, 1], "{question:02x?}");
        // After MAC learning, frames pass unchanged from UE to UE, with their VLAN tag.
        two.send_ip(1, arp_request(mac_two, [10, 9, 0, 3], DN_HOST)).await?;
        receives(&two, "the reply of the host", |frame| frame.starts_with(&mac_two)).await?;
        let tagged =
            [&mac_two[..], &mac_one, &[0x81, 0, 0, 5, 0x88, 0xf7], b"what time is it?"].concat();
        one.send_ip(1, tagged.clone()).await?;
        let got = receives(&two, "a frame of the other UE", |frame| {
            frame.starts_with(&mac_two) && frame[12] == 0x81
        })
        .await?;
        ensure!(got == tagged, "{got:02x?}");
        // Frames with the source address of another UE are dropped. A frame pages an idle UE.
        two.release_to_idle().await?;
        core.until("one UE is in CM-IDLE", |counts| counts.connected == 1).await?;
        let forged = [&mac_one[..], &mac_one, &[0x88, 0xb5], b"forged"].concat();
        one.send_ip(1, [&mac_two[..], &mac_one, &[0x88, 0xb5], b"wake up"].concat()).await?;
        let woken = receives(&two, "a buffered frame", |frame| frame.ends_with(b"wake up")).await?;
        ensure!(woken.starts_with(&mac_two), "{woken:02x?}");
        two.send_ip(1, forged).await?;
        two.send_ip(1, [&mac_one[..], &mac_two, &[0x88, 0xb5], b"honest"].concat()).await?;
        let received =
            receives(&one, "a frame of the other UE", |frame| frame[12..14] == [0x88, 0xb5])
                .await?;
        ensure!(received.ends_with(b"honest"), "{received:02x?}");
        // An IP session beside the Ethernet session.
        two.establish_pdu_session(internet()).await?;
        one.deregister().await?;
        two.deregister().await?;
        core.until_all_released().await
    });
}

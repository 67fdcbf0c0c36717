//! Quirks of gNBs on N2.
use super::{DUE, SOON, check, with_strictness};
use crate::n2::ue_ngap_ids;
use crate::registration::authentication::five_g_aka::{REGISTRATION_REQUEST, from_hex};
use anyhow::{Result, bail, ensure};
use martlet::core::Sbi;
use martlet_interop::N2Quirk;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::error_indication::error_indication;
use martlet_ngap::inbound::UeIds;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork, Criticality, NGAP_PDU, ProtocolIEField};
use martlet_tests::{RawGnb, TestCore, eventually};
use std::net::IpAddr;

#[test]
fn n2_quirks_are_tolerated_unless_strict() {
    check(
        |_| "amf",
        |quirk, is_strict, core| match quirk {
            N2Quirk::ElementOrder => Box::pin(element_order(is_strict, core)),
            N2Quirk::OffloadedChecksum => Box::pin(offloaded_checksum(is_strict, core)),
            N2Quirk::PayloadProtocol => Box::pin(payload_protocol(is_strict, core)),
            N2Quirk::NodeName => Box::pin(node_name(is_strict, core)),
            N2Quirk::AmfUeNgapIdAlone => Box::pin(amf_ue_ngap_id_alone(is_strict, core)),
        },
    );
}

/// As PacketRusher's gNB.
async fn element_order(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(TestCore::start(Sbi::Local, with_strictness(is_strict)).await?);
    let gnb = RawGnb::set_up(core, 1).await?;
    gnb.send(gnb.disordered_initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
    match gnb.next().await?.kind() {
        Kind::Initiating_DownlinkNASTransport => Ok(true),
        Kind::Initiating_ErrorIndication => Ok(false),
        other => bail!("{other:?}"),
    }
}

/// As gNBs that set no payload protocol identifier, or set it in the byte order of their machine.
async fn payload_protocol(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(TestCore::start(Sbi::Local, with_strictness(is_strict)).await?);
    let gnb = RawGnb::connect(core, 1).await?;
    for ppid in [0, 0x3c00_0000] {
        gnb.send_with_ppid(ppid, gnb.ng_setup("001", 1)).await?;
        if is_strict {
            ensure!(gnb.is_silent(SOON).await, "{ppid:#x} is answered");
        } else {
            let answer = gnb.next().await?.kind();
            ensure!(answer == Kind::Successful_NGSetup, "{ppid:#x}: {answer:?}");
        }
    }
    Ok(!is_strict)
}

/// As srsRAN's gNB.
async fn node_name(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(TestCore::start(Sbi::Local, with_strictness(is_strict)).await?);
    let gnb = RawGnb::connect(core, 1).await?;
    let mut setup = NGAP_PDU::decode(&gnb.ng_setup("001", 1))?.into_owned();
    let mut elements = setup.protocol_ies()?.into_owned();
    let name = b"\x03\x80cu_cp_01".to_vec();
    elements.0.insert(1, ProtocolIEField::new(82u16, Criticality::ignore, name.into()));
    setup.set_protocol_ies(elements)?;
    gnb.send(setup.encode()?).await?;
    let answer = gnb.next().await?.kind();
    ensure!(answer == Kind::Successful_NGSetup, "{answer:?}");
    Ok(core.status("amf").to_string().contains("cu_cp_01"))
}

/// As OCUDU's gNB, for a downlink message of a UE that it does not have.
async fn amf_ue_ngap_id_alone(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(TestCore::start(Sbi::Local, with_strictness(is_strict)).await?);
    let gnb = core.gnb(1).await?;
    let mut messages = gnb.subscribe();
    let (_ue, _) = core.ue_with_session(&gnb, 1).await?;
    let (amf_id, _) = ue_ngap_ids(&mut messages).await?;
    let unknown = Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID);
    let ids = UeIds { amf: Some(amf_id), ran: None };
    let indication = error_indication(ids, Some(unknown), None)?;
    gnb.send_raw_ngap(1, indication.encode()?).await?;
    tokio::time::sleep(SOON).await;
    let counts = core.counts();
    ensure!(counts.registered == 1, "{counts:?}");
    Ok(counts.connected == 0)
}

/// As the kernel's SCTP, which leaves the checksum to the loopback interface: the four messages of
/// the association setup (RFC 9260, 5.1) with the checksum 0.
async fn offloaded_checksum(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(
        TestCore::start(Sbi::Local, |config| {
            config.amf.n2.stack = martlet_amf::SctpStackConfig::Usrsctp;
            with_strictness(is_strict)(config);
        })
        .await?,
    );
    let IpAddr::V4(amf) = core.config().amf.n2.bind[0] else { bail!("IPv4 is needed") };
    let peer = crate::n2::unchecked_sctp::UncheckedPeer::open(amf)?;
    let limit = if is_strict { SOON } else { DUE };
    let Some(cookie) = peer.init(limit).await? else { return Ok(false) };
    ensure!(peer.echo(&cookie, DUE).await?, "no COOKIE ACK");
    let counted = || {
        let status = core.status("amf");
        status["quirks"].to_string().contains("offloaded_checksum").then_some(())
    };
    eventually("the quirk is counted", counted, || core.status("amf").to_string()).await?;
    Ok(true)
}

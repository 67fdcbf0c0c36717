//! A UE, or a host of the data network, sends to idle UEs until the packet buffer of the UPF is
//! full. Packets of other idle UEs must still find room.
use crate::connection::paging::receives;
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::ue::{IdleBehaviour, ServicePurpose};
use martlet_ran::{Gnb, Ue};
use martlet_tests::{GATEWAY, TestCore, in_namespace, ping, reaches, without_switch};
use martlet_upf::config::DatapathChoice;
use std::net::Ipv4Addr;

/// Packets that the UPF buffers for all sessions together.
const BUFFER: u64 = 60;

/// A UE with a session that is idle and answers no paging by itself.
async fn idle_ue(core: &TestCore, gnb: &Gnb, n: u64) -> Result<(Ue, Ipv4Addr)> {
    let mut config = core.ue_config(n);
    config.idle = IdleBehaviour::Manual;
    let ue = gnb.new_ue(config)?;
    let address = core.register_with_session(&ue).await?;
    ue.release_to_idle().await?;
    Ok((ue, address))
}

async fn fill_the_buffer(datapath: DatapathChoice) -> Result<()> {
    let core = TestCore::start(Sbi::Local, |config| {
        without_switch(&mut config.upf);
        config.upf.datapath = datapath;
        config.upf.kernel.buffer_packets = BUFFER as usize;
        config.upf.xdp.buffer_packets = BUFFER as usize;
        config.amf.timers.t3513_ms = 1000;
        config.amf.timers.paging_attempts = 100;
    })
    .await?;
    let gnb = core.gnb(1).await?;
    let (attacker, from) = core.ue_with_session(&gnb, 1).await?;
    // Two UEs that the attacker chooses, its own for example, do not answer paging.
    let (first, to_first) = idle_ue(&core, &gnb, 2).await?;
    let (_second, to_second) = idle_ue(&core, &gnb, 3).await?;
    let (victim, to_victim) = idle_ue(&core, &gnb, 4).await?;
    let flood = async |packets: u16| -> Result<()> {
        for sequence in 0..packets {
            attacker.send_ip(1, ping(from, to_first, sequence)).await?;
            attacker.send_ip(1, ping(from, to_second, sequence)).await?;
        }
        Ok(())
    };
    flood(100).await?;
    core.until("the buffer is full", |counts| counts.buffered == BUFFER).await?;
    // The flood goes on between the packets for the victim.
    for sequence in 1..=10 {
        attacker.send_ip(1, ping(from, to_victim, sequence)).await?;
        flood(5).await?;
    }
    victim.wait_for_paging().await?;
    victim.service_request_for(ServicePurpose::PagingResponse, &[]).await?;
    receives(&victim, 1..=10).await?;
    reaches(&victim, 1, GATEWAY).await?;
    let buffered = core.counts().buffered;
    ensure!(buffered <= BUFFER, "{buffered} packets are buffered, {BUFFER} may be");
    // What is left of the others is in order, and counted.
    first.service_request_for(ServicePurpose::PagingResponse, &[]).await?;
    reaches(&first, 1, GATEWAY).await?;
    let dropped = core.status("upf")["drops"]["buffer_full"].as_u64().unwrap_or(0);
    ensure!(dropped >= 200 - BUFFER, "{dropped} packets are counted as dropped");
    Ok(())
}

#[test]
fn attack_packets_for_idle_ues_fill_the_buffer_of_others() {
    in_namespace(|| fill_the_buffer(DatapathChoice::Kernel));
}

#[test]
fn attack_packets_for_idle_ues_fill_the_buffer_of_others_with_xdp() {
    in_namespace(|| fill_the_buffer(DatapathChoice::Xdp));
}

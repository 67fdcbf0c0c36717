//! What is counted without a core: codecs and service calls. Each work is a loop of rounds.
use crate::sbi::{Pair, Variant, echo_body};
use anyhow::{Context, Result, anyhow, ensure};
use clap::{Args, ValueEnum};
use martlet_fabric::{Manager, ManagerConfig};
use martlet_nas::{
    CipheringAlgorithm, IntegrityAlgorithm, KAmf, Nas5gsMessage, NasSecurityContext, inbound,
    outbound,
};
use martlet_ngap::ngap::NGAPPDU;
use martlet_pfcp::Packet;
use martlet_sbi::compact;
use martlet_sbi_api::nsmf_pdusession::SmContextRetrievedData;
use std::hint::black_box;

/// Work that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Work {
    /// Decode and encode each NAS message of the tests
    NasCodec,
    /// Protect a NAS message, and verify it, with 128-NEA2 and 128-NIA2
    NasSecurity,
    /// Decode, check and encode each NGAP message of the tests
    NgapCodec,
    /// Decode and encode PFCP messages
    PfcpCodec,
    /// Write and read a body of 1.7 KB as JSON
    SbiJson,
    /// Write and read the same body in binary form
    SbiBinary,
    /// A call within the process
    CallLocal,
    /// A call over the fabric, both ends
    CallFabric,
}

impl Work {
    /// All of them.
    pub const ALL: [Work; 8] = [
        Work::NasCodec,
        Work::NasSecurity,
        Work::NgapCodec,
        Work::PfcpCodec,
        Work::SbiJson,
        Work::SbiBinary,
        Work::CallLocal,
        Work::CallFabric,
    ];

    /// The name in figures and files.
    pub fn name(self) -> &'static str {
        match self {
            Work::NasCodec => "nas_codec",
            Work::NasSecurity => "nas_security",
            Work::NgapCodec => "ngap_codec",
            Work::PfcpCodec => "pfcp_codec",
            Work::SbiJson => "sbi_json",
            Work::SbiBinary => "sbi_binary",
            Work::CallLocal => "call_local",
            Work::CallFabric => "call_fabric",
        }
    }

    /// The two numbers of rounds.
    pub fn rounds(self) -> [u64; 2] {
        [200, 1200]
    }
}

/// Arguments of the hidden command `martlet-lab instruction-load`, which valgrind runs.
#[derive(Debug, Clone, Args)]
pub struct InstructionLoadArgs {
    /// What is done
    #[arg(long, value_enum)]
    pub work: Work,
    /// How often
    #[arg(long)]
    pub rounds: u64,
}

/// Does the work.
///
/// # Errors
/// A message of the tests cannot be decoded, or a call fails.
pub fn load(args: &InstructionLoadArgs) -> Result<()> {
    match args.work {
        Work::NasCodec => {
            let messages = vectors(include_str!("../../../wire/nas/tests/vectors/ours.tsv"))?;
            repeat(args.rounds, || {
                messages.iter().try_for_each(|bytes| {
                    let message = Nas5gsMessage::decode(black_box(bytes))?;
                    black_box(message.encode()?);
                    anyhow::Ok(())
                })
            })
        }
        Work::NasSecurity => nas_security(args.rounds),
        Work::NgapCodec => {
            let messages = vectors(include_str!("../../../wire/ngap/tests/vectors/ours.tsv"))?;
            // The file also has transfers, which are no messages.
            let is_message = |bytes: &&Vec<u8>| NGAPPDU::decode_borrowed(bytes).is_ok();
            let messages: Vec<_> = messages.iter().filter(is_message).collect();
            ensure!(messages.len() > 20, "{} NGAP messages", messages.len());
            repeat(args.rounds, || {
                messages.iter().try_for_each(|bytes| {
                    let pdu = NGAPPDU::decode_borrowed(black_box(bytes))?;
                    let _ = black_box(pdu.check_structure());
                    black_box(pdu.encode()?);
                    anyhow::Ok(())
                })
            })
        }
        Work::PfcpCodec => {
            let seeds = include_str!("../../../fuzz/seeds/pfcp.hex");
            let messages = seeds.lines().map(bytes).collect::<Result<Vec<_>>>()?;
            let is_message = |bytes: &&Vec<u8>| Packet::decode(bytes).is_ok();
            let messages: Vec<_> = messages.iter().filter(is_message).collect();
            ensure!(messages.len() > 5, "{} PFCP messages", messages.len());
            repeat(args.rounds, || {
                messages.iter().try_for_each(|bytes| {
                    let packet = Packet::decode(black_box(bytes))
                        .map_err(|error| anyhow!("a PFCP message: {error:?}"))?;
                    black_box(packet.encode());
                    anyhow::Ok(())
                })
            })
        }
        Work::SbiJson => {
            let body = echo_body()?;
            repeat(args.rounds, || {
                let json = serde_json::to_vec(black_box(&body))?;
                black_box(serde_json::from_slice::<SmContextRetrievedData>(black_box(&json))?);
                Ok(())
            })
        }
        Work::SbiBinary => {
            let body = echo_body()?;
            let mut out = Vec::new();
            repeat(args.rounds, || {
                out.clear();
                compact::to_vec(black_box(&body), &mut out);
                let read = compact::from_slice::<SmContextRetrievedData>(black_box(&out));
                black_box(read.map_err(|error| anyhow!("a binary body: {error}"))?);
                Ok(())
            })
        }
        Work::CallLocal => calls(Variant::Local, args.rounds),
        Work::CallFabric => calls(Variant::FrameBinary, args.rounds),
    }
}

fn repeat(rounds: u64, mut round: impl FnMut() -> Result<()>) -> Result<()> {
    (0..rounds).try_for_each(|_| round())
}

/// A protected message from the UE, and one to the UE.
fn nas_security(rounds: u64) -> Result<()> {
    let context = || {
        let (integrity, ciphering) = (IntegrityAlgorithm::NIA2, CipheringAlgorithm::NEA2);
        NasSecurityContext::from_fresh_kamf(&KAmf::new(&[0x5a; 32]), integrity, ciphering)
    };
    let (mut ue, mut amf) = (context()?, context()?);
    // REGISTRATION COMPLETE and CONFIGURATION UPDATE COMMAND.
    let (up, down) = (bytes("7e0043")?, bytes("7e005477000bf202f839caff81deadbeef")?);
    let (up, down) = (Nas5gsMessage::decode(&up)?, Nas5gsMessage::decode(&down)?);
    repeat(rounds, || {
        let sent = outbound::to_network(&mut ue, black_box(&up))?;
        let received = inbound::from_ue(Some(&mut amf), true, &sent);
        ensure!(received.is_ok_and(|inbound| inbound.is_verified()), "not verified");
        let sent = outbound::to_ue(&mut amf, black_box(&down))?;
        let received = inbound::from_network(Some(&mut ue), true, &sent);
        ensure!(received.is_ok_and(|inbound| inbound.is_verified()), "not verified");
        Ok(())
    })
}

/// Calls one after the other, with both ends in this process.
fn calls(variant: Variant, rounds: u64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let name = format!("martlet-instructions-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let config = ManagerConfig { socket: folder.join("fabric.sock"), ..Default::default() };
        let socket = config.socket.clone();
        let manager = tokio::spawn(Manager::bind(config)?.run());
        let pair = Pair::within(variant, &socket)?;
        let message = crate::sbi::Message::new(echo_body()?)?;
        pair.answers(&message).await?;
        for _ in 0..rounds {
            pair.call(&message).await?;
        }
        drop(pair);
        manager.abort();
        std::fs::remove_dir_all(&folder).context("the folder of the fabric")
    })
}

/// The messages of a file of vectors: the last field of each line, in hexadecimal.
fn vectors(text: &str) -> Result<Vec<Vec<u8>>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.rsplit('\t').next()).map(bytes).collect()
}

fn bytes(hex: &str) -> Result<Vec<u8>> {
    let digit = |at: usize| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..hex.len()).step_by(2).map(|at| digit(at).context("not hexadecimal")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_runs() {
        for work in Work::ALL {
            load(&InstructionLoadArgs { work, rounds: 2 }).with_context(|| work.name()).unwrap();
        }
    }
}

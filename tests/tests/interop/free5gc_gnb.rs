//! A gNB and a UE built from free5GC's NGAP and NAS codecs and Pion's SCTP, with a Martlet core.
use crate::external_program::{ExternalProgram, build};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_amf::SctpStackConfig;
use martlet_tests::{
    DN_HOST, DataNetworkHost, TestCore, eventually, in_namespace, subscriber_keys,
};
use std::path::PathBuf;

/// The lines that it prints.
const LINES: [&str; 9] = [
    "NG setup",
    "NAS security",
    "registered",
    "session 10.45.",
    "5 packets there and back",
    "idle",
    "awake",
    "5 packets there and back",
    "deregistered",
];

#[test]
fn gnb_and_ue_with_free5gc_codecs_work() {
    if std::path::Path::new("/proc/net/sctp").exists() {
        martlet_tests::skip(
            "the kernel's SCTP is loaded and would abort the associations of Pion's SCTP",
        );
        return;
    }
    let Some(program) = build("free5gc-gnb", ".") else { return };
    in_namespace(move || run(program));
}

async fn run(program: PathBuf) -> Result<()> {
    let core = TestCore::start(Sbi::Local, |config| config.amf.n2.stack = SctpStackConfig::Usrsctp)
        .await?;
    let config = core.gnb_config(1);
    let (k, opc) = subscriber_keys();
    let hex = |key: [u8; 16]| key.map(|byte| format!("{byte:02x}")).concat();
    let local = config.n2_local.map(|address| address.to_string()).unwrap_or_default();
    let arguments = [
        ("-local", local),
        ("-amf", config.amf.ip().to_string()),
        ("-host", DN_HOST.to_string()),
        ("-imsi", "001010000000001".into()),
        ("-key", hex(k)),
        ("-opc", hex(opc)),
    ];
    let arguments: Vec<String> =
        arguments.into_iter().flat_map(|(name, value)| [name.into(), value]).collect();
    let host = DataNetworkHost::connect(true).await?;
    let gnb = ExternalProgram::start(&program, &arguments, core.folder())?;
    let idle = || gnb.output().contains("idle\n").then(|| gnb.output());
    let output = eventually("its UE is in CM-IDLE", idle, || gnb.output()).await?;
    let address =
        output.lines().find_map(|line| line.strip_prefix("session ")).context("no session")?;
    core.until("the UE is in CM-IDLE", |count| count.connected == 0).await?;
    // A downlink packet, which is buffered until the UE has answered paging.
    host.run(&format!("ping -c 1 -W 10 {address}")).await.with_context(|| gnb.output())?;
    let (output, succeeded) = gnb.wait().await?;
    let lines: Vec<&str> = output.lines().collect();
    ensure!(succeeded && lines.len() == LINES.len(), "{output}");
    ensure!(lines.iter().zip(LINES).all(|(line, expected)| line.starts_with(expected)), "{output}");
    core.until("the UE is deregistered", |count| count.sessions == 0 && count.registered == 0).await
}

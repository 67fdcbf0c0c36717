//! A gNB and a UE whose NGAP and NAS are free5GC's and whose SCTP is Pion's, in a core that is
//! all ours.
use crate::stock::{Stock, built};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_amf::SctpStackConfig;
use martlet_tests::{
    DataNetworkHost, N6_GATEWAY, TestCore, eventually, in_namespace, subscriber_keys,
};
use std::path::PathBuf;

/// What it says of a UE's whole day.
const DAY: [&str; 9] = [
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
fn a_gnb_and_a_phone_of_free5gcs_codecs_have_a_day() {
    if std::path::Path::new("/proc/net/sctp").exists() {
        eprintln!(
            "SKIPPED: the kernel's SCTP is loaded, and would abort the associations of Pion's on \
             the same address"
        );
        return;
    }
    let Some(program) = built("free5gc-gnb", ".") else { return };
    in_namespace(move || a_day(program));
}

async fn a_day(program: PathBuf) -> Result<()> {
    let core = TestCore::start(Sbi::Local, |config| config.amf.n2.stack = SctpStackConfig::Usrsctp)
        .await?;
    let ours = core.gnb_config(1);
    let (k, opc) = subscriber_keys();
    let hexadecimal = |key: [u8; 16]| key.map(|octet| format!("{octet:02x}")).concat();
    let local = ours.n2_local.map(|address| address.to_string()).unwrap_or_default();
    let arguments = [
        ("-local", local),
        ("-amf", ours.amf.ip().to_string()),
        ("-host", N6_GATEWAY.to_string()),
        ("-imsi", "001010000000001".into()),
        ("-key", hexadecimal(k)),
        ("-opc", hexadecimal(opc)),
    ];
    let arguments: Vec<String> =
        arguments.into_iter().flat_map(|(name, value)| [name.into(), value]).collect();
    let host = DataNetworkHost::connect(true).await?;
    let gnb = Stock::start(&program, &arguments, core.folder())?;
    let idle = || gnb.said().contains("idle\n").then(|| gnb.said());
    let said = eventually("its UE rests", idle, || gnb.said()).await?;
    let address =
        said.lines().find_map(|line| line.strip_prefix("session ")).context("a session")?;
    core.until("the UE rests", |count| count.connected == 0).await?;
    // One packet, which waits until the UE has been paged and has come back.
    host.run(&format!("ping -c 1 -W 10 {address}")).await.with_context(|| gnb.said())?;
    let (said, ended) = gnb.ended().await?;
    let lines: Vec<&str> = said.lines().collect();
    ensure!(ended && lines.len() == DAY.len(), "{said}");
    ensure!(lines.iter().zip(DAY).all(|(line, due)| line.starts_with(due)), "{said}");
    // Nothing of it stays.
    core.until("the UE has gone", |count| count.sessions == 0 && count.registered == 0).await
}

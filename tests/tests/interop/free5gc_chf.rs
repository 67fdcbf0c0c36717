//! free5GC's CHF with Martlet's other functions: it charges a session.
use crate::external_program::{Change, Edit, build_changed};
use crate::free5gc::{Function, core_without, registered_ue, session, start_beside};
use crate::mongodb;
use anyhow::{Context, Result, ensure};
use martlet_smf::{ChargingMode, OnFailure};
use martlet_tests::{GATEWAY, eventually, in_namespace, reaches};
use std::path::PathBuf;

/// Its rating function and its accounts have Diameter servers, which need certificates. They rate
/// and account online charging alone, and so do not start here. Its charging gateway needs an FTP
/// server and is off: it writes charging data records to files.
const CHF: Function = Function {
    name: "chf",
    version: "1.0.3",
    address: "127.0.0.25",
    port: 8000,
    settings: r#"
  serviceNameList: [nchf-convergedcharging]
  rfDiameter: { protocol: tcp, hostIPv4: 127.0.0.25, port: 3868, tls: { pem: none, key: none } }
  abmfDiameter: { protocol: tcp, hostIPv4: 127.0.0.25, port: 3869, tls: { pem: none, key: none } }
  cgf: { enable: false, hostIPv4: 127.0.0.25, port: 2121, listenPort: 2121 }
"#,
};

/// The folder of its records: that of the test instead of `/tmp`.
const RECORDS: Change = Change {
    module: "github.com/free5gc/chf",
    edits: &[Edit {
        files: &["internal/sbi/processor/cdr.go"],
        from: r#"cdrfile.Encoding("/tmp/" + ueid"#,
        to: r#"cdrfile.Encoding("./" + ueid"#,
    }],
};

#[test]
fn free5gc_chf_charges_a_session() {
    // Built before the namespace exists, since modules may have to be downloaded.
    let Some(database) = mongodb::build() else { return };
    let package = "github.com/free5gc/chf/cmd";
    let Some(program) = build_changed("free5gc-chf", package, Some(&RECORDS)) else { return };
    in_namespace(move || run(database, program));
}

async fn run(database: PathBuf, program: PathBuf) -> Result<()> {
    let core = core_without("chf", |config| {
        config.smf.charging.mode = ChargingMode::Offline;
        config.smf.charging.on_failure = OnFailure::Refuse;
    })
    .await?;
    let database = mongodb::start(&database, core.folder()).await?;
    let chf = start_beside(&core, &CHF, &program).await?;
    // It registers before it listens.
    let listens = || std::net::TcpStream::connect((CHF.address, CHF.port)).ok().map(|_| ());
    eventually("free5GC's CHF listens", listens, || chf.output()).await?;

    let (_radio, ue) = registered_ue(&core, |_| {}).await?;
    let session = ue.establish_pdu_session(session()).await?;
    reaches(&ue, session.psi, GATEWAY).await?;
    ue.release_pdu_session(session.psi).await?;
    let closed = || chf.output().contains("Close CDR").then_some(());
    eventually("the record is closed", closed, || chf.output()).await?;
    let record = core.folder().join("imsi-001010000000001.cdr");
    let written = || std::fs::read(&record).ok().filter(|bytes| !bytes.is_empty());
    let bytes = eventually("the record is written", written, || chf.output()).await?;
    let volumes = volumes(&bytes).context("no used units in the record")?;
    let [total, uplink, downlink] = volumes;
    ensure!(uplink > 0 && downlink > 0 && total == uplink + downlink, "{volumes:?}");
    ue.deregister().await?;
    let sent = ["nchf-convergedcharging Create", "nchf-convergedcharging Release"];
    core.sbi_record.check_sent(&sent).await?;
    chf.stop().await?;
    database.stop().await
}

/// Total, uplink and downlink volume of the first container of used units in a file of records: the
/// members 4 to 6 (TS 32.298, 5.2.5.2) in basic encoding rules.
fn volumes(file: &[u8]) -> Option<[u64; 3]> {
    (0..file.len()).find_map(|at| {
        let mut rest = &file[at..];
        let mut volumes = [0; 3];
        for (volume, tag) in volumes.iter_mut().zip(0x84..) {
            let [first, length, after @ ..] = rest else { return None };
            let length = usize::from(*length);
            if *first != tag || !(1..=8).contains(&length) || after.len() < length {
                return None;
            }
            let (value, next) = after.split_at(length);
            *volume = value.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            rest = next;
        }
        Some(volumes)
    })
}

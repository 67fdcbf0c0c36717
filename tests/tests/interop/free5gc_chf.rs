//! free5GC's CHF with Martlet's other functions: it charges sessions, offline and with quotas.
use crate::external_program::{Change, Edit, ExternalProgram, build_changed};
use crate::free5gc::{Function, core_without, registered_ue, session, start_beside_with};
use crate::mongodb::{self, Value};
use anyhow::{Context, Result, ensure};
use martlet_smf::{ChargingMode, OnFailure};
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, ping, reaches};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Its rating function and its accounts are Diameter servers of the same program, over TLS. They
/// rate and account online charging alone. Its charging gateway needs an FTP server and is off: it
/// writes charging data records to files.
const CHF: Function = Function {
    name: "chf",
    version: "1.0.3",
    address: "127.0.0.25",
    port: 8000,
    settings: r#"
  serviceNameList: [nchf-convergedcharging]
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

#[test]
fn free5gc_chf_grants_quota_until_the_account_is_empty() {
    let Some(database) = mongodb::build() else { return };
    let package = "github.com/free5gc/chf/cmd";
    let Some(program) = build_changed("free5gc-chf", package, Some(&RECORDS)) else { return };
    in_namespace(move || run_online(database, program));
}

/// Its Diameter servers, with the certificate and the key of these tests.
fn diameter() -> String {
    let keys = concat!(env!("CARGO_MANIFEST_DIR"), "/interop/keys");
    let tls = format!("tls: {{ pem: {keys}/certificate.pem, key: {keys}/token-key.pem }}");
    let of = |name: &str, port: u16| {
        let address = CHF.address;
        format!("  {name}: {{ protocol: tcp, hostIPv4: {address}, port: {port}, {tls} }}\n")
    };
    of("rfDiameter", 3868) + &of("abmfDiameter", 3869)
}

/// Starts the CHF, and waits until it serves: it registers before it listens.
async fn start(core: &TestCore, program: &Path, more: &str) -> Result<ExternalProgram> {
    let chf = start_beside_with(core, &CHF, program, &(diameter() + more)).await?;
    for port in [CHF.port, 3868, 3869] {
        let listens = || std::net::TcpStream::connect((CHF.address, port)).ok().map(|_| ());
        eventually("free5GC's CHF listens", listens, || chf.output()).await?;
    }
    Ok(chf)
}

/// An account, a tariff, and the size of a grant, in bytes.
const ACCOUNT: u64 = 6000;
const GRANT: u64 = 2000;

async fn run_online(database: PathBuf, program: PathBuf) -> Result<()> {
    let core = core_without("chf", |config| {
        config.smf.charging.mode = ChargingMode::Online;
        config.smf.charging.on_failure = OnFailure::Refuse;
        config.smf.charging.requested_bytes = GRANT;
    })
    .await?;
    let database = mongodb::start(&database, core.folder()).await?;
    let account = [
        ("ueId", Value::Text("imsi-001010000000001")),
        ("ratingGroup", Value::Number(1)),
        ("quota", Value::Text(&ACCOUNT.to_string())),
        ("unitCost", Value::Text("1")),
    ];
    mongodb::insert("policyData.ues.chargingData", &account)?;
    let chf = start(&core, &program, "  volumeThresholdRate: 0.5\n").await?;

    let (_radio, ue) = registered_ue(&core, |_| {}).await?;
    let session = ue.establish_pdu_session(session()).await?;
    let address = session.ipv4.context("no IPv4 address")?;
    let size = ping(address, GATEWAY, 0).len() as u64;
    // A packet may be lost while the next quota is under way. The session ends when there is none.
    let mut passed = 0;
    for n in 0..500 {
        if core.counts().sessions == 0
            || ue.send_ip(session.psi, ping(address, GATEWAY, n)).await.is_err()
        {
            break;
        }
        let reply = tokio::time::timeout(Duration::from_millis(300), ue.recv_ip()).await;
        passed += if reply.is_ok() { 2 * size } else { 0 };
    }
    core.until("the session is released", |counts| counts.sessions == 0).await?;
    let updates = chf.output().matches("HandleChargingdataUpdate").count() as u64;
    let shown = || format!("{passed} bytes, {updates} updates:\n{}", chf.output());
    // The last grant of the CHF is for what the account no longer has.
    ensure!((ACCOUNT - GRANT..=ACCOUNT + GRANT).contains(&passed), "{}", shown());
    ensure!(updates > ACCOUNT / GRANT, "{}", shown());
    ensure!(chf.output().contains("Debit mode, will not grant unit"), "{}", shown());
    ue.deregister().await?;
    let sent = ["Create", "Update", "Release"].map(|name| format!("nchf-convergedcharging {name}"));
    core.sbi_record.check_sent(&sent.each_ref().map(String::as_str)).await?;
    chf.stop().await?;
    database.stop().await
}

async fn run(database: PathBuf, program: PathBuf) -> Result<()> {
    let core = core_without("chf", |config| {
        config.smf.charging.mode = ChargingMode::Offline;
        config.smf.charging.on_failure = OnFailure::Refuse;
    })
    .await?;
    let database = mongodb::start(&database, core.folder()).await?;
    let chf = start(&core, &program, "").await?;

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

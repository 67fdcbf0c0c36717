//! The commands of `martlet` that talk to a running core go over its northbound API, whose unix
//! socket each core has unless it is turned off.
use crate::api::Caller;
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_ran::PduSessionRequest;
use martlet_tests::{eventually, in_namespace};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// A core with the API over its socket alone, a CHF, and a cell with a position.
fn site(name: &str) -> Result<Site> {
    let site = Site::new(name)?;
    let config = std::fs::read_to_string(site.config())?;
    let more = "chf: { enabled: true }\nlmf: { cells: [{ nr_cell_id: \"000001001\", pci: 1, lat: \
                54.0924, lon: 12.0991 }] }\n";
    std::fs::write(site.config(), format!("{config}{more}"))?;
    Ok(site)
}

fn run(site: &Site, words: &str) -> Result<Output> {
    let mut command = Command::new(MARTLET);
    Ok(command.args(words.split(' ')).arg("-c").arg(site.config()).output()?)
}

/// Runs a command that succeeds. Returns what it prints.
fn ok(site: &Site, words: &str) -> Result<String> {
    let output = run(site, words)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{words}: {errors}");
    // Over the API nothing has to be said.
    ensure!(!errors.contains("note:"), "{words}: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}

fn fails(site: &Site, words: &str) -> Result<String> {
    let output = run(site, words)?;
    ensure!(!output.status.success(), "{words} succeeds");
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What the audit log has, the oldest first.
fn audit(site: &Site) -> Result<Vec<Value>> {
    let page = Caller::socket(site).get("/audit?limit=1000")?;
    ensure!(page["intact"] == true, "{page}");
    Ok(page["items"].as_array().context("items")?.iter().rev().cloned().collect())
}

#[test]
fn commands_go_over_the_api_and_the_audit_log_has_their_changes() {
    in_namespace(|| async {
        let site = site("commands-api")?;
        let core = site.start(&[])?;
        // What does not go over the API has no answer.
        std::fs::rename(site.oam(), site.0.join("away.sock"))?;

        let keys = format!("--key {KEY} --opc {OPC}");
        let added = ok(&site, &format!("subscriber add 001010000000100 {keys} --count 30"))?;
        ensure!(added.contains("30 subscribers added, from imsi-001010000000100 on"), "{added}");
        let again = fails(&site, &format!("subscriber add 001010000000100 {keys}"))?;
        ensure!(again.contains("--replace"), "{again}");
        ok(&site, &format!("subscriber add 001010000000100 {keys} --replace"))?;
        let set = "subscriber set 001010000000100 --msisdn 491701 --amf 9001 --downlink 7_Mbps";
        let set: Vec<&str> = set.split(' ').collect();
        let set = |more: &[&str]| -> Result<String> {
            let words = [&set[..], more].concat();
            let words = words.iter().map(|word| word.replace('_', " "));
            let output = Command::new(MARTLET).args(words).arg("-c").arg(site.config()).output()?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Ok(String::from_utf8(output.stdout)?)
        };
        ensure!(set(&[])?.contains("changed"));
        ensure!(set(&[])?.contains("has these values already"));
        let shown: Value = serde_json::from_str(&ok(&site, "subscriber show 001010000000100")?)?;
        ensure!(shown["msisdn"] == "491701", "{shown}");
        ensure!(shown["slices"][0]["dnns"][0]["ambr_downlink"] == "7 Mbps", "{shown}");
        ensure!(shown["key"].to_string().contains("hidden"), "{shown}");
        let listed = ok(&site, "subscriber list --limit 5")?;
        ensure!(listed.lines().count() == 6 && listed.contains("… and 27 more"), "{listed}");
        // Keys are read from the database itself, and are those that were written.
        let file = site.0.join("all.json").display().to_string();
        ok(&site, &format!("subscriber export --output {file}"))?;
        ensure!(std::fs::read_to_string(&file)?.contains(KEY));
        let shown = ok(&site, "subscriber show 001010000000100 --keys")?;
        ensure!(shown.contains(OPC) && shown.contains("\"9001\""), "{shown}");
        let imported = ok(&site, &format!("subscriber import {file} --replace"))?;
        ensure!(imported.contains("32 subscribers added"), "{imported}");
        // A pipe can be read once, and an import over the API reads twice.
        let mut piped = Command::new(MARTLET)
            .args(["subscriber", "import", "/dev/stdin", "--replace", "-c"])
            .arg(site.config())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        piped.stdin.take().context("its standard input")?.write_all(&std::fs::read(&file)?)?;
        let imported = String::from_utf8(piped.wait_with_output()?.stdout)?;
        ensure!(imported.contains("32 subscribers added"), "{imported}");
        let removed = ok(&site, "subscriber remove 001010000000100 --count 31")?;
        ensure!(removed.contains("30 removed"), "{removed}");
        let missing = fails(&site, "subscriber remove 001010000000100")?;
        ensure!(missing.contains("there is no subscriber"), "{missing}");
        let cards = site.0.join("cards");
        ok(&site, &format!("sim generate --count 3 --first 500 -o {}", cards.display()))?;
        let csv = std::fs::read_to_string(cards.join("subscribers.csv"))?;
        ensure!(csv.lines().count() == 4, "{csv}");
        let batches = Caller::socket(&site).get("/sim-batches")?;
        ensure!(batches[0]["count"] == 3 && batches[0]["name"] == "cards", "{batches}");

        let gnb = gnb().await?;
        let first = ue(&gnb, 1)?;
        first.register().await?;
        let request =
            PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
        first.establish_pdu_session(request).await?;
        let locate = site.config();
        let locate = tokio::process::Command::new(MARTLET)
            .args(["locate", "001010000000001", "-c"])
            .arg(locate)
            .output();
        let located = locate.await?;
        let text = String::from_utf8_lossy(&located.stdout);
        ensure!(text.contains("imsi-001010000000001 is at"), "{located:?}");
        // The file of the history is written after the procedure.
        let history = || ok(&site, "ue 001010000000001 history").ok();
        let registered = || history().filter(|history| history.contains("registered"));
        eventually("the history", registered, || format!("{:?}", history())).await?;
        let charged = ok(&site, "charging 001010000000001 --set 5000000")?;
        ensure!(charged.contains("5000000"), "{charged}");
        ensure!(ok(&site, "charging")?.contains("5000000"));
        let unknown = "charging 001010000000009 --set 7000000";
        let refused = fails(&site, unknown)?;
        ensure!(refused.contains("no subscriber imsi-001010000000009"), "{refused}");
        ensure!(!ok(&site, "charging")?.contains("7000000"));
        ensure!(ok(&site, &format!("{unknown} --force"))?.contains("7000000"));
        ok(&site, "drain amf")?;
        ok(&site, "drain amf --undo")?;
        let refused = fails(&site, "drain nrf")?;
        ensure!(refused.contains("write one of udr, udm"), "{refused}");
        let status: Value = serde_json::from_str(&ok(&site, "status --json")?)?;
        ensure!(status["nfs"].to_string().contains("gnb-1"), "{status}");
        ensure!(ok(&site, "status --security")?.contains("capabilities"));
        ensure!(ok(&site, "status --network")?.contains("AMF"));
        let backup = site.0.join("backup");
        let made = ok(&site, &format!("backup {}", backup.display()))?;
        ensure!(made.contains("and the operator's key in"), "{made}");
        ensure!(backup.join("subscribers.db").exists() && backup.join("operator.key").exists());

        let audit = audit(&site)?;
        ensure!(audit.iter().all(|entry| entry["via"] == "socket"), "{audit:?}");
        let of = |what: &str| audit.iter().filter(|entry| entry["what"] == what).count();
        for (what, times) in [
            ("subscriber.import", 4),
            ("subscriber.change", 2),
            ("subscriber.remove", 30),
            ("sim-batch.create", 1),
            ("ue.locate", 1),
            ("charging.set", 2),
            ("function.drain", 2),
            ("backup.create", 1),
        ] {
            ensure!(of(what) == times, "{what}: {} instead of {times}", of(what));
        }
        let text = serde_json::to_string(&audit)?;
        ensure!(!text.contains(KEY) && !text.contains(OPC), "the audit log has a key");

        gnb.shutdown().await;
        std::fs::rename(site.0.join("away.sock"), site.oam())?;
        core.stop()?;
        // Without a core the database is changed itself, and that is said.
        let output = run(&site, &format!("subscriber add 001010000000200 {keys}"))?;
        let note = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success() && note.contains("the audit log has no entry"), "{note}");
        ensure!(ok(&site, "ue 001010000000001 history")?.contains("registered"));
        let backup = site.0.join("second-backup");
        ok(&site, &format!("backup {}", backup.display()))?;
        Ok(())
    });
}

/// After a change of `udr.path`, commands have the database of the running core, and report that.
#[test]
fn commands_name_the_database_of_a_core_whose_configuration_has_another_one() {
    in_namespace(|| async {
        let site = site("commands-database")?;
        let core = site.start(&[])?;
        let config = std::fs::read_to_string(site.config())?;
        std::fs::write(site.config(), config.replace("martlet.db", "other.db"))?;
        for words in ["subscriber list", "subscriber remove 001010000000002"] {
            let output = run(&site, words)?;
            let note = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{words}: {note}");
            for part in ["note: ", "/martlet.db", "/other.db", "after a restart", "--db"] {
                ensure!(note.contains(part), "{words}: {part} is not in {note}");
            }
        }
        std::fs::write(site.config(), config)?;
        let listed = ok(&site, "subscriber list")?;
        ensure!(listed.lines().count() == 1, "the subscriber of the running core: {listed}");
        core.stop()
    });
}

/// The API of a split core has the status of the supervisor, with restarts and rights.
#[test]
fn commands_go_over_the_api_of_a_split_core() {
    in_namespace(|| async {
        let site = site("commands-split")?;
        let config = std::fs::read_to_string(site.config())?;
        std::fs::write(site.config(), config + "sbi: { timeout_ms: 1000 }\n")?;
        let core = site.start(&["--split"])?;
        // A command waits until the API listens.
        let status: Value = serde_json::from_str(&ok(&site, "status --json")?)?;
        ensure!(status["processes"][0]["restarts"] == 0 && status["pid"] == core.id(), "{status}");
        let network = ok(&site, "status --network")?;
        ensure!(network.contains("AMF") && network.contains(" associated "), "{network}");
        ensure!(!network.contains("does not answer") && !network.contains("unknown"), "{network}");
        ensure!(network.contains("registered UEs"), "{network}");
        ok(&site, "drain smf")?;
        ok(&site, "drain smf --undo")?;
        ok(&site, "charging")?;
        ensure!(audit(&site)?.iter().filter(|e| e["what"] == "function.drain").count() == 2);
        // Without the NRF, the functions of this machine are shown.
        let nrf = core.process_of("nf nrf").context("its process")?;
        let signal =
            |signal| nix::sys::signal::kill(nix::unistd::Pid::from_raw(nrf as i32), signal);
        signal(Signal::SIGSTOP)?;
        let output = run(&site, "status --network")?;
        signal(Signal::SIGCONT)?;
        let [shown, error] = [output.stdout, output.stderr].map(String::from_utf8);
        let (shown, error) = (shown?, error?);
        ensure!(!output.status.success() && error.contains("the NRF, which"), "{error}");
        ensure!(shown.contains("Those of this machine") && shown.contains("\nAMF "), "{shown}");
        core.stop()
    });
}

/// With the API off, a command reports the key. An OAM socket that is named serves it all the same,
/// and what needs no core works.
#[test]
fn commands_name_the_remedy_where_the_api_is_off() {
    in_namespace(|| async {
        let site = site("commands-off")?;
        let config = std::fs::read_to_string(site.config())?;
        let off = config.replace("oam: {", "oam: { api: { enabled: false },");
        std::fs::write(site.config(), off)?;
        let core = site.start(&[])?;
        ensure!(!site.0.join("api.sock").exists(), "the API is off");
        for words in [
            "status",
            "status --network",
            "charging",
            "drain amf",
            "locate 001010000000001",
            "top --once",
            "upf renew",
        ] {
            let refused = fails(&site, words)?;
            for part in ["the API of this core is off", "oam.api.enabled", "--at"] {
                ensure!(refused.contains(part), "{words}: {part} is not in {refused}");
            }
        }
        let at = format!("--at {}", site.oam().display());
        ensure!(ok(&site, &format!("status {at}"))?.contains("AMF"));
        ensure!(ok(&site, &format!("status --network {at}"))?.contains("AMF"));
        ok(&site, &format!("charging {at}"))?;
        ok(&site, "subscriber list")?;
        core.stop()?;
        // Without a core, the error is another one.
        std::fs::write(site.config(), config)?;
        let refused = fails(&site, "status")?;
        for part in ["no core answers at", "api.sock", "martlet up"] {
            ensure!(refused.contains(part), "{part} is not in {refused}");
        }
        let refused = fails(&site, &format!("status {at}"))?;
        for part in ["no core answers at", "oam.sock", "this is its OAM socket"] {
            ensure!(refused.contains(part), "{part} is not in {refused}");
        }
        Ok(())
    });
}

/// A core whose API cannot listen runs without it, and its OAM socket serves commands.
async fn without_an_api(arguments: &[&str]) -> Result<()> {
    let site = Site::new(if arguments.is_empty() { "no-api" } else { "no-api-split" })?;
    let file = site.0.join("file");
    std::fs::write(&file, "")?;
    let config = std::fs::read_to_string(site.config())?;
    let api = format!("oam: {{ api: {{ socket: {:?} }},", file.join("api.sock"));
    std::fs::write(site.config(), config.replace("oam: {", &api))?;
    let core = site.start(arguments)?;
    let refused = fails(&site, "status")?;
    ensure!(refused.contains("no core answers at"), "{refused}");
    let log = std::fs::read_to_string(site.0.join("core.log"))?;
    ensure!(log.contains("change `oam.api.socket`"), "{log}");
    ensure!(ok(&site, &format!("status --at {}", site.oam().display()))?.contains("AMF"));
    let gnb = gnb().await?;
    registration_cycle(&ue(&gnb, 1)?).await?;
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn a_core_runs_without_an_api_that_cannot_start() {
    in_namespace(|| without_an_api(&[]));
}

#[test]
fn a_split_core_runs_without_an_api_that_cannot_start() {
    in_namespace(|| without_an_api(&["--split"]));
}

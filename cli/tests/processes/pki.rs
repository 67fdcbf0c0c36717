//! Certificates: a core that runs with `sbi.pki` as the documentation of several machines
//! describes, and the commands that make, renew and revoke certificates.
use crate::nf_sets::{internet, network_from};
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_sbi::{ApiRoot, CallPolicy, Peer};
use martlet_sbi_api::nmartlet_status::NfStatusServiceClient;
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_http::{ClientLimits, HttpBinding, Tls};
use martlet_tests::{in_namespace, run};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Runs `martlet pki` with arguments.
fn pki(arguments: &[&str]) -> Result<Output> {
    Ok(Command::new(MARTLET).arg("pki").args(arguments).output()?)
}

/// The same, which has to succeed.
fn pki_succeeds(arguments: &[&str]) -> Result<String> {
    let output = pki(arguments)?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "pki {arguments:?}: {error}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Sets `sbi` in the configuration of a site.
fn set_sbi(site: &Site, sbi: &str) -> Result<()> {
    let before = std::fs::read_to_string(site.config())?;
    let others: Vec<_> = before.lines().filter(|line| !line.starts_with("sbi:")).collect();
    std::fs::write(site.config(), format!("{}\nsbi: {{ {sbi} }}\n", others.join("\n")))?;
    Ok(())
}

#[test]
fn split_core_with_pki_starts_with_a_upf() {
    in_namespace(|| async {
        let site = Site::new("pki-split")?;
        let folder = site.0.join("pki");
        pki_succeeds(&["init", "-c", &text(&site.config()), "--out", &text(&folder)])?;
        set_sbi(&site, &format!("pki: {folder:?}"))?;
        for arguments in [&["--split"][..], &["--split", "--sbi", "http"]] {
            let core = site.start(arguments)?;
            ensure!(core.process_of("nf upf").is_some(), "the UPF runs");
            let gnb = gnb().await?;
            registration_cycle(&ue(&gnb, 1)?).await?;
            gnb.shutdown().await;
            core.stop()?;
        }
        Ok(())
    });
}

/// As in the commands that start the functions.
#[test]
fn certificates_have_the_addresses_of_the_configuration_that_all_commands_use() -> Result<()> {
    let site = Site::new("pki-variable")?;
    set_sbi(&site, "amf: \"10.9.0.2:7717\"")?;
    let folder = site.0.join("pki");
    let made = Command::new(MARTLET)
        .args(["pki", "init", "--out"])
        .arg(&folder)
        .env("MARTLET_CONFIG", site.config())
        .output()?;
    ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let status = pki_succeeds(&["status", "--pki", &text(&folder)])?;
    ensure!(status.contains("10.9.0.2"), "{status}");
    Ok(())
}

/// Functions that listen at all addresses, and are reached by a name, as in containers.
#[test]
fn functions_are_reached_by_their_advertised_names() {
    in_namespace(|| async {
        let site = Site::new("pki-names")?;
        let functions = ["nrf", "udr", "udm", "ausf", "pcf", "nssf", "lmf", "smf", "amf"];
        let with = |text: &dyn Fn(usize, &str) -> String| {
            let each = functions.iter().enumerate().map(|(n, name)| text(n, name));
            each.collect::<Vec<_>>().join(", ")
        };
        let names = with(&|n, name| format!("{name}: \"localhost:{}\"", 7710 + n));
        let addresses = with(&|n, name| format!("{name}: \"0.0.0.0:{}\"", 7710 + n));
        let all = format!("advertise: {{ {names} }}, {addresses}");
        set_sbi(&site, &all)?;
        let folder = site.0.join("pki");
        pki_succeeds(&["init", "-c", &text(&site.config()), "--out", &text(&folder)])?;
        set_sbi(&site, &format!("pki: {folder:?}, {all}"))?;
        let core = site.start(&["--split", "--sbi", "http"])?;
        let gnb = gnb().await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        let status = core.status()?.to_string();
        ensure!(status.contains("localhost:7718") && !status.contains("0.0.0.0"), "{status}");
        gnb.shutdown().await;
        core.stop()
    });
}

/// A function that was started alone, as on a machine of its own.
struct Function(Child);

impl Function {
    fn start(site: &Site, config: &Path, name: &str) -> Result<Function> {
        let log = std::fs::File::create(site.0.join(format!("{name}.log")))?;
        let mut command = Command::new(MARTLET);
        command.args(["nf", name, "-c"]).arg(config).stdin(Stdio::null());
        Ok(Function(command.stdout(log.try_clone()?).stderr(log).spawn()?))
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.0.id() as i32);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

/// A core on two machines with addresses that are not loopback: `pki init` accepts the
/// configuration that it makes valid, and each machine gets the keys of its own functions only.
#[test]
fn two_machines_run_with_a_bundle_of_certificates_each() {
    in_namespace(|| async {
        let site = Site::new("pki-machines")?;
        for address in ["10.9.0.1/32", "10.9.0.2/32"] {
            run("ip", &["addr", "add", address, "dev", "lo"]).await?;
        }
        let (central, edge) =
            (["nrf", "udr", "udm", "ausf", "pcf", "nssf", "lmf"], ["upf", "smf", "amf"]);
        let addresses = |functions: &[&str], address: &str| {
            let of = |(n, name): (usize, &&str)| format!("{name}: \"{address}:{}\"", 7700 + n);
            functions.iter().enumerate().map(of).collect::<Vec<_>>().join(", ")
        };
        let all = format!(
            "{}, {}",
            addresses(&central, "10.9.0.1"),
            addresses(&edge, "10.9.0.2").replace("upf: \"10.9.0.2:7700\", ", "")
        );
        set_sbi(&site, &all)?;
        let config = text(&site.config());
        let checked = Command::new(MARTLET).args(["check", &config]).output()?;
        ensure!(!checked.status.success(), "addresses of other machines need certificates");

        let folder = site.0.join("pki");
        pki_succeeds(&["init", "-c", &config, "--out", &text(&folder)])?;
        let mut machines = Vec::new();
        for (machine, functions) in [("central", &central[..]), ("edge", &edge[..])] {
            let own = site.0.join(machine);
            let (pki_folder, out) = (text(&folder), text(&own));
            let mut arguments = vec!["bundle"];
            arguments.extend(functions);
            arguments.extend(["-c", &config, "--pki", &pki_folder, "--out", &out]);
            pki_succeeds(&arguments)?;
            ensure!(std::fs::metadata(&own)?.permissions().mode() & 0o777 == 0o700);
            let file = site.0.join(format!("{machine}.yaml"));
            set_sbi(&site, &format!("pki: {own:?}, {all}"))?;
            std::fs::copy(site.config(), &file)?;
            machines.push((own, file, functions));
        }
        let has = |machine: usize, name: &str| machines[machine].0.join(name).exists();
        ensure!(has(0, "udm-key.pem") && !has(0, "amf-key.pem") && has(0, "token-key.pem"));
        ensure!(has(1, "amf-key.pem") && !has(1, "udm-key.pem") && !has(1, "token-key.pem"));
        ensure!(!has(0, "authority-key.pem") && !has(1, "authority-key.pem"));

        let mut running = Vec::new();
        for (_, file, functions) in &machines {
            for name in *functions {
                running.push(Function::start(&site, file, name)?);
            }
        }
        let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
        loop {
            let attempt = async {
                let gnb = gnb().await?;
                let day = registration_cycle(&ue(&gnb, 1)?).await;
                gnb.shutdown().await;
                day
            };
            let Err(error) = attempt.await else { break };
            ensure!(tokio::time::Instant::now() < give_up, "the core does not work: {error:#}");
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        whole_network_from_central(&site, &folder).await
    });
}

/// The UDM is on another machine than AMF, SMF and UPF. It reads their status with its certificate
/// and tokens of the NRF. Without a token, and without a certificate, a request is refused.
async fn whole_network_from_central(site: &Site, certificates: &Path) -> Result<()> {
    // The first gNB may still have its sockets.
    let gnb = gnb_at(2, "127.0.0.5:38412").await?;
    let ue = ue(&gnb, 1)?;
    ue.register().await?;
    ue.establish_pdu_session(internet()).await?;
    let shown = network_from(&site.0.join("oam-udm.sock")).await?;
    println!("{shown}");
    for function in ["AMF", "SMF", "NRF", "UDR", "UDM", "AUSF", "PCF", "NSSF", "LMF"] {
        let is_ready =
            |line: &str| line.starts_with(function) && line.trim_end().ends_with("ready");
        ensure!(shown.lines().any(is_ready), "{function}: {shown}");
    }
    let line_with = |text: &'static str| shown.lines().filter(move |line| line.contains(text));
    let upf: Vec<&str> = line_with(":8805").flat_map(str::split_whitespace).collect();
    ensure!(upf.len() == 5 && upf[2..4] == ["associated", "1"], "the UPF: {shown}");
    ensure!(upf[4].starts_with("10.9.0.2:"), "the UPF is shown by its SMF: {shown}");
    let of_gnb: Vec<&str> = line_with("gnb-2").flat_map(str::split_whitespace).collect();
    ensure!(of_gnb.len() == 5 && of_gnb[3] == "1", "the gNB: {shown}");
    ensure!(of_gnb[2] == "00101-1" && of_gnb[4].starts_with("10.9.0.2:"), "{shown}");
    gnb.shutdown().await;

    // The AMF is the last function of the machine `edge`.
    let (amf, _) = ApiRoot::split("https://10.9.0.2:7702").context("an API root")?;
    let file = |name: &str| certificates.join(name);
    let tls = Tls::load(&file("authority.pem"), &file("lmf.pem"), &file("lmf-key.pem"))?;
    for (tls, status) in [(Some(tls), 401), (None, 504)] {
        let binding = HttpBinding::new(ClientLimits { retries: 0, ..ClientLimits::default() });
        let transport = Arc::new(binding.with_tls(tls));
        let peer = Peer::new(transport, amf.clone(), "LMF", CallPolicy::default());
        let answer = NfStatusServiceClient::new(peer).get_status().await;
        let refused = answer.err().context("a status without a token")?;
        ensure!(refused.status() == status, "{refused}");
    }
    Ok(())
}

/// A revoked certificate is refused by functions that have read the list.
#[test]
fn certificates_expire_are_renewed_and_revoked() {
    in_namespace(|| async {
        let site = Site::new("pki-revoked")?;
        let folder = site.0.join("pki");
        let at = text(&folder);
        pki_succeeds(&["init", "-c", &text(&site.config()), "--out", &at])?;
        let status = pki_succeeds(&["status", "--pki", &at])?;
        let line = |status: &str, name: &str| -> Result<Vec<String>> {
            let lines = status.lines().map(|line| line.split_whitespace().map(String::from));
            let mut lines = lines.map(Iterator::collect::<Vec<_>>);
            lines.find(|line| line.first().is_some_and(|own| own == name)).context("no such line")
        };
        let days =
            |status: &str, name: &str| -> Result<i64> { Ok(line(status, name)?[2].parse()?) };
        ensure!((365..=366).contains(&days(&status, "amf")?), "{status}");
        ensure!((3650..=3655).contains(&days(&status, "authority")?), "{status}");

        // Renewed for a short time: it is reported, and renewed without being named.
        pki_succeeds(&["renew", "amf", "--days", "20", "--pki", &at])?;
        let output = pki(&["status", "--pki", &at])?;
        let status = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(!output.status.success() && days(&status, "amf")? <= 21, "{status}");
        ensure!(line(&status, "amf")?.contains(&"127.0.0.17".to_string()), "{status}");
        let core = {
            set_sbi(&site, &format!("pki: {folder:?}"))?;
            site.start(&["--split"])?
        };
        let log = std::fs::read_to_string(site.0.join("core.log"))?;
        ensure!(log.contains("certificate expires soon"), "{log}");
        core.stop()?;
        let renewed = pki_succeeds(&["renew", "--pki", &at])?;
        ensure!(renewed.contains("amf") && !renewed.contains("smf"), "{renewed}");

        for name in ["lmf.pem", "lmf-key.pem"] {
            std::fs::copy(folder.join(name), site.0.join(format!("stolen-{name}")))?;
        }
        let is_served = async || -> Result<bool> {
            let core = site.start(&["--split", "--sbi", "http"])?;
            let tls = Tls::load(
                &folder.join("authority.pem"),
                &site.0.join("stolen-lmf.pem"),
                &site.0.join("stolen-lmf-key.pem"),
            )?;
            let binding = HttpBinding::new(ClientLimits { retries: 0, ..ClientLimits::default() });
            let (root, _) = ApiRoot::split("https://127.0.0.10:7777").context("an API root")?;
            let transport = Arc::new(binding.with_tls(Some(tls)));
            let nrf = Peer::new(transport, root, "LMF", CallPolicy::default());
            let query = SearchQuery {
                target_nf_type: Some(NfType::Amf),
                requester_nf_type: Some(NfType::Lmf),
                ..SearchQuery::default()
            };
            let answer = NfDiscoveryClient::new(nrf).search_nf_instances(query).await;
            core.stop()?;
            Ok(!answer.is_err_and(|problem| problem.transport.is_some()))
        };
        ensure!(is_served().await?, "the certificate is valid");
        pki_succeeds(&["revoke", "lmf", "--pki", &at])?;
        ensure!(!folder.join("lmf-key.pem").exists() && folder.join("revoked.pem").exists());
        let again = pki(&["revoke", "lmf", "--pki", &at])?;
        let error = String::from_utf8_lossy(&again.stderr);
        ensure!(!again.status.success() && error.contains("if it was revoked before"), "{error}");
        let added = pki_succeeds(&["add", "lmf", "-c", &text(&site.config()), "--pki", &at])?;
        ensure!(added.contains("lmf.pem"), "{added}");
        ensure!(!is_served().await?, "the revoked certificate is refused");
        pki_succeeds(&["revoke", &text(&folder.join("udr.pem")), "--pki", &at])?;
        let status = pki_succeeds(&["status", "--pki", &at])?;
        ensure!(line(&status, "udr")?.contains(&"revoked".to_string()), "{status}");
        ensure!(line(&status, "lmf")?.contains(&"valid".to_string()), "{status}");
        Ok(())
    });
}

//! The disk of the subscriber database is full while a split core runs.
use crate::site::*;
use anyhow::{Context, Result, bail, ensure};
use martlet_ran::Gnb;
use martlet_security::aka::SubscriberKey;
use martlet_security::{Autn, Rand};
use martlet_store::testing::TestPostgres;
use martlet_tests::in_namespace;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Time limit of an answer of a busy machine; an idle machine needs a hundredth.
const ANSWER: Duration = Duration::from_secs(5);

/// Mounts a small file system at a folder, for this thread and the processes that it starts.
fn small_disk(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    Ok(mount(Some("disk"), folder, Some("tmpfs"), MsFlags::empty(), Some("size=4m"))?)
}

/// A file that takes all room, until it is dropped.
struct Filling(PathBuf);

impl Filling {
    fn of(folder: &Path) -> Result<Filling> {
        let filling = Filling(folder.join("filling"));
        let mut file = std::fs::File::create(&filling.0)?;
        while let Ok(written) = file.write(&[0; 4096]) {
            ensure!(written > 0, "nothing was written");
        }
        Ok(filling)
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Sends a request over HTTP/1.1 to a socket. Returns the status and the body.
fn send(socket: &Path, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
    let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(ANSWER))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: \
         application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer")?;
    Ok((head.split(' ').nth(1).context("a status")?.parse()?, body.to_owned()))
}

/// Asks the UDM for a vector. Returns its sequence number, or the cause of the refusal.
fn vector(site: &Site, n: u64) -> Result<Result<u64, String>> {
    let path = format!(
        "/nudm-ueau/v1/imsi-{:015}/security-information/generate-auth-data",
        1_010_000_000_000 + n
    );
    let body = r#"{"servingNetworkName": "5G:mnc001.mcc001.3gppnetwork.org",
        "ausfInstanceId": "00000000-0000-4000-8000-000000000000"}"#;
    let (status, body) = send(&site.0.join("sbi/127.0.0.12:7777.sock"), "POST", &path, body)?;
    let body: Value = serde_json::from_str(&body).with_context(|| body.clone())?;
    if status != 200 {
        let cause = body["cause"].as_str().with_context(|| format!("no cause: {body}"))?;
        return Ok(Err(format!("{status} {cause}")));
    }
    let vector = &body["authenticationVector"];
    let field = |name: &str| -> Result<[u8; 16]> {
        let bytes = hex::decode(vector[name].as_str().context("a vector")?)?;
        bytes.try_into().map_err(|_| anyhow::anyhow!("{name} has another length"))
    };
    let key = |text: &str| <[u8; 16]>::try_from(hex::decode(text).unwrap_or_default()).ok();
    let usim = SubscriberKey::new(&key(KEY).context("K")?, &key(OPC).context("OPc")?);
    let (rand, autn) = (Rand::new(&field("rand")?), Autn::new(&field("autn")?));
    Ok(Ok(usim.check_autn(&rand, &autn)?.sqn))
}

/// Whether the UDR's metric reports that writes succeed.
fn is_writable(site: &Site) -> Result<bool> {
    let (status, metrics) = send(&site.0.join("oam-udr.sock"), "GET", "/metrics", "")?;
    ensure!(status == 200, "{status}: {metrics}");
    let line = metrics.lines().find_map(|line| line.strip_prefix("martlet_udr_store_writable "));
    Ok(line.context("the metric")?.starts_with('1'))
}

/// Waits until the readiness of the core and the UDR's metric report this.
async fn until_writable(site: &Site, writable: bool) -> Result<()> {
    let give_up = Instant::now() + Duration::from_secs(60);
    loop {
        let (status, why) = send(&site.oam(), "GET", "/readyz", "")?;
        if (status == 200) == writable && is_writable(site)? == writable {
            ensure!(writable || status == 503, "{status} {why}");
            return Ok(());
        }
        ensure!(Instant::now() < give_up, "readiness {status} {why}, {writable} expected");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A UE's registration, which the network rejects with a cause.
async fn is_rejected(gnb: &Gnb, n: u64) -> Result<()> {
    let started = Instant::now();
    match ue(gnb, n)?.register().await {
        Ok(_) => bail!("the UE was registered"),
        Err(error) if error.cause().is_none() => bail!("no cause: {error}"),
        Err(_) => ensure!(started.elapsed() < ANSWER, "rejected after {:?}", started.elapsed()),
    }
    Ok(())
}

/// UEs register and deregister at the same time, on a disk that becomes full. Each registration is
/// accepted, or rejected with a cause. Notifies of each outcome.
async fn registrations(gnb: &Gnb, outcome: &Notify) -> Result<()> {
    let one = async |n: u64| -> Result<()> {
        for _ in 0..8 {
            let ue = ue(gnb, n)?;
            let registered = ue.register().await;
            outcome.notify_waiters();
            match registered {
                Ok(_) => ue.deregister().await?,
                Err(error) => ensure!(error.cause().is_some(), "UE {n}: no cause: {error}"),
            }
        }
        Ok(())
    };
    futures_util::future::try_join_all((3..9).map(one)).await?;
    Ok(())
}

/// Waits until UEs are served again after the UDR was restarted.
async fn until_served(gnb: &Gnb) -> Result<()> {
    let give_up = Instant::now() + Duration::from_secs(60);
    while let Err(error) = registration_cycle(&ue(gnb, 2)?).await {
        ensure!(Instant::now() < give_up, "not served again: {error:#}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

fn full_disk(name: &'static str, arguments: &'static [&'static str]) {
    in_namespace(move || async move {
        let folder = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
        let disk = folder.join("disk");
        small_disk(&disk)?;
        let database = disk.join("martlet.db");
        let site = Site::on(name, database.to_str())?;
        let core = site.start(arguments)?;
        site.subscribe(3, 6)?;
        let gnb = gnb_that_waits(1, Duration::from_secs(20)).await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        let mut numbers = vec![vector(&site, 1)?.map_err(anyhow::Error::msg)?];
        until_writable(&site, true).await?;

        for _ in 0..3 {
            let filling = Filling::of(&disk)?;
            // The log of the database may have room for a few commits.
            let give_up = Instant::now() + Duration::from_secs(60);
            let cause = loop {
                ensure!(Instant::now() < give_up, "vectors are handed out: {numbers:?}");
                match vector(&site, 1)? {
                    Ok(number) => numbers.push(number),
                    Err(cause) => break cause,
                }
            };
            ensure!(cause == "500 INSUFFICIENT_RESOURCES", "{cause}");
            until_writable(&site, false).await?;
            for n in [1, 2, 1, 2] {
                let refused = vector(&site, n)?.err().context("a vector was handed out")?;
                ensure!(refused == cause, "{refused}");
                is_rejected(&gnb, n).await?;
            }

            drop(filling);
            until_writable(&site, true).await?;
            numbers.push(vector(&site, 1)?.map_err(anyhow::Error::msg)?);
            // As the UE retries when its timer has expired.
            registration_cycle(&ue(&gnb, 2)?).await?;
        }

        // Registrations are in progress when the disk becomes full, and the UDR cannot start.
        let outcome = Notify::new();
        let fill = async || -> Result<Filling> {
            outcome.notified().await;
            Filling::of(&disk)
        };
        let (filling, rejected) = tokio::join!(fill(), registrations(&gnb, &outcome));
        rejected?;
        kill(&core, "udr")?;
        registrations(&gnb, &Notify::new()).await.context("without the UDR")?;
        drop(filling?);
        until_served(&gnb).await?;
        until_writable(&site, true).await?;
        numbers.push(vector(&site, 1)?.map_err(anyhow::Error::msg)?);
        ensure!(numbers.is_sorted_by(|one, next| one < next), "used twice: {numbers:?}");
        gnb.shutdown().await;
        core.stop()
    });
}

#[test]
fn a_full_disk_is_a_rejection_with_a_cause_and_heals_in_one_process() {
    in_namespace(|| async {
        let name = "full-disk-one";
        let folder = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
        let disk = folder.join("disk");
        small_disk(&disk)?;
        let site = Site::on(name, disk.join("martlet.db").to_str())?;
        site.subscribe(3, 6)?;
        let core = site.start(&[])?;
        let gnb = gnb_that_waits(1, Duration::from_secs(20)).await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        let filling = Filling::of(&disk)?;
        registrations(&gnb, &Notify::new()).await?;
        let give_up = Instant::now() + Duration::from_secs(60);
        while send(&site.oam(), "GET", "/readyz", "")?.0 != 503 {
            ensure!(Instant::now() < give_up, "ready on a full disk");
            registrations(&gnb, &Notify::new()).await?;
        }
        is_rejected(&gnb, 1).await?;
        drop(filling);
        until_served(&gnb).await?;
        gnb.shutdown().await;
        core.stop()
    });
}

/// The tables of a server on a small disk.
fn move_tables(server: &TestPostgres, disk: &Path) -> Result<()> {
    let tables = disk.join("tables");
    std::fs::create_dir(&tables)?;
    let owner = std::fs::metadata(server.folder())?;
    for folder in [disk, &tables] {
        std::os::unix::fs::chown(folder, Some(owner.uid()), Some(owner.gid()))?;
    }
    let (url, tables) = (server.url(), tables.display().to_string());
    // The client must not run within the test's runtime.
    let run = std::thread::spawn(move || -> Result<()> {
        let mut client = postgres::Client::connect(&url, postgres::NoTls)?;
        client.execute(&format!("CREATE TABLESPACE small LOCATION '{tables}'"), &[])?;
        Ok(client.batch_execute("ALTER ROLE martlet SET default_tablespace = small")?)
    });
    run.join().ok().context("the statements ended")?
}

/// Readiness and log name the remedy, and UEs are served when there is room again.
async fn full_server(site: &Site, disk: &Path) -> Result<()> {
    let core = site.start(&[])?;
    let gnb = gnb_that_waits(1, Duration::from_secs(2)).await?;
    registration_cycle(&ue(&gnb, 1)?).await?;
    let filling = Filling::of(disk)?;
    let give_up = Instant::now() + Duration::from_secs(60);
    let remedy = "make room on the server's disk";
    loop {
        let (status, why) = send(&site.oam(), "GET", "/readyz", "")?;
        // The AMF loses its lease, or the UDR fails to write a context first. Without its lease
        // the AMF is silent, and the UDR has nothing to write.
        let named = [remedy, "amf: database postgresql://"].iter().any(|part| why.contains(part));
        if status == 503 && named {
            break;
        }
        ensure!(Instant::now() < give_up, "readiness {status} {why}");
        // Pages of the tables may have room for a few rows.
        for n in 1..=4 {
            let ue = ue(&gnb, n)?;
            if ue.register().await.is_ok() {
                let _ = ue.deregister().await;
            }
        }
    }
    let log = std::fs::read_to_string(site.0.join("core.log"))?;
    ensure!(log.contains(remedy), "{remedy}: {log}");
    drop(filling);
    until_served(&gnb).await?;
    let give_up = Instant::now() + Duration::from_secs(60);
    while let (status, why) = send(&site.oam(), "GET", "/readyz", "")?
        && status != 200
    {
        ensure!(Instant::now() < give_up, "{status} {why}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn a_full_disk_is_named_by_commands_with_the_remedy() {
    in_namespace(|| async {
        let name = "full-disk-commands";
        let folder = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
        let disk = folder.join("disk");
        small_disk(&disk)?;
        let site = Site::on(name, disk.join("martlet.db").to_str())?;
        let _filling = Filling::of(&disk)?;
        for words in [&["list"][..], &["remove", "001010000000001"]] {
            let mut command = Command::new(MARTLET);
            let output =
                command.arg("subscriber").args(words).arg("-c").arg(site.config()).output()?;
            let error = String::from_utf8_lossy(&output.stderr);
            let has_remedy = error.ends_with("the disk is full: make room on its disk\n");
            ensure!(!output.status.success() && has_remedy, "{words:?}: {error}");
        }
        Ok(())
    });
}

#[test]
fn a_full_postgresql_server_is_named_with_the_remedy_and_heals() {
    in_namespace(|| async {
        let name = "full-server";
        let disk = std::env::temp_dir().join(format!("martlet-{name}-disk-{}", std::process::id()));
        small_disk(&disk)?;
        let Some(server) = TestPostgres::start(name)? else { return Ok(()) };
        move_tables(&server, &disk)?;
        let site = Site::on(name, Some(&server.url()))?;
        site.subscribe(3, 3)?;
        full_server(&site, &disk).await
    });
}

#[test]
fn a_full_disk_is_a_rejection_with_a_cause_and_heals_over_http() {
    full_disk("full-disk-http", &["--split", "--sbi", "http"]);
}

#[test]
fn a_full_disk_is_a_rejection_with_a_cause_and_heals_over_the_fabric() {
    full_disk("full-disk", &["--split"]);
}

//! JSON patches (RFC 6902) that double a resource with each operation, at a running core.
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_tests::in_namespace;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// What the memory of a function may grow by, in kilobytes. A patch without limits takes gigabytes.
const GROWTH: u64 = 24 << 10;
/// Attempts with each patch at each resource.
const ATTEMPTS: usize = 40;

/// Sends a request over HTTP/1.1 to a function's socket. Returns the status and the body.
fn send(socket: &Path, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
    let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let length = body.len();
    let kind = "application/json-patch+json";
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\ncontent-length: \
         {length}\r\nconnection: close\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer")?;
    Ok((head.split(' ').nth(1).context("a status")?.parse()?, body.to_owned()))
}

/// The most memory in kilobytes that a function had.
fn max_memory(core: &CoreProcess, name: &str) -> Result<u64> {
    let pid = core.process_of(&format!("nf {name} ")).context("a process")?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("VmHWM")?;
    Ok(line.split_whitespace().next().context("a number")?.parse()?)
}

/// Patches whose operations each copy the whole resource, or an array into itself.
fn bombs() -> Vec<String> {
    let whole = |n: usize| json!({"op": "copy", "from": "", "path": format!("/x{n}")});
    let array = json!({"op": "copy", "from": "/x", "path": "/x/-"});
    let first = json!({"op": "add", "path": "/x", "value": ["xxxxxxxx"]});
    let patch = |operations: Vec<Value>| Value::Array(operations).to_string();
    vec![
        patch((0..26).map(whole).collect()),
        patch((0..18).map(whole).collect()),
        patch(std::iter::once(first).chain(vec![array; 25]).collect()),
    ]
}

/// Sends each patch [`ATTEMPTS`] times to each resource, while other threads ask the NRF. Returns
/// how many requests of these it answered.
fn attack(resources: &[(PathBuf, String)], nrf: &Path) -> Result<usize> {
    let (is_over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let query = "/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AUSF";
    let ask = || -> Result<()> {
        while !is_over.load(Ordering::Relaxed) {
            let (status, body) = send(nrf, "GET", query, "")?;
            ensure!(status == 200 && body.contains("UDM"), "the NRF answers {status}: {body}");
            answered.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    let attempts = || -> Result<()> {
        for bomb in bombs() {
            ensure!(bomb.len() < 2000, "{} bytes", bomb.len());
            for (socket, path) in (0..ATTEMPTS).flat_map(|_| resources) {
                let (status, body) = send(socket, "PATCH", path, &bomb)?;
                ensure!((400..500).contains(&status), "{path}: {status} {body}");
                ensure!(body.contains("bytes"), "refused for its size: {path}: {body}");
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others = [scope.spawn(ask), scope.spawn(ask)];
        let outcome = attempts();
        is_over.store(true, Ordering::Relaxed);
        for other in others {
            other.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        }
        outcome
    })?;
    Ok(answered.into_inner())
}

#[test]
fn attack_json_patch_copies_exhaust_memory() {
    in_namespace(|| async {
        let site = Site::new("json-patch")?;
        let core = site.start(&["--split", "--sbi", "http"])?;
        let gnb = gnb().await?;
        let victim = ue(&gnb, 1)?;
        victim.register().await?;
        let socket = |last: u8| site.0.join(format!("sbi/127.0.0.{last}:7777.sock"));
        let (nrf, udr) = (socket(10), socket(11));
        let status = core.status()?;
        let all = status["nfs"].as_array().context("functions")?;
        let amf = all.iter().find(|nf| nf["name"] == "amf").context("the AMF")?;
        let profile =
            format!("/nnrf-nfm/v1/nf-instances/{}", amf["instanceId"].as_str().context("an ID")?);
        let subscriber = "/nudr-dr/v2/subscription-data/imsi-001010000000001";
        let resources = [
            (nrf.clone(), profile.clone()),
            (udr.clone(), format!("{subscriber}/authentication-data/authentication-subscription")),
            (udr.clone(), format!("{subscriber}/context-data/amf-3gpp-access")),
        ];
        // The resources are there, and a patch that changes nothing is applied.
        let before = send(&nrf, "GET", &profile, "")?;
        for (socket, path) in &resources {
            let (status, body) = send(socket, "GET", path, "")?;
            ensure!(status == 200, "{path}: {status} {body}");
        }
        let nothing = json!([{"op": "test", "path": "/nfStatus", "value": "REGISTERED"}]);
        let (status, body) = send(&nrf, "PATCH", &profile, &nothing.to_string())?;
        ensure!(status == 200 || status == 204, "{status} {body}");

        let functions = ["nrf", "udr"];
        let pids = functions.map(|name| core.process_of(&format!("nf {name} ")));
        let memory = functions.map(|name| max_memory(&core, name));
        let answered = attack(&resources, &nrf)?;
        ensure!(answered > 0, "the NRF answered no other request");
        for (name, memory) in functions.into_iter().zip(memory) {
            let (memory, max) = (memory?, max_memory(&core, name)?);
            ensure!(max < memory + GROWTH, "the {name} grew from {memory} to {max} kB");
        }
        ensure!(pids == functions.map(|name| core.process_of(&format!("nf {name} "))), "restarted");
        ensure!(send(&nrf, "GET", &profile, "")? == before, "the profile was changed");
        registration_cycle(&ue(&gnb, 2)?).await?;
        gnb.shutdown().await;
        core.stop()
    });
}

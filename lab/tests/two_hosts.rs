//! `martlet-lab lcs-upp` with an end on each of two hosts. The hosts are network namespaces here.
use anyhow::{Context, Result, ensure};
use martlet_tests::{in_namespace, run, unique_namespace};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// The address of the LMF's host.
const LMF: &str = "10.91.0.2";

/// The LMF's host with its end.
struct Host {
    namespace: String,
    lmf: Child,
}

impl Host {
    /// Makes the host, which this namespace reaches over an interface `lmf`, and starts its end.
    async fn start() -> Result<Host> {
        let namespace = unique_namespace("lmf");
        let at = |words: &str| words.split(' ').map(String::from).collect::<Vec<_>>();
        let ip = async |words: String| {
            let words = at(&words);
            run("ip", &words.iter().map(String::as_str).collect::<Vec<_>>()).await
        };
        ip(format!("netns add {namespace}")).await?;
        ip(format!("link add lmf type veth peer name ue netns {namespace}")).await?;
        ip("addr add 10.91.0.1/30 dev lmf".into()).await?;
        ip("link set lmf up".into()).await?;
        ip(format!("-n {namespace} addr add {LMF}/30 dev ue")).await?;
        ip(format!("-n {namespace} link set ue up")).await?;
        ip(format!("-n {namespace} link set lo up")).await?;
        let mut lmf = Command::new("ip")
            .args(["netns", "exec", &namespace, env!("CARGO_BIN_EXE_martlet-lab")])
            .args(["--log", "warn", "lcs-upp", "--role", "lmf"])
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(lmf.stdout.take().context("output")?).read_line(&mut line)?;
        let host = Host { namespace, lmf };
        ensure!(line.starts_with("waiting for a UE at 0.0.0.0:7460"), "{line:?}");
        Ok(host)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.lmf.kill();
        let _ = self.lmf.wait();
        let _ = Command::new("ip").args(["netns", "del", &self.namespace]).status();
    }
}

fn ue(folder: &PathBuf, words: &[&str]) -> Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_martlet-lab"));
    command.args(["--log", "warn", "lcs-upp", "--role", "ue", "--peer", LMF, "--out"]);
    Ok(command.arg(folder).args(words).output()?)
}

/// Bytes that this host has sent to the LMF's.
async fn sent() -> Result<u64> {
    let text = run("ip", &["-s", "-j", "link", "show", "lmf"]).await?;
    let links: Value = serde_json::from_str(&text)?;
    links[0]["stats64"]["tx"]["bytes"].as_u64().context(text)
}

#[test]
fn lcs_upp_measures_every_channel_between_two_hosts() {
    in_namespace(|| async {
        let host = Host::start().await?;
        let folder = std::env::temp_dir().join(format!("martlet-hosts-{}", std::process::id()));
        let before = sent().await?;
        let few = ["--rounds", "10", "--sizes", "1,65535", "--setups", "2"];
        let output = ue(&folder, &few)?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text =
            |file: &str| std::fs::read_to_string(folder.join(file)).context(file.to_string());
        let summary: Value = serde_json::from_str(&text("summary.json")?)?;
        let raw = text("raw.csv")?;
        let channels = ["raw_tcp", "raw_udp", "rustls", "quinn"];
        for channel in channels {
            let id = format!("transport_time.{channel}.n65535_peer.mean");
            let figures = summary["figures"].as_array().context("figures")?;
            ensure!(figures.iter().any(|figure| figure["id"] == id), "no {id}");
            let of = |n: u32| {
                raw.lines().filter(|row| row.starts_with(&format!("{channel},{n},"))).count()
            };
            ensure!((of(1), of(65_535)) == (10, 10), "{channel}: {}, {}", of(1), of(65_535));
        }
        // The rounds, and those that are not counted, went over the network between the hosts.
        let sent_here = sent().await? - before;
        ensure!(sent_here > channels.len() as u64 * 15 * 65_535, "{sent_here} bytes");
        let run = &summary["run"];
        ensure!(run["path"] == "peer" && run["realtime"] == false && run["rounds"] == 10, "{run}");
        ensure!(run["lmf"].as_str().is_some_and(|lmf| lmf.contains("SCHED_OTHER")), "{run}");
        let report = text("report.md")?;
        ensure!(report.contains("the LMF's end, on another host"), "{report}");
        // What the server used is measured at its host.
        let used = report.lines().find(|line| line.starts_with("| rustls | 65535 |"));
        let server = used.and_then(|row| row.split('|').nth(4)?.trim().parse::<f64>().ok());
        ensure!(server.is_some_and(|us| us > 0.0), "{used:?}");

        // The LMF's end serves the next UE, which wants what only it has.
        let output = ue(&folder, &["--channels", "rustls,kernel_module", "--rounds", "2"])?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(!output.status.success() && error.contains("no channel kernel_module"), "{error}");
        let output = ue(&folder, &["--path", "core"])?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(!output.status.success() && error.contains("--path"), "{error}");
        drop(host);
        let output = ue(&folder, &few)?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(!output.status.success() && error.contains("--role lmf"), "{error}");
        Ok(std::fs::remove_dir_all(&folder)?)
    });
}

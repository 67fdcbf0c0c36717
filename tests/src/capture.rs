//! Packet captures of the loopback interface: recorded by tcpdump, dissected by tshark.
use crate::run;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// tshark options: decode NAS with the null cipher, and the SBI as HTTP/2.
const PREFERENCES: [&str; 4] = ["-o", "nas-5gs.null_decipher:TRUE", "-d", "tcp.port==7777,http2"];
/// Display filter for malformed packets and for expert infos of severity "error".
const MALFORMED: &str = "_ws.malformed or _ws.expert.severity == 8388608";

/// A running capture.
pub struct LiveCapture {
    tcpdump: Child,
    path: PathBuf,
}

/// A finished capture.
pub struct Recording {
    path: PathBuf,
}

impl LiveCapture {
    /// Starts to capture SCTP, PFCP, GTP-U and the SBI. Returns `None`, with a message on standard
    /// error, if tcpdump or tshark is not installed.
    ///
    /// # Errors
    /// tcpdump does not start.
    pub fn start() -> Result<Option<LiveCapture>> {
        if !crate::is_installed("tcpdump") || !crate::is_installed("tshark") {
            return Ok(None);
        }
        let name =
            format!("martlet-live-{}-{:?}.pcap", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name.replace(['(', ')'], ""));
        // `-Z root`: tcpdump's own user may not write to the folder. In immediate mode each packet
        // takes a slot of the snapshot length, so `-B` (KiB) has room for a thousand packets.
        let options = [
            "-i",
            "lo",
            "-s",
            "65535",
            "-B",
            "65536",
            "-U",
            "--immediate-mode",
            "-Z",
            "root",
            "-w",
        ];
        let filter = "ip proto 132 or udp port 8805 or udp port 2152 or tcp port 7777";
        let mut command = Command::new("tcpdump");
        command
            .args(options)
            .arg(&path)
            .arg(filter)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut tcpdump = command.spawn().context("tcpdump")?;
        let stderr = tcpdump.stderr.take().context("stderr is piped")?;
        let mut lines = BufReader::new(stderr).lines();
        let listening =
            lines.by_ref().map_while(Result::ok).any(|line| line.contains("listening on"));
        ensure!(listening, "tcpdump ended before it listened");
        // tcpdump writes statistics at its end: the pipe must stay open.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Ok(Some(LiveCapture { tcpdump, path }))
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// tcpdump fails.
    pub async fn finish(mut self) -> Result<Recording> {
        // Packets in flight arrive first.
        tokio::time::sleep(Duration::from_millis(200)).await;
        kill(Pid::from_raw(self.tcpdump.id().try_into()?), Signal::SIGINT)?;
        let status = self.tcpdump.wait()?;
        ensure!(status.success(), "tcpdump failed with {status}");
        Ok(Recording { path: std::mem::take(&mut self.path) })
    }
}

impl Drop for LiveCapture {
    fn drop(&mut self) {
        let _ = self.tcpdump.kill();
        let _ = self.tcpdump.wait();
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Recording {
    /// Fields of the packets that match a display filter: one line for each packet, tab-separated.
    ///
    /// # Errors
    /// tshark fails.
    pub async fn fields(&self, filter: &str, fields: &[&str]) -> Result<Vec<String>> {
        let path = self.path.display().to_string();
        let mut arguments =
            vec!["-n", "-r", &path, "-T", "fields", "-E", "occurrence=a", "-Y", filter];
        arguments.extend(PREFERENCES);
        fields.iter().for_each(|field| arguments.extend(["-e", field]));
        Ok(run("tshark", &arguments).await?.lines().map(str::to_owned).collect())
    }

    /// The info column of the packets of a protocol.
    ///
    /// # Errors
    /// tshark fails.
    pub async fn infos(&self, protocol: &str) -> Result<Vec<String>> {
        self.fields(protocol, &["_ws.col.Info"]).await
    }

    /// Checks that tshark reports no malformed packet and no error.
    ///
    /// # Errors
    /// It does; the error lists the packets.
    pub async fn expect_well_formed(&self) -> Result<()> {
        let fields = [
            "frame.number",
            "frame.protocols",
            "_ws.col.Info",
            "_ws.malformed",
            "_ws.expert.message",
        ];
        let malformed = self.fields(MALFORMED, &fields).await?;
        ensure!(
            malformed.is_empty(),
            "tshark reports {} malformed packets:\n{}",
            malformed.len(),
            malformed.join("\n")
        );
        Ok(())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        match std::env::var_os("MARTLET_KEEP_CAPTURES") {
            Some(_) => eprintln!("capture kept at {}", self.path.display()),
            None => drop(std::fs::remove_file(&self.path)),
        }
    }
}

/// Checks that the texts occur in the lines in this order; other lines may be between them.
///
/// # Errors
/// Names the first text that does not.
pub fn in_order(lines: &[String], due: &[&str]) -> Result<()> {
    let mut rest = lines.iter();
    for (n, text) in due.iter().enumerate() {
        let found = rest.any(|line| line.contains(text));
        ensure!(found, "no {text:?} after {:?}; lines:\n{}", &due[..n], lines.join("\n"));
    }
    Ok(())
}

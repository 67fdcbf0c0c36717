//! What crosses the loopback interface of the test's namespace: taken by tcpdump, judged by tshark.
use crate::run;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How tshark is to read it: NAS with the null cipher is readable, and the SBI is HTTP/2.
const PREFERENCES: [&str; 4] = ["-o", "nas-5gs.null_decipher:TRUE", "-d", "tcp.port==7777,http2"];
/// What must not be: packets that tshark cannot dissect, and those in which an expert sees an
/// error.
const WRONG: &str = "_ws.malformed or _ws.expert.severity == 8388608";

/// A capture that goes on.
pub struct LiveCapture {
    tcpdump: Child,
    path: PathBuf,
}

/// A capture that has ended.
pub struct Recording {
    path: PathBuf,
}

impl LiveCapture {
    /// Takes SCTP, PFCP, GTP-U and the SBI from now on. `None` where a program is missing, after
    /// saying so.
    ///
    /// # Errors
    /// tcpdump does not start.
    pub fn start() -> Result<Option<LiveCapture>> {
        if !crate::has("tcpdump") || !crate::has("tshark") {
            return Ok(None);
        }
        let name =
            format!("martlet-live-{}-{:?}.pcap", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name.replace(['(', ')'], ""));
        // As root, or tcpdump may not write where its own user may not. Where packets are to be
        // seen at once, each has a place of the longest one's size: room for a thousand of
        // them, should tcpdump have to wait for a processor.
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
        let said = tcpdump.stderr.take().context("it is piped")?;
        let mut lines = BufReader::new(said).lines();
        let listens =
            lines.by_ref().map_while(Result::ok).any(|line| line.contains("listening on"));
        ensure!(listens, "tcpdump ended before it listened");
        // It goes on to say something at its end, for which somebody has to be there.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Ok(Some(LiveCapture { tcpdump, path }))
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// tcpdump does not end well.
    pub async fn finish(mut self) -> Result<Recording> {
        // What is on its way arrives.
        tokio::time::sleep(Duration::from_millis(200)).await;
        kill(Pid::from_raw(self.tcpdump.id().try_into()?), Signal::SIGINT)?;
        let status = self.tcpdump.wait()?;
        ensure!(status.success(), "tcpdump ended with {status}");
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
    /// Fields of the packets that fit a display filter, one line a packet, tab-separated.
    ///
    /// # Errors
    /// tshark fails.
    pub async fn fields(&self, filter: &str, fields: &[&str]) -> Result<Vec<String>> {
        let path = self.path.display().to_string();
        let mut words = vec!["-n", "-r", &path, "-T", "fields", "-E", "occurrence=a", "-Y", filter];
        words.extend(PREFERENCES);
        fields.iter().for_each(|field| words.extend(["-e", field]));
        Ok(run("tshark", &words).await?.lines().map(str::to_owned).collect())
    }

    /// The info column of the packets of a protocol.
    ///
    /// # Errors
    /// tshark fails.
    pub async fn infos(&self, protocol: &str) -> Result<Vec<String>> {
        self.fields(protocol, &["_ws.col.Info"]).await
    }

    /// Whether every packet can be dissected, and no expert sees an error in any.
    ///
    /// # Errors
    /// It is not so; what is wrong, packet by packet.
    pub async fn is_sound(&self) -> Result<()> {
        let fields = [
            "frame.number",
            "frame.protocols",
            "_ws.col.Info",
            "_ws.malformed",
            "_ws.expert.message",
        ];
        let wrong = self.fields(WRONG, &fields).await?;
        ensure!(
            wrong.is_empty(),
            "tshark finds fault with {} packets:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
        Ok(())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        match std::env::var_os("MARTLET_KEEP_CAPTURES") {
            Some(_) => eprintln!("the capture stays at {}", self.path.display()),
            None => drop(std::fs::remove_file(&self.path)),
        }
    }
}

/// Whether these texts occur in the lines in this order, with others between them.
///
/// # Errors
/// The first of them that does not.
pub fn in_order(lines: &[String], due: &[&str]) -> Result<()> {
    let mut rest = lines.iter();
    for (n, text) in due.iter().enumerate() {
        let found = rest.any(|line| line.contains(text));
        ensure!(found, "after {:?}, {text:?} is due; there are:\n{}", &due[..n], lines.join("\n"));
    }
    Ok(())
}

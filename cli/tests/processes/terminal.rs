//! `martlet top` in a pseudo terminal, with a live core.
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_ran::PduSessionRequest;
use martlet_tests::{GATEWAY, in_namespace, ping, reaches};
use serde_json::{Value, json};

/// A screen that `martlet top` showed.
struct Screen {
    text: String,
    lines: Vec<String>,
    colours: Vec<Vec<u64>>,
}

impl Screen {
    /// The colours of the line with a text.
    fn colours_of(&self, text: &str) -> Result<&[u64]> {
        let at = self.lines.iter().position(|line| line.contains(text));
        Ok(&self.colours[at.with_context(|| format!("{text} in {}", self.text))?])
    }

    fn has(&self, texts: &[&str]) -> Result<()> {
        for text in texts {
            ensure!(self.text.contains(text), "{text} is missing:\n{}", self.text);
        }
        Ok(())
    }
}

/// Runs `martlet top` with keys: each is sent when the screen shows the text before it.
async fn top(
    site: &Site,
    size: [u16; 2],
    color: bool,
    steps: &[(&str, &str)],
) -> Result<Vec<Screen>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/terminal.py");
    let mut command = tokio::process::Command::new("python3");
    command.arg(script).args(size.map(|n| n.to_string())).arg(json!(steps).to_string());
    command.args([MARTLET, "top", "--interval", "0.3", "-c"]).arg(site.config());
    match color {
        true => command.env_remove("NO_COLOR"),
        false => command.env("NO_COLOR", "1"),
    };
    let output = command.kill_on_drop(true).output().await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let screens: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    let screen = |screen: &Value| {
        let lines: Vec<String> = serde_json::from_value(screen["lines"].clone())?;
        let colours = serde_json::from_value(screen["colours"].clone())?;
        let text = lines.join("\n");
        // With MARTLET_TEST_KEEP the screens can be looked at.
        println!("{text}\n");
        Ok(Screen { text, lines, colours })
    };
    screens.iter().map(screen).collect()
}

/// Numbers of the terminal's colours.
const RED: u64 = 1;
const GREEN: u64 = 2;
const YELLOW: u64 = 3;
const CYAN: u64 = 6;

#[test]
fn top_shows_each_page_of_a_live_core_in_a_terminal() {
    in_namespace(|| async {
        let site = Site::new("top")?;
        let core = site.start(&[])?;
        let gnb = gnb().await?;
        let (one, two) = (ue(&gnb, 1)?, ue(&gnb, 2)?);
        for ue in [&one, &two] {
            ue.register().await?;
            let dnn = Some("internet".into());
            ue.establish_pdu_session(PduSessionRequest { dnn, ..PduSessionRequest::default() })
                .await?;
        }
        two.release_to_idle().await?;
        // Traffic while the terminal is looked at, and packets that the UPF drops.
        let steps = [
            ("uplink", "2"),
            ("SMF", "3"),
            ("gnb-1", "i4"),
            ("001010000000001", "5"),
            ("✖ foreign_source", "?"),
            ("● works", "?1"),
            ("kbit/s", "q"),
        ];
        let traffic = async {
            loop {
                one.send_ip(1, ping([10, 45, 77, 77].into(), GATEWAY, 1)).await?;
                reaches(&one, 1, GATEWAY).await?;
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let looked = top(&site, [120, 30], true, &steps);
        let screens = tokio::select! {
            screens = looked => screens?,
            failed = traffic => return failed,
        };
        let [overview, functions, gnbs, ues, drops, legend, last] =
            <[Screen; 7]>::try_from(screens).ok().context("seven screens")?;
        overview.has(&["gNBs 1", "2 registered", "● 1 connected", "functions run", "downlink"])?;
        ensure!(overview.colours_of("functions run")?.contains(&GREEN));
        ensure!(overview.colours_of("↑ uplink")?.contains(&CYAN));
        functions.has(&["AMF", "SMF", "UPF", "● runs", "1 of 1 UPFs associated"])?;
        ensure!(functions.colours_of("SMF")?.contains(&GREEN));
        gnbs.has(&["gnb-1", "00101-000001", "● set up"])?;
        ues.has(&["001010000000001", "001010000000002", "10.45.0.", "● connected", "○ idle"])?;
        ensure!(ues.colours_of("001010000000001")?.contains(&GREEN));
        drops.has(&["foreign_source", "per second"])?;
        ensure!(drops.colours_of("foreign_source")?.contains(&RED));
        last.has(&["┌↑ uplink", "kbit/s, peak", "█"])?;
        legend.has(&["● works", "▲ warning", "✖ fault", "○ idle", "↑ uplink", "↓ downlink"])?;
        ensure!(legend.colours_of("▲ warning")?.contains(&YELLOW));

        // A narrow terminal has less columns; without colours nothing is lost.
        let steps = [("functions run", "4"), ("001010000000001", "3"), ("gnb-1", "q")];
        let screens = top(&site, [44, 16], false, &steps).await?;
        for screen in &screens {
            ensure!(screen.colours.iter().all(Vec::is_empty), "a colour: {}", screen.text);
        }
        screens[0].has(&["1 Overview", "q quit"])?;
        screens[1].has(&["4 UEs", "● connected"])?;
        ensure!(!screens[1].text.contains("10.45.0."), "{}", screens[1].text);
        screens[2].has(&["3 gNBs", "● set up"])?;
        gnb.shutdown().await;
        core.stop()
    });
}

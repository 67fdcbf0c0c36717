//! The picture of the overview in a real Chromium: the figures of its lines appear and change while
//! UEs of two gNBs send, further UPFs are shown with their sum, a UPF without figures has none, and
//! many gNBs share a box.
use crate::api::{api_site, first_password};
use crate::console::{BrowserPermit, BrowserScript};
use crate::nf_sets::ExtraFunction;
use crate::site::*;
use anyhow::{Context, Result, bail};
use martlet_ran::{Gnb, PduSessionRequest, Ue};
use martlet_tests::{GATEWAY, in_namespace_within, ping, reaches, skip};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Longest time of the whole test.
const LONGEST: Duration = Duration::from_secs(600);
/// The sessions are at the second UPF, that of the core. The last one never answers, as if it were
/// another operator's.
const CONFIGURATION: &str = "smf: { upfs: [{ n4: \"127.0.0.9:8805\", slices: [{ sst: 9 }] }, \
                             { n4: \"127.0.0.8:8805\" }, \
                             { n4: \"127.0.0.10:8805\", slices: [{ sst: 9 }] }, \
                             { n4: \"127.0.0.77:8805\" }] }\n";

/// Starts a UPF with a configuration of its own, in a folder of its own.
fn further_upf(site: &Site, address: Ipv4Addr) -> Result<ExtraFunction> {
    let upf = format!(
        "upf: {{ n4: {{ address: \"{address}:8805\" }}, n3: {{ address: \"{address}:2152\" }}, \
         n6: {{ mode: none }} }}\n"
    );
    ExtraFunction::start(site, "upf", &upf)
}

async fn with_session(gnb: &Gnb, n: u64) -> Result<(Arc<Ue>, Ipv4Addr)> {
    let ue = Arc::new(ue(gnb, n)?);
    ue.register().await?;
    let dnn = Some("internet".into());
    let session = PduSessionRequest { dnn, ..PduSessionRequest::default() };
    let session = ue.establish_pdu_session(session).await?;
    reaches(&ue, 1, GATEWAY).await?;
    Ok((ue, session.ipv4.context("an address")?))
}

/// Sends 20 packets per second until it is aborted.
async fn send(ue: Arc<Ue>, from: Ipv4Addr) {
    // An interval makes up for what a busy machine delays.
    let mut interval = tokio::time::interval(Duration::from_millis(50));
    for sequence in 0.. {
        interval.tick().await;
        if ue.send_ip(1, ping(from, GATEWAY, sequence)).await.is_err() {
            return;
        }
    }
}

#[test]
fn lines_of_the_picture_have_live_figures_in_chromium() {
    if !BrowserScript::is_possible() {
        return skip("lines in Chromium: `make console-tools` installs what it needs");
    }
    let _permit = BrowserPermit::acquire();
    in_namespace_within(LONGEST, || async {
        let site = api_site("console-lines")?;
        let (one, other) = (Site::new("console-lines-upf-1")?, Site::new("console-lines-upf-2")?);
        let _upfs = [
            further_upf(&one, Ipv4Addr::new(127, 0, 0, 9))?,
            further_upf(&other, Ipv4Addr::new(127, 0, 0, 10))?,
        ];
        let sockets = [&one, &other].map(|of| of.0.join("other-upf-upf.sock"));
        let config = std::fs::read_to_string(site.config())?;
        let config = config.replace("oam: {", &format!("oam: {{ upfs: {sockets:?},"));
        std::fs::write(site.config(), format!("{config}{CONFIGURATION}"))?;
        let core = site.start(&[])?;
        let mut script = BrowserScript::start(&site, "lines.mjs")?;
        script.answer(&first_password(&site)?).await?;
        let (mut gnbs, mut sending) = (Vec::new(), JoinSet::new());
        for n in 1..=2 {
            gnbs.push(Gnb::connect(gnb_config(n, "127.0.0.5:38412")?).await?);
        }
        let (first, from) = with_session(&gnbs[0], 1).await?;
        let (second, beside) = with_session(&gnbs[1], 2).await?;
        while let Some(request) = script.request().await? {
            match request.as_str() {
                "send at the first gNB" => drop(sending.spawn(send(first.clone(), from))),
                "send at both gNBs" => drop(sending.spawn(send(second.clone(), beside))),
                "stop" => sending.shutdown().await,
                "ten more gNBs" => {
                    for n in 3..=12 {
                        gnbs.push(Gnb::connect(gnb_config(n, "127.0.0.5:38412")?).await?);
                    }
                }
                other => bail!("the script asks for {other}"),
            }
            script.answer("done").await?;
        }
        script.succeeded().await?;
        core.stop()
    });
}

//! The tables of the console in a real Chromium, with many subscribers and UEs.
//! `MARTLET_CONSOLE_ROWS=100000,100000,10000,10` sets the numbers of subscribers, of those that are
//! scrolled through, of UEs and of rounds.
use crate::api::{Caller, first_password};
use crate::console::{BrowserPermit, BrowserScript};
use crate::openapi::site_with_token;
use crate::site::*;
use anyhow::{Context, Result, bail, ensure};
use futures_util::{StreamExt, TryStreamExt};
use martlet_ran::{Gnb, PduSessionRequest, Ue};
use martlet_tests::{in_namespace_within, skip};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Subscribers of one import, whose text stays below the limit of a body.
const OF_ONE_IMPORT: u64 = 20_000;
/// UEs that register at the same time.
const CONCURRENCY: usize = 16;
/// The numbers of a usual run.
const ROWS: &str = "100000,2000,420,3";
/// The UE that registers later.
const LATE: u64 = 205;

/// Adds subscribers from the first on by the API; each hundredth one is in a group.
async fn import(api: &Caller, count: u64) -> Result<()> {
    for first in (1..=count).step_by(OF_ONE_IMPORT as usize) {
        let numbers = first..(first + OF_ONE_IMPORT).min(count + 1);
        let one = |n: u64| {
            let groups: &[&str] = if n.is_multiple_of(100) { &["meters"] } else { &[] };
            json!({
                "supi": format!("imsi-{:015}", 1_010_000_000_000 + n), "key": KEY, "opc": OPC,
                "groups": groups,
                "slices": [{"sst": 1, "default": true,
                    "dnns": [{"name": "internet", "default": true}]}],
            })
        };
        let text = Value::from_iter(numbers.map(one)).to_string();
        let body = json!({"format": "martlet", "text": text, "replace": true});
        let mut job = api.post("/subscriber-imports", body)?.expect(202)?.body;
        let give_up = Instant::now() + Duration::from_secs(120);
        while job["state"] == "running" {
            ensure!(Instant::now() < give_up, "{job}");
            tokio::time::sleep(Duration::from_millis(100)).await;
            job = api.get(&format!("/jobs/{}", job["id"].as_str().context("a job")?))?;
        }
        ensure!(job["state"] == "succeeded", "{job}");
    }
    Ok(())
}

/// Registers UEs, the first one with a PDU session. Each tenth one becomes idle.
async fn register(gnb: &Gnb, count: u64) -> Result<HashMap<u64, Ue>> {
    let first = ue(gnb, 1)?;
    first.register().await?;
    let dnn = Some("internet".into());
    first.establish_pdu_session(PduSessionRequest { dnn, ..PduSessionRequest::default() }).await?;
    let one = async |n| {
        let ue = ue(gnb, n)?;
        ue.register().await?;
        if n.is_multiple_of(10) {
            ue.release_to_idle().await?;
        }
        anyhow::Ok((n, ue))
    };
    let numbers = (2..=count + 1).filter(|n| *n != LATE);
    let others = futures_util::stream::iter(numbers).map(one).buffered(CONCURRENCY);
    let mut ues: HashMap<u64, Ue> = others.try_collect().await?;
    ues.insert(1, first);
    Ok(ues)
}

/// Does what the script asks for, such as `release UE 223`.
async fn change(gnb: &Gnb, ues: &mut HashMap<u64, Ue>, request: &str) -> Result<()> {
    let (what, n) = request.split_once(" UE ").with_context(|| format!("{request:?}"))?;
    let n: u64 = n.parse()?;
    if what == "register" {
        let late = ue(gnb, n)?;
        late.register().await?;
        ues.insert(n, late);
        return Ok(());
    }
    let ue = ues.get(&n).context("no such UE")?;
    match what {
        "release" => ue.release_to_idle().await?,
        "connect" => ue.service_request().await?,
        "deregister" => ue.deregister().await?,
        other => bail!("the script asks for {other:?}"),
    }
    Ok(())
}

#[test]
fn tables_of_many_rows_stay_usable_in_chromium() {
    if !BrowserScript::is_possible() {
        return skip("the tables in Chromium: `make console-tools` installs what it needs");
    }
    let rows = std::env::var("MARTLET_CONSOLE_ROWS").unwrap_or(ROWS.into());
    let longest = Duration::from_secs(if rows == ROWS { 300 } else { 1800 });
    let _permit = BrowserPermit::acquire();
    in_namespace_within(longest, || async move {
        let counts: Vec<u64> = rows.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let [subscribers, _, count, _] = counts[..] else { bail!("four numbers, not {rows}") };
        let (site, core, _) = site_with_token("console-tables", "")?;
        let mut script = BrowserScript::start(&site, "tables.mjs")?;
        script.answer(&first_password(&site)?).await?;
        let (mut gnb, mut ues) = (None, HashMap::new());
        while let Some(request) = script.request().await? {
            match (request.as_str(), &gnb) {
                ("fill", None) => {
                    let start = Instant::now();
                    import(&Caller::socket(&site), subscribers).await?;
                    println!("imported after {:.1} s", start.elapsed().as_secs_f64());
                    ues = register(gnb.insert(crate::site::gnb().await?), count).await?;
                    println!("registered after {:.1} s", start.elapsed().as_secs_f64());
                }
                (request, Some(gnb)) => change(gnb, &mut ues, request).await?,
                (request, None) => bail!("the script asks for {request:?}"),
            }
            script.answer(&rows.replace(',', " ")).await?;
        }
        script.succeeded().await?;
        core.stop()
    });
}

//! The page of the radio network in a real Chromium, with a gNB whose messages deviate from the
//! specification.
use crate::api::{api_site, first_password};
use crate::console::{BrowserPermit, BrowserScript};
use crate::site::*;
use anyhow::{Context, Result, bail};
use martlet_ran::gnb::N2Link;
use martlet_tests::{RawGnb, in_namespace_within, skip};
use std::time::Duration;

/// Longest time of the whole test.
const LONGEST: Duration = Duration::from_secs(400);
/// A REGISTRATION REQUEST with an unknown SUCI.
const REGISTRATION_REQUEST: &str = "7e004179000d0100f1100000000000000000102e04f0f0f0f0";

/// A gNB without a name, whose INITIAL UE MESSAGE has its elements in another order.
async fn deviating_gnb() -> Result<RawGnb> {
    let gnb = RawGnb::over(N2Link::connect(&gnb_config(2, "127.0.0.5:38412")?).await?, 2);
    gnb.send(gnb.ng_setup("001", 1)).await?;
    gnb.next().await?;
    for ran_id in 1..=3 {
        let nas = hex::decode(REGISTRATION_REQUEST).context("hexadecimal digits")?;
        gnb.send(gnb.disordered_initial_ue_message(ran_id, &nas)).await?;
    }
    Ok(gnb)
}

#[test]
fn deviations_of_a_gnb_are_shown_in_chromium() {
    if !BrowserScript::is_possible() {
        return skip("the radio page in Chromium: `make console-tools` installs what it needs");
    }
    let _permit = BrowserPermit::acquire();
    in_namespace_within(LONGEST, || async {
        let site = api_site("console-radio")?;
        let core = site.start(&[])?;
        let mut script = BrowserScript::start(&site, "radio.mjs")?;
        script.answer(&first_password(&site)?).await?;
        let conforming = gnb().await?;
        let mut deviating = None;
        while let Some(request) = script.request().await? {
            match request.as_str() {
                "connect a gNB that deviates" => deviating = Some(deviating_gnb().await?),
                other => bail!("the script asks for {other}"),
            }
            script.answer("done").await?;
        }
        script.succeeded().await?;
        drop((conforming, deviating));
        core.stop()
    });
}

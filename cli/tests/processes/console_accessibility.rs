//! Success criteria of WCAG 2.2 that axe does not decide, on all pages of the console in a real
//! Chromium.
use crate::api::{api_site, first_password};
use crate::console::{BrowserPermit, BrowserScript};
use crate::site::*;
use anyhow::bail;
use martlet_tests::{in_namespace_within, skip};
use std::time::Duration;

/// Longest time of the whole test.
const LONGEST: Duration = Duration::from_secs(600);

#[test]
fn pages_reflow_have_large_targets_and_a_focus_in_sight_in_chromium() {
    if !BrowserScript::is_possible() {
        return skip("accessibility in Chromium: `make console-tools` installs what it needs");
    }
    let _permit = BrowserPermit::acquire();
    in_namespace_within(LONGEST, || async {
        let site = api_site("console-accessibility")?;
        let core = site.start(&[])?;
        let mut script = BrowserScript::start(&site, "accessibility.mjs")?;
        script.answer(&first_password(&site)?).await?;
        let gnb = gnb().await?;
        let ue = ue(&gnb, 1)?;
        ue.register().await?;
        if let Some(request) = script.request().await? {
            bail!("the script asks for {request}");
        }
        script.succeeded().await?;
        core.stop()
    });
}

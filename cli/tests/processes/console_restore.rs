//! Backup and restore in a real Chromium: the core starts again, and a subscriber is as before.
use crate::api::{Caller, api_site, first_password, subscriber};
use crate::console::{BrowserPermit, BrowserScript};
use anyhow::{bail, ensure};
use martlet_tests::{in_namespace_within, skip};
use serde_json::json;
use std::time::Duration;

/// Longest time of the test.
const LONGEST: Duration = Duration::from_secs(400);

#[test]
fn a_subscriber_is_as_before_after_a_restore_in_chromium() {
    if !BrowserScript::is_possible() {
        return skip("restore in Chromium: `make console-tools` installs what it needs");
    }
    let _permit = BrowserPermit::acquire();
    in_namespace_within(LONGEST, || async {
        let site = api_site("console-restore")?;
        let mut core = Some(site.start(&[])?);
        let mut script = BrowserScript::start(&site, "restore.mjs")?;
        script.answer(&first_password(&site)?).await?;
        let api = Caller::socket(&site);
        let folder = site.0.join("backup");
        while let Some(request) = script.request().await? {
            let mut answer = "done".to_string();
            match request.as_str() {
                "folder" => answer = folder.display().to_string(),
                "damaged folder" => {
                    let damaged = site.0.join("damaged");
                    std::fs::create_dir(&damaged)?;
                    for name in ["subscribers.db", "operator.key"] {
                        std::fs::copy(folder.join(name), damaged.join(name))?;
                    }
                    let database = damaged.join("subscribers.db");
                    let length = std::fs::metadata(&database)?.len();
                    let file = std::fs::OpenOptions::new().write(true).open(database)?;
                    file.set_len(length / 2)?;
                    answer = damaged.display().to_string();
                }
                "change" => {
                    let patch = Some(json!({"msisdn": "491700000077"}));
                    let path = "/subscribers/imsi-001010000000001";
                    api.with("if-match", "*").request("PATCH", path, patch)?.expect(200)?;
                }
                "add" => {
                    api.post("/subscribers", subscriber(9))?.expect(201)?;
                }
                "start again" => {
                    if let Some(core) = core.take() {
                        core.stop()?;
                    }
                    core = Some(site.start(&[])?);
                }
                other => bail!("the script asks for {other}"),
            }
            script.answer(&answer).await?;
        }
        script.succeeded().await?;
        let Some(core) = core else { bail!("the core does not run") };
        api.request("GET", "/subscribers/imsi-001010000000009", None)?.expect(404)?;
        ensure!(api.get("/restores")?["last"]["recorded"] == true);
        core.stop()
    });
}

//! `oam.upfs`: figures of UPFs that run with configurations of their own.
use super::{ADDRESS, Caller, first_password};
use crate::nf_sets::ExtraFunction;
use crate::site::Site;
use anyhow::{Result, ensure};
use martlet_tests::in_namespace;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Longest wait for figures.
const LONGEST: Duration = Duration::from_secs(60);

/// The figures of the second UPF, once they comply.
async fn figures(api: &Caller, complies: impl Fn(&Value) -> bool) -> Result<()> {
    let give_up = Instant::now() + LONGEST;
    loop {
        let upfs = api.get("/overview")?["now"]["upfs"].clone();
        if complies(&upfs[1]) {
            return Ok(());
        }
        ensure!(Instant::now() < give_up, "{upfs}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[test]
fn a_upf_with_a_configuration_of_its_own_has_figures_while_it_answers() {
    in_namespace(|| async {
        let site = Site::new("further-upfs")?;
        let upf = "upf: { n4: { address: \"127.0.0.9:8805\" }, n6: { mode: none }, \
                   n3: { address: \"127.0.0.9:2152\" } }\n";
        let second = ExtraFunction::start(&site, "upf", upf)?;
        // A function that runs alone adds its name.
        let socket = site.0.join("other-upf-upf.sock");
        let config = std::fs::read_to_string(site.config())?;
        let api = format!("oam: {{ api: {{ listen: \"{ADDRESS}\" }}, upfs: [{socket:?}],");
        let config = config.replace("oam: {", &api);
        let smf = "smf: { upfs: [{ n4: \"127.0.0.8:8805\" }, { n4: \"127.0.0.9:8805\" }] }\n";
        std::fs::write(site.config(), config + smf)?;
        let core = site.start(&[])?;
        let password = first_password(&site)?;
        let api = Caller::tcp().sign_in("admin", &password)?;
        api.change_password(&password, "long enough for a test")?;
        figures(&api, |upf| {
            upf["n4"] == "127.0.0.9:8805"
                && upf["associated"] == true
                && upf["uplink_bps"].is_number()
                && upf["sessions"] == json!(0)
        })
        .await?;
        drop(second);
        figures(&api, |upf| upf["uplink_bps"].is_null()).await?;
        core.stop()
    });
}

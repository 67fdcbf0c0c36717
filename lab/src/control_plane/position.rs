//! Time of a position by E-CID over the user plane, as `martlet locate` prints it.
use super::ControlPlaneArgs;
use super::testbed::internet;
use crate::core::{CoreSetup, Variant, ue_config, wait_for_association};
use crate::stats::median;
use crate::{Figure, Output};
use anyhow::{Context, Result, ensure};
use martlet_lcs_channel::{Kind, Trust};
use martlet_lcs_position::GeoPoint;
use martlet_ran::radio_environment::Cell;
use martlet_ran::{Gnb, Netns, Positioning, PositioningConfig, RadioEnvironment};
use std::process::Command;
use std::time::Duration;

/// Time between two positions.
const EVERY: &str = "50ms";
/// First positions that are not counted: they set the connection up.
const WARM_UP: usize = 3;
/// Where the UE and its cell are.
const HERE: GeoPoint = GeoPoint { lat: 54.0924, lon: 12.0991 };
/// The method, as the command names it.
const METHOD: &str = "NR_ECID";

/// Locates a UE of a core of its own repeatedly.
pub(super) async fn measure(args: &ControlPlaneArgs, output: &mut Output) -> Result<()> {
    let count = if args.run.quick { 20 } else { 200 };
    let setup = CoreSetup::prepare(&args.core, 60, "position", 1, output.folder())?;
    let certificate = setup.file("lmf.pem");
    let setup = setup.with_positioning(&format!(
        "user_plane: {{ address: {}, write_certificate: {certificate:?} }}, cells: [{{ nr_cell_id: \
         \"000001001\", pci: 1, lat: {}, lon: {}, radius_m: 500 }}]",
        setup.gateway(),
        HERE.lat,
        HERE.lon
    ));
    let core = setup.start(Variant::Local)?;
    wait_for_association(&core).await?;
    let mut config = setup.gnb_config(1)?;
    config.n3 = config.n2_local;
    let plmn = config.plmn;
    let gnb = Gnb::connect(config).await?;
    let mut config = ue_config(0)?;
    (config.lpp, config.lcs_upp) = (true, true);
    let namespace = format!("lab-position-{}", std::process::id());
    let ue = gnb.new_ue_in(config, Netns::Named(namespace))?;
    ue.register().await?;
    ue.establish_pdu_session(internet()).await?;
    let roots = std::fs::read_to_string(&certificate)
        .with_context(|| format!("the LMF has not written {}", certificate.display()))?;
    let cell = Cell { identity: 1 << 12 | 1, pci: 1, arfcn: 640_000, position: HERE };
    let positioning = PositioningConfig {
        port: 9127,
        trust: Trust { roots, name: setup.gateway().to_string() },
        channels: vec![Kind::Rustls],
        timeout: Duration::from_secs(10),
        keep_alive: Duration::ZERO,
        mtu: 1400,
        environment: RadioEnvironment::at(HERE, plmn, vec![cell], Default::default()),
        truth: None,
    };
    let positioning = Positioning::start(&ue, positioning).await?;
    let mut command = Command::new(args.core.program()?);
    command.args(["locate", ue.supi(), "--every", EVERY, "--count"]);
    command.arg((count + WARM_UP).to_string()).arg("--at").arg(setup.oam());
    // The UE and its gNB are on this thread.
    let located = tokio::task::spawn_blocking(move || command.output()).await??;
    let text = String::from_utf8_lossy(&located.stdout);
    let error = String::from_utf8_lossy(&located.stderr);
    ensure!(located.status.success(), "martlet locate: {}", error.trim());
    ensure!(text.contains("over the user plane"), "not over the user plane: {text}");
    let times: Vec<f64> = text.lines().filter_map(milliseconds).skip(WARM_UP).collect();
    ensure!(times.len() == count, "{} of {count} positions by {METHOD}: {text}", times.len());
    for (n, ms) in times.iter().enumerate() {
        let us = ms * 1e3;
        output.row(format_args!("position,local,1,{n},{},{us:.0},{us:.0},", ue.supi()))?;
    }
    let time = median(&times).context("no positions")?;
    output.figure(Figure::of("position.local.e_cid.p50", "ms", time));
    drop(positioning);
    ue.deregister().await?;
    drop(ue);
    gnb.shutdown().await;
    core.stop()
}

/// The time at the end of a line of `martlet locate` with a position by E-CID.
fn milliseconds(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once(METHOD)?;
    rest.trim().strip_suffix("ms")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_position_is_at_the_end_of_its_line() {
        let line =
            "     3.1 s   54.092410,   12.099100  within    12 m  NR_ECID       1.2 ms".to_string();
        assert_eq!(milliseconds(&line), Some(1.2));
        assert_eq!(milliseconds(&line.replace(METHOD, "GPS")), None);
        assert_eq!(milliseconds("imsi-001010000000001, every 50ms; over the user plane"), None);
    }
}

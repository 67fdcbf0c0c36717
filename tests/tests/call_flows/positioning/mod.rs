//! Positioning over the user plane, over NAS, by measurements of gNBs, and by cell.
mod amf_change;
mod event_exposure;
mod location_reporting;
mod location_request;
mod malformed;
mod nrppa_transport;
mod quic;
mod unauthenticated;
mod user_plane;

use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_lcs_channel::{Identity, Kind, Trust};
use martlet_lcs_position::{GeoPoint, Offset, PathLoss, TangentPlane};
use martlet_lcs_protocol::UeState;
use martlet_lmf::CellConfig;
use martlet_ran::Trp;
use martlet_ran::radio_environment::Cell;
use martlet_ran::{Gnb, GnbConfig, Netns, Positioning, PositioningConfig, RadioEnvironment, Ue};
use martlet_tests::{GATEWAY, TestCore, in_namespace, metric, switch_datapath, unique_namespace};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

/// Service operations of a position, over the user plane and over NAS.
const OPERATIONS: &[&str] = &[
    "namf-comm N1N2MessageSubscribe",
    "namf-comm N1N2MessageTransfer",
    "namf-loc ProvidePositioningInfo",
    "nlmf-callback N1MessageNotify",
    "nlmf-loc DetermineLocation",
];

const MIDDLE: GeoPoint = GeoPoint { lat: 54.0924, lon: 12.0991 };

const LIMIT: Duration = Duration::from_secs(30);

fn place(east: f64, north: f64) -> GeoPoint {
    TangentPlane::at(MIDDLE).point(&Offset { east, north })
}

/// Four cells, two of gNB 1 and two of gNB 2. The first is that of the UEs.
fn cells() -> Vec<Cell> {
    let at = [(0.0, 0.0), (420.0, 30.0), (180.0, 390.0), (-240.0, 260.0)];
    let cell = |(n, (east, north)): (usize, (f64, f64))| {
        // The identities of the gNBs have 24 bits. UEs are at the first cell of their gNB.
        let (gnb, cell) = (n as u64 / 2 + 1, if n == 0 { 1 } else { n as u64 + 10 });
        let identity = gnb << 12 | cell;
        Cell { identity, pci: n as u16 + 1, arfcn: 640_000, position: place(east, north) }
    };
    at.into_iter().enumerate().map(cell).collect()
}

/// The UE receives cells that the LMF does not know.
fn among_unknown_cells(config: &mut PositioningConfig) {
    config.environment.cells.iter_mut().for_each(|cell| {
        (cell.identity, cell.pci) = (cell.identity + (1 << 20), cell.pci + 500);
    });
}

/// A gNB with TRPs at some of the places, where it has cells of its own.
fn with_trps(mut config: GnbConfig, which: std::ops::Range<usize>) -> GnbConfig {
    let gnb = u64::from(config.gnb_id);
    let own = |cell: &Cell| Cell { identity: gnb << 12 | cell.identity & 0xfff, ..*cell };
    config.trps =
        cells()[which].iter().zip(1..).map(|(cell, id)| Trp { id, cell: own(cell) }).collect();
    config
}

fn certificate() -> PathBuf {
    std::env::temp_dir().join(format!("martlet-{}.pem", unique_namespace("lmf")))
}

struct Testbed {
    core: TestCore,
    gnb: Gnb,
    certificate: PathBuf,
}

impl Drop for Testbed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.certificate);
    }
}

/// The address of the LMF for UEs: the UPF's N6 address. With a switch, which does not deliver to
/// that address, the LMF is a host of the data network.
fn lmf() -> Ipv4Addr {
    if switch_datapath() { Ipv4Addr::new(10, 99, 0, 2) } else { GATEWAY }
}

impl Testbed {
    async fn start(sbi: Sbi, change: impl FnOnce(&mut Config)) -> Result<Testbed> {
        Testbed::around(async |configure| TestCore::start(sbi, configure).await, change).await
    }

    /// In one process, regardless of `MARTLET_TEST_SBI`, for tests of N2 only.
    async fn start_within_one_process(change: impl FnOnce(&mut Config)) -> Result<Testbed> {
        Testbed::around(async |configure| TestCore::start_on(Sbi::Local, configure).await, change)
            .await
    }

    async fn around<'a>(
        start: impl AsyncFnOnce(Box<dyn FnOnce(&mut Config) + 'a>) -> Result<TestCore>,
        change: impl FnOnce(&mut Config) + 'a,
    ) -> Result<Testbed> {
        let certificate = certificate();
        let written = certificate.clone();
        let configure = move |config: &mut Config| {
            config.lmf.user_plane.write_certificate = Some(written);
            config.lmf.user_plane.address = lmf().into();
            config.lmf.path_loss = PathLoss::default();
            let cell = |cell: &Cell| CellConfig {
                nr_cell_id: format!("{:09x}", cell.identity),
                pci: cell.pci,
                position: cell.position,
                radius_m: 500.0,
            };
            config.lmf.cells = cells().iter().map(cell).collect();
            change(config);
        };
        let core = start(Box::new(configure)).await?;
        let gnb = Gnb::connect(with_trps(core.gnb_config(1), 0..2)).await?;
        Ok(Testbed { core, gnb, certificate })
    }

    /// Registers a UE at a position, with a session and an interface.
    async fn ue(
        &self,
        n: u64,
        at: GeoPoint,
        lpp: bool,
        lcs_upp: bool,
    ) -> Result<(Ue, Positioning)> {
        self.positioning_ue_that_trusts(n, at, lpp, lcs_upp, self.trust()?).await
    }

    /// The trust anchor for the LMF.
    fn trust(&self) -> Result<Trust> {
        Ok(Trust { roots: std::fs::read_to_string(&self.certificate)?, name: lmf().to_string() })
    }

    async fn positioning_ue_that_trusts(
        &self,
        n: u64,
        at: GeoPoint,
        lpp: bool,
        lcs_upp: bool,
        trust: Trust,
    ) -> Result<(Ue, Positioning)> {
        self.positioning_ue_with(n, at, lpp, lcs_upp, trust, |_| {}).await
    }

    async fn positioning_ue_with(
        &self,
        n: u64,
        at: GeoPoint,
        lpp: bool,
        lcs_upp: bool,
        trust: Trust,
        able: impl FnOnce(&mut PositioningConfig),
    ) -> Result<(Ue, Positioning)> {
        let mut ue = self.core.ue_config(n);
        (ue.lpp, ue.lcs_upp) = (lpp, lcs_upp);
        let ue = self.gnb.new_ue_in(ue, Netns::Named(unique_namespace("ue")))?;
        self.core.register_with_session(&ue).await?;
        let plmn = martlet_security::Plmn::new("001", "01").context("not a PLMN")?;
        let mut config = PositioningConfig {
            port: 9127,
            trust,
            channels: vec![Kind::Rustls],
            timeout: Duration::from_secs(5),
            keep_alive: Duration::ZERO,
            mtu: 1400,
            environment: RadioEnvironment::at(at, plmn, cells(), PathLoss::default()),
            truth: None,
        };
        able(&mut config);
        let positioning = Positioning::start(&ue, config).await?;
        Ok((ue, positioning))
    }

    /// Locates a UE. Returns the position, the method and the uncertainty in metres.
    async fn locate(&self, n: u64) -> Result<(GeoPoint, String, f64)> {
        let supi = format!("imsi-{:015}", 1_010_000_000_000u64 + n);
        let answer = self.core.query(&format!("locate/{supi}")).await?;
        let area = &answer["locationEstimate"];
        let gnss = &answer["gnssPositioningDataList"][0]["gnss"];
        let method =
            if gnss.is_null() { &answer["positioningDataList"][0]["method"] } else { gnss };
        let number = |value: &serde_json::Value| {
            value.as_f64().with_context(|| format!("what is in {answer}"))
        };
        let place =
            GeoPoint { lat: number(&area["point"]["lat"])?, lon: number(&area["point"]["lon"])? };
        let within = number(&area["uncertaintyEllipse"]["semiMajor"])?;
        Ok((place, method.as_str().unwrap_or_default().into(), within))
    }
}

/// Successful requests over a carrier.
fn served(carrier: &str) -> f64 {
    metric("martlet_lmf_requests_total", &[("carrier", carrier), ("result", "ok")])
}

async fn over_the_user_plane(sbi: Sbi) -> Result<()> {
    let testbed = Testbed::start(sbi, |_| {}).await?;
    let there = place(120.0, 140.0);
    let (_ue, positioning) = testbed.ue(1, there, true, true).await?;
    ensure!(positioning.state() == UeState::Idle, "a connection exists before the first request");
    let (found, method, within) = testbed.locate(1).await?;
    ensure!(positioning.state() == UeState::Established, "{:?}", positioning.state());
    ensure!(
        method == "NR_ECID" && found.distance(&there) < within.min(20.0),
        "{method}, {} m",
        found.distance(&there)
    );
    // Later requests do not use NAS.
    let transfers = testbed.core.sbi_record.calls("namf-comm N1N2MessageTransfer");
    let (again, ..) = testbed.locate(1).await?;
    ensure!(again == found, "the position changed");
    ensure!(
        testbed.core.sbi_record.calls("namf-comm N1N2MessageTransfer") == transfers,
        "NAS was used again"
    );

    // The UE releases the connection and connects again with the next request.
    positioning.release().await;
    ensure!(positioning.wait_for(UeState::Idle, LIMIT).await, "the connection was not released");
    testbed.locate(1).await?;
    ensure!(positioning.state() == UeState::Established, "the UE did not connect again");
    testbed.core.sbi_record.check_members()?;
    testbed.core.sbi_record.check(OPERATIONS).await
}

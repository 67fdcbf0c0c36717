//! Where a phone is: asked over the user plane, over NAS, by what gNBs measure, and by its cell.
mod amf_change;
mod malformed;
mod nrppa;
mod quic;
mod unauthenticated;

use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_lcs_channel::{Identity, Kind, Trust};
use martlet_lcs_position::{Offset, PathLoss, Place, Plane};
use martlet_lcs_protocol::UeState;
use martlet_lmf::CellConfig;
use martlet_ran::nrppa::Trp;
use martlet_ran::positioning::Cell;
use martlet_ran::{Gnb, GnbConfig, Netns, Positioning, PositioningConfig, Surroundings, Ue};
use martlet_tests::{GATEWAY, TestCore, a_switch_carries_packets, in_namespace, metric, namespace};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

/// Service operations of a position over the user plane, and over NAS.
const OPERATIONS: &[&str] = &[
    "namf-comm N1N2MessageSubscribe",
    "namf-comm N1N2MessageTransfer",
    "namf-loc ProvidePositioningInfo",
    "nlmf-callback N1MessageNotify",
    "nlmf-loc DetermineLocation",
];
const MIDDLE: Place = Place { lat: 54.0924, lon: 12.0991 };
const LIMIT: Duration = Duration::from_secs(5);

fn place(east: f64, north: f64) -> Place {
    Plane::at(MIDDLE).place(&Offset { east, north })
}

/// Four cells around a place; the first is the gNB's.
fn cells() -> Vec<Cell> {
    let at = [(0.0, 0.0), (420.0, 30.0), (180.0, 390.0), (-240.0, 260.0)];
    let cell = |(n, (east, north)): (usize, (f64, f64))| {
        // Cell 1 of gNB 1, whose identity has 24 bits.
        let identity = if n == 0 { 1 << 12 | 1 } else { (n as u64 + 10) << 12 | 1 };
        Cell { identity, pci: n as u16 + 1, arfcn: 640_000, place: place(east, north) }
    };
    at.into_iter().enumerate().map(cell).collect()
}

/// A gNB that measures at some of the cells.
fn with_trps(mut config: GnbConfig, which: std::ops::Range<usize>) -> GnbConfig {
    config.trps =
        cells()[which].iter().zip(1..).map(|(cell, id)| Trp { id, cell: *cell }).collect();
    config
}

fn certificate() -> PathBuf {
    std::env::temp_dir().join(format!("martlet-{}.pem", namespace("lmf")))
}

struct Bed {
    core: TestCore,
    gnb: Gnb,
    certificate: PathBuf,
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.certificate);
    }
}

/// Where phones find the LMF: at the UPF's own address on N6. Behind a switch that is one of the
/// native UPF's alone, and the LMF a host of the data network.
fn lmf() -> Ipv4Addr {
    if a_switch_carries_packets() { Ipv4Addr::new(10, 99, 0, 2) } else { GATEWAY }
}

impl Bed {
    async fn start(sbi: Sbi, change: impl FnOnce(&mut Config)) -> Result<Bed> {
        Bed::around(async |configure| TestCore::start(sbi, configure).await, change).await
    }

    /// In one process whatever is said for all tests: for what is on the wire of N2 alone.
    async fn start_within_one_process(change: impl FnOnce(&mut Config)) -> Result<Bed> {
        Bed::around(async |configure| TestCore::start_on(Sbi::Local, configure).await, change).await
    }

    async fn around<'a>(
        start: impl AsyncFnOnce(Box<dyn FnOnce(&mut Config) + 'a>) -> Result<TestCore>,
        change: impl FnOnce(&mut Config) + 'a,
    ) -> Result<Bed> {
        let certificate = certificate();
        let written = certificate.clone();
        let configure = move |config: &mut Config| {
            config.lmf.user_plane.write_certificate = Some(written);
            config.lmf.user_plane.address = lmf().into();
            config.lmf.path_loss = PathLoss::default();
            let cell = |cell: &Cell| CellConfig {
                nr_cell_id: format!("{:09x}", cell.identity),
                pci: cell.pci,
                place: cell.place,
                radius_m: 500.0,
            };
            config.lmf.cells = cells().iter().map(cell).collect();
            change(config);
        };
        let core = start(Box::new(configure)).await?;
        let gnb = Gnb::connect(with_trps(core.gnb_config(1), 0..2)).await?;
        Ok(Bed { core, gnb, certificate })
    }

    /// A phone at a place, registered with a session and an interface.
    async fn phone(
        &self,
        n: u64,
        at: Place,
        lpp: bool,
        lcs_upp: bool,
    ) -> Result<(Ue, Positioning)> {
        self.phone_that_trusts(n, at, lpp, lcs_upp, self.trust()?).await
    }

    /// What a phone needs to believe the LMF.
    fn trust(&self) -> Result<Trust> {
        Ok(Trust { roots: std::fs::read_to_string(&self.certificate)?, name: lmf().to_string() })
    }

    async fn phone_that_trusts(
        &self,
        n: u64,
        at: Place,
        lpp: bool,
        lcs_upp: bool,
        trust: Trust,
    ) -> Result<(Ue, Positioning)> {
        self.phone_that(n, at, lpp, lcs_upp, trust, |_| {}).await
    }

    async fn phone_that(
        &self,
        n: u64,
        at: Place,
        lpp: bool,
        lcs_upp: bool,
        trust: Trust,
        able: impl FnOnce(&mut PositioningConfig),
    ) -> Result<(Ue, Positioning)> {
        let mut phone = self.core.phone(n);
        (phone.lpp, phone.lcs_upp) = (lpp, lcs_upp);
        let ue = self.gnb.new_ue_in(phone, Netns::Named(namespace("ue")))?;
        self.core.register_with_session(&ue).await?;
        let plmn = martlet_security::Plmn::new("001", "01").context("a network")?;
        let mut config = PositioningConfig {
            port: 9127,
            trust,
            channels: vec![Kind::Rustls],
            timeout: LIMIT,
            rouse: Duration::ZERO,
            mtu: 1400,
            surroundings: Surroundings::at(at, plmn, cells(), PathLoss::default()),
            truth: None,
        };
        able(&mut config);
        let positioning = Positioning::start(&ue, config).await?;
        Ok((ue, positioning))
    }

    /// Where the LMF says that a phone is, by which method, and how far from there at the most.
    async fn locate(&self, n: u64) -> Result<(Place, String, f64)> {
        let supi = format!("imsi-{:015}", 1_010_000_000_000u64 + n);
        let answer = self.core.ask(&format!("locate/{supi}")).await?;
        let area = &answer["locationEstimate"];
        let gnss = &answer["gnssPositioningDataList"][0]["gnss"];
        let method =
            if gnss.is_null() { &answer["positioningDataList"][0]["method"] } else { gnss };
        let number = |value: &serde_json::Value| {
            value.as_f64().with_context(|| format!("what is in {answer}"))
        };
        let place =
            Place { lat: number(&area["point"]["lat"])?, lon: number(&area["point"]["lon"])? };
        let within = number(&area["uncertaintyEllipse"]["semiMajor"])?;
        Ok((place, method.as_str().unwrap_or_default().into(), within))
    }
}

/// Requests that ended well over a carrier.
fn served(carrier: &str) -> f64 {
    metric("martlet_lmf_requests_total", &[("carrier", carrier), ("result", "ok")])
}

async fn over_the_user_plane(sbi: Sbi) -> Result<()> {
    let bed = Bed::start(sbi, |_| {}).await?;
    let there = place(120.0, 140.0);
    let (_ue, positioning) = bed.phone(1, there, true, true).await?;
    ensure!(positioning.state() == UeState::Idle, "nobody asked for a connection yet");
    let (found, method, within) = bed.locate(1).await?;
    ensure!(positioning.state() == UeState::Established, "{:?}", positioning.state());
    ensure!(
        method == "NR_ECID" && found.distance(&there) < within.min(20.0),
        "{method}, {} m",
        found.distance(&there)
    );
    // From now on nothing goes over NAS.
    let transfers = bed.core.bodies.calls("namf-comm N1N2MessageTransfer");
    let (again, ..) = bed.locate(1).await?;
    ensure!(again == found, "a phone that stays is where it was");
    ensure!(
        bed.core.bodies.calls("namf-comm N1N2MessageTransfer") == transfers,
        "NAS was used again"
    );

    // The UE lets go of the connection, and is connected again when it is asked for.
    positioning.release().await;
    ensure!(positioning.wait_for(UeState::Idle, LIMIT).await, "the connection was not released");
    bed.locate(1).await?;
    ensure!(positioning.state() == UeState::Established, "the UE did not connect again");
    bed.core.bodies.check(OPERATIONS).await
}

#[test]
fn a_phone_is_found_over_the_user_plane_in_one_process() {
    in_namespace(|| over_the_user_plane(Sbi::Local));
}

#[test]
fn a_phone_is_found_over_the_user_plane_over_http() {
    in_namespace(|| over_the_user_plane(Sbi::Http));
}

#[test]
fn a_phone_is_found_by_the_best_that_it_has_and_as_well_as_that_is() {
    in_namespace(|| async {
        let bed = Bed::start(Sbi::Local, |_| {}).await?;
        let there = place(120.0, 140.0);
        for carrier in [true, false] {
            // Differences of times to a metre: it is some metres off at the most, and says so.
            let n = if carrier { 1 } else { 3 };
            let tdoa = |config: &mut PositioningConfig| {
                (config.surroundings.dl_tdoa, config.surroundings.timing_deviation_m) = (true, 1.0);
            };
            let (_ue, _positioning) =
                bed.phone_that(n, there, true, carrier, bed.trust()?, tdoa).await?;
            let (found, method, within) = bed.locate(n).await?;
            let error = found.distance(&there);
            ensure!(
                method == "DL_TDOA" && error < 6.0 && (1.0..12.0).contains(&within),
                "{method} {error} {within}"
            );

            let told =
                bed.core.ask(&format!("locate/imsi-{:015}", 1_010_000_000_000u64 + n)).await?;
            ensure!(told["userPlane"].is_object() == carrier, "how it was asked: {told}");

            // A receiver for satellites to 3 m, which leaves where it is in truth.
            let folder = std::env::temp_dir();
            let gnss = |config: &mut PositioningConfig| {
                config.surroundings.gnss_deviation_m = Some(3.0);
                config.truth = Some(folder.clone());
            };
            let (_ue, _positioning) =
                bed.phone_that(n + 1, there, true, carrier, bed.trust()?, gnss).await?;
            let (found, method, within) = bed.locate(n + 1).await?;
            let error = found.distance(&there);
            ensure!(
                method == "GPS" && error < 15.0 && (7.0..9.0).contains(&within),
                "{method} {error} {within}"
            );
            let left = folder.join(format!("imsi-{:015}", 1_010_000_000_000u64 + n + 1));
            let truth = std::fs::read_to_string(&left)?;
            std::fs::remove_file(left)?;
            ensure!(truth == format!("{} {}\n", there.lat, there.lon), "{truth}");
        }
        bed.core.bodies.check(OPERATIONS).await
    });
}

/// With `--nocapture` it says how long positions took.
#[test]
fn a_position_over_the_user_plane_is_there_soon() {
    in_namespace(|| async {
        let bed = Bed::start(Sbi::Local, |_| {}).await?;
        let (_ue, _positioning) = bed.phone(1, place(120.0, 140.0), true, true).await?;
        bed.locate(1).await?;
        let mut times = Vec::new();
        for _ in 0..100 {
            let start = std::time::Instant::now();
            bed.locate(1).await?;
            times.push(start.elapsed());
        }
        times.sort();
        let (median, most) = (times[times.len() / 2], times[times.len() - 1]);
        println!(
            "E-CID over the user plane, two LPP procedures each: median {median:?}, at most \
             {most:?}"
        );
        ensure!(median < Duration::from_millis(100), "{median:?}");
        Ok(())
    });
}

#[test]
fn a_phone_asks_for_its_connection() {
    in_namespace(|| async {
        let bed = Bed::start(Sbi::Local, |_| {}).await?;
        let (_ue, positioning) = bed.phone(1, place(10.0, 20.0), true, true).await?;
        positioning.request().await;
        ensure!(
            positioning.wait_for(UeState::Established, LIMIT).await,
            "{:?}",
            positioning.state()
        );
        bed.core.bodies.check(&["nlmf-loc UpConfig"]).await
    });
}

#[test]
fn several_phones_are_found_each_where_it_is() {
    in_namespace(|| async {
        let bed = Bed::start(Sbi::Local, |_| {}).await?;
        let places =
            [place(50.0, 60.0), place(300.0, 20.0), place(-100.0, 200.0), place(150.0, 300.0)];
        let mut phones = Vec::new();
        for (n, there) in places.iter().enumerate() {
            phones.push(bed.phone(n as u64 + 1, *there, true, true).await?);
        }
        for (n, there) in places.iter().enumerate() {
            let (found, _, within) = bed.locate(n as u64 + 1).await?;
            ensure!(
                found.distance(there) < within,
                "phone {}: {} m, {within}",
                n + 1,
                found.distance(there)
            );
        }
        ensure!(phones.iter().all(|(_, positioning)| positioning.state() == UeState::Established));
        Ok(())
    });
}

#[test]
fn a_phone_without_a_user_plane_connection_is_asked_over_nas_or_found_by_its_cell() {
    in_namespace(|| async {
        let bed = Bed::start(Sbi::Local, |_| {}).await?;
        let there = place(120.0, 140.0);
        let before = served("control plane");
        let (_lpp, positioning) = bed.phone(1, there, true, false).await?;
        let (found, method, within) = bed.locate(1).await?;
        ensure!(
            method == "NR_ECID" && found.distance(&there) < within,
            "{method}, {}",
            found.distance(&there)
        );
        ensure!(positioning.state() == UeState::Idle && served("control plane") > before);

        // Its gNB knows nothing of it but its cell.
        let none = bed.gnb.new_ue(bed.core.phone(2))?;
        bed.core.register_with_session(&none).await?;
        let (found, method, within) = bed.locate(2).await?;
        ensure!(
            method == "CELLID" && found.distance(&MIDDLE) < 0.1 && within == 500.0,
            "{method}, {within}"
        );
        bed.core.bodies.check(OPERATIONS).await
    });
}

#[test]
fn a_phone_that_does_not_know_the_lmf_does_not_connect_to_it() {
    in_namespace(|| async {
        let bed = Bed::start(Sbi::Local, |_| {}).await?;
        let there = place(120.0, 140.0);
        let other = Identity::self_signed(&[&lmf().to_string()])?.trust(&lmf().to_string());
        let (_ue, positioning) = bed.phone_that_trusts(1, there, true, true, other).await?;
        // It says so over NAS, where it is then asked.
        let before = served("control plane");
        let (found, _, within) = bed.locate(1).await?;
        ensure!(found.distance(&there) < within && served("control plane") > before);
        ensure!(positioning.state() == UeState::Idle);
        Ok(())
    });
}

#[test]
fn who_is_not_there_is_not_found() {
    in_namespace(|| async {
        let bed = Bed::start(Sbi::Local, |config| config.lmf.cells.clear()).await?;
        let error = bed.locate(9).await.unwrap_err().to_string();
        ensure!(error.contains("USER_UNKNOWN") || error.contains("does not know"), "{error}");
        let (_ue, _positioning) = bed.phone(1, place(1.0, 1.0), true, true).await?;
        let error = bed.locate(1).await.unwrap_err().to_string();
        ensure!(error.contains("no cell whose place is known"), "{error}");
        Ok(())
    });
}

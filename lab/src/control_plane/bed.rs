//! A core with its own addresses, a gNB, and phones.
use super::Variant;
use crate::{CoreArgs, CoreProcess};
use anyhow::{Context, Result};
use martlet_ran::{Gnb, GnbConfig, OperatorKey, Samples, Ue, UeConfig};
use martlet_store::{Secret, Store, Subscriber};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folder of the cores' files, which goes when all has gone well.
pub(super) const CORES: &str = "cores";
/// Network functions of a core.
const FUNCTIONS: usize = 10;
/// Until the SMF has its UPF.
const ASSOCIATION: Duration = Duration::from_secs(10);
const KEY: [u8; 16] = [0x46; 16];
const OPC: [u8; 16] = [0xcd; 16];

/// Where a core of the lab is: each has a loopback network and an address pool of its own.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    program: PathBuf,
    number: u8,
    folder: PathBuf,
}

impl Site {
    /// Makes the folder, the configuration and the subscribers of a core.
    pub(crate) fn prepare(
        core: &CoreArgs,
        number: u8,
        name: &str,
        subscribers: u64,
        folder: &Path,
    ) -> Result<Site> {
        let site = Site { program: core.program()?, number, folder: folder.join(CORES).join(name) };
        // What an earlier core left there would be restored.
        if site.folder.exists() {
            std::fs::remove_dir_all(&site.folder)?;
        }
        std::fs::create_dir_all(&site.folder)?;
        let store = site.folder.join("martlet.db");
        let first = Subscriber::new("imsi-001010000000001", Secret(KEY), Secret(OPC), "internet");
        let all: Option<Vec<_>> = (0..subscribers).map(|n| first.nth(n)).collect();
        Store::open(&store)?.add(&all.context("too many subscribers")?, false)?;
        std::fs::write(site.config(), site.yaml())?;
        Ok(site)
    }

    fn address(&self, host: u8) -> Ipv4Addr {
        Ipv4Addr::new(127, 10 + self.number, 0, host)
    }

    fn config(&self) -> PathBuf {
        self.folder.join("martlet.yaml")
    }

    fn oam(&self) -> std::net::SocketAddr {
        (self.address(1), 9090).into()
    }

    fn yaml(&self) -> String {
        let at = |host| self.address(host);
        let mut text = String::from("sbi:\n");
        for (host, name) in
            (10..).zip(["nrf", "udr", "udm", "ausf", "pcf", "nssf", "smf", "amf", "lmf"])
        {
            text += &format!("  {name}: {}:7777\n", at(host));
        }
        let pool = format!("10.{}.0.0/16", 45 + self.number);
        text += &format!("oam: {{ bind: \"{}\" }}\n", self.oam());
        text += &format!("fabric: {{ socket: {:?} }}\n", self.folder.join("sbi.sock"));
        text += &format!("udr: {{ path: {:?} }}\n", self.folder.join("martlet.db"));
        text += &format!(
            "upf:\n  n4: {{ address: \"{}:8805\" }}\n  n3: {{ address: \"{}:2152\" }}\n",
            at(8),
            at(8)
        );
        text += &format!("  n6: {{ interface: lab-n6-{}, mode: local }}\n", self.number);
        text += &format!("  dnns: [{{ name: internet, pools: [{pool}] }}]\n");
        text += &format!("smf:\n  dnns: [{{ name: internet, pool: {pool} }}]\n");
        text += &format!("  upfs: [{{ n4: \"{}:8805\" }}]\n  n4: {{ bind: {} }}\n", at(8), at(7));
        // Cores stand side by side here, and nobody is located.
        text += "lmf: { user_plane: { enabled: false } }\n";
        text + &format!("amf: {{ n2: {{ bind: [{}] }} }}\n", at(5))
    }

    /// Starts the core.
    pub(crate) fn start(&self, variant: Variant) -> Result<CoreProcess> {
        CoreProcess::start(
            &self.program,
            &self.config(),
            &self.folder,
            variant.arguments(),
            self.oam(),
            FUNCTIONS,
        )
    }

    /// A gNB that is set up.
    pub(super) async fn gnb(&self, samples: Samples, number: u8) -> Result<Gnb> {
        let mut config = self.gnb_config()?;
        config.gnb_id = number.into();
        config.n2_local = Some(self.address(99 + number).into());
        config.n3 = config.n2_local;
        Ok(Gnb::connect_with(config, samples).await?)
    }

    /// A gNB that is set up, without N3.
    pub(super) async fn gnb_without_user_plane(&self) -> Result<Gnb> {
        Ok(Gnb::connect(self.gnb_config()?).await?)
    }

    pub(crate) fn gnb_config(&self) -> Result<GnbConfig> {
        let plmn = martlet_security::Plmn::new("001", "01")?;
        let mut config = GnbConfig::new("lab-gnb", plmn, 1, (self.address(5), 38412).into());
        config.n2_local = Some(self.address(100).into());
        Ok(config)
    }
}

/// The n-th subscriber's phone, from 0. It answers paging by itself, as phones do.
pub(super) fn phone(gnb: &Gnb, n: u64) -> Result<Ue> {
    Ok(gnb.new_ue(phone_config(n)?)?)
}

/// What the n-th subscriber's phone is.
pub(crate) fn phone_config(n: u64) -> Result<UeConfig> {
    let imsi = format!("{:015}", 1_010_000_000_001 + n);
    Ok(UeConfig::new(&imsi, 2, KEY, OperatorKey::Opc(OPC))?)
}

/// Waits until sessions can come up.
pub(crate) async fn associated(core: &CoreProcess) -> Result<()> {
    let give_up = tokio::time::Instant::now() + ASSOCIATION;
    while !core.status()?.to_string().contains("\"associated\":true") {
        anyhow::ensure!(
            tokio::time::Instant::now() < give_up,
            "the SMF is not associated with the UPF"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// A core at work with what drives it.
pub(super) struct Bed {
    pub(super) variant: Variant,
    pub(super) samples: Samples,
    pub(super) phones: Vec<Ue>,
    core: CoreProcess,
    pub(super) gnb: Gnb,
    /// Where phones are handed over to.
    pub(super) other: Gnb,
}

impl Bed {
    pub(super) async fn start(
        core: &CoreArgs,
        variant: Variant,
        number: u8,
        phones: u32,
        folder: &Path,
    ) -> Result<Bed> {
        let site = Site::prepare(core, number, variant.name(), phones.into(), folder)?;
        let core = site.start(variant)?;
        associated(&core).await?;
        let samples = Samples::default();
        let gnb = site.gnb(samples.clone(), 1).await?;
        let other = site.gnb(samples.clone(), 2).await?;
        let phones = (0..phones.into()).map(|n| phone(&gnb, n)).collect::<Result<_>>()?;
        Ok(Bed { variant, samples, phones, core, gnb, other })
    }

    pub(super) async fn stop(self) -> Result<()> {
        drop(self.phones);
        self.gnb.shutdown().await;
        self.other.shutdown().await;
        self.core.stop()
    }
}

//! A UPF that a test starts and ends by itself, beside the core.
use crate::counts::eventually;
use crate::test_core::choose_datapath;
use anyhow::{Context, Result};
use martlet::config::Config;
use martlet_upf::config::{DatapathChoice, N6Mode};
use martlet_upf::{UpfConfig, UpfHandle};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;

/// Where it is.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

/// A UPF.
pub struct OwnUpf {
    handle: UpfHandle,
    stop: oneshot::Sender<()>,
    started: u64,
}

impl OwnUpf {
    /// Has a core's SMF use this UPF instead of the core's own.
    pub fn instead(config: &mut Config) {
        config.smf.upfs[0].n4 = (ADDRESS, 8805).into();
        // There is one data network, and one loopback interface for programs.
        config.upf.datapath = DatapathChoice::Kernel;
        config.upf.n6.mode = N6Mode::None;
    }

    /// Has a core's SMF know this UPF beside the core's own, which leads nowhere: UEs reach each
    /// other through it alone.
    pub fn beside(config: &mut Config) {
        config.smf.upfs.push(martlet_smf::UpfConfig::at(OwnUpf::n4()));
        config.upf.datapath = DatapathChoice::Kernel;
        config.upf.n6.mode = N6Mode::None;
    }

    /// Its address on N4.
    pub fn n4() -> SocketAddr {
        (ADDRESS, 8805).into()
    }

    /// Its address on N3.
    pub fn address() -> IpAddr {
        ADDRESS.into()
    }

    /// Starts it. It is reached from N6 as the core's own is.
    ///
    /// # Errors
    /// Its addresses or its interface are in use.
    pub async fn start() -> Result<OwnUpf> {
        Self::start_with(|_| {}).await
    }

    /// The same, configured otherwise.
    ///
    /// # Errors
    /// As for `start`.
    pub async fn start_with(configure: impl FnOnce(&mut UpfConfig)) -> Result<OwnUpf> {
        let mut config = UpfConfig::default();
        config.n4.address = SocketAddr::from((ADDRESS, 8805));
        config.n3.address = SocketAddr::from((ADDRESS, 2152));
        config.n6.interface = "own-upf".into();
        config.n6.mode = N6Mode::Local;
        choose_datapath(&mut config)?;
        if config.datapath == DatapathChoice::Switch {
            // It has no wires.
            config.datapath = DatapathChoice::Kernel;
        }
        configure(&mut config);
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let handle = martlet_upf::start(config, shutdown).await?;
        Ok(OwnUpf { handle, stop, started: seconds() })
    }

    /// Has it end, and waits until it has: where it is configured to, it lets SMFs move their
    /// sessions away first.
    ///
    /// # Errors
    /// It does not end well.
    pub async fn leave(self) -> Result<()> {
        let _ = self.stop.send(());
        self.handle.finished().await.context("the UPF ends")
    }

    /// Ends it without a word, and starts it anew. Its sessions are lost.
    ///
    /// # Errors
    /// It does not end well, or does not start.
    pub async fn restart(self) -> Result<OwnUpf> {
        self.restart_as(|_| {}).await
    }

    /// The same for one that is configured otherwise.
    ///
    /// # Errors
    /// As for `restart`.
    pub async fn restart_as(self, configure: impl FnOnce(&mut UpfConfig)) -> Result<OwnUpf> {
        let _ = self.stop.send(());
        self.handle.finished().await.context("the UPF ends")?;
        // PFCP tells a restart by the second of the start (TS 29.244, 8.2.65).
        while seconds() == self.started {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        OwnUpf::start_with(configure).await
    }

    /// Ends it without a word.
    ///
    /// # Errors
    /// It does not end well.
    pub async fn stop(self) -> Result<()> {
        let _ = self.stop.send(());
        self.handle.finished().await.context("the UPF ends")
    }

    /// Waits until the UPF has this number of sessions.
    ///
    /// # Errors
    /// The number of sessions is another one at the end of the timeout.
    pub async fn until_sessions(&self, wanted: u64) -> Result<()> {
        let reached = || (self.status()["sessionCount"] == wanted).then_some(());
        eventually("the UPF has its sessions", reached, || self.status().to_string()).await
    }

    /// What it says of itself.
    pub fn status(&self) -> serde_json::Value {
        self.handle.status()
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

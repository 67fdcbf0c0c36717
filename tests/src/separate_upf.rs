//! A UPF that a test starts and stops independently of the core.
use crate::eventually;
use crate::test_core::choose_datapath;
use anyhow::{Context, Result};
use martlet::config::Config;
use martlet_upf::config::{DatapathChoice, N6Mode};
use martlet_upf::{UpfConfig, UpfHandle};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;

/// N3 and N4 address.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

/// A running UPF.
pub struct SeparateUpf {
    handle: UpfHandle,
    stop: oneshot::Sender<()>,
    started: u64,
}

impl SeparateUpf {
    /// Configures the SMF to use this UPF instead of the core's own.
    pub fn replace_core_upf(config: &mut Config) {
        config.smf.upfs[0].n4 = (ADDRESS, 8805).into();
        // Both UPFs would need the loopback interface and the data network.
        config.upf.datapath = DatapathChoice::Kernel;
        config.upf.n6.mode = N6Mode::None;
    }

    /// Adds this UPF to the SMF's configuration. The core's own UPF then has no N6: through it, UEs
    /// reach only each other.
    pub fn add_to_core(config: &mut Config) {
        config.smf.upfs.push(martlet_smf::UpfConfig::at(SeparateUpf::n4()));
        config.upf.datapath = DatapathChoice::Kernel;
        config.upf.n6.mode = N6Mode::None;
    }

    /// N4 address.
    pub fn n4() -> SocketAddr {
        (ADDRESS, 8805).into()
    }

    /// N3 address.
    pub fn address() -> IpAddr {
        ADDRESS.into()
    }

    /// Starts the UPF, with the gateway address on N6 that the core's own UPF has.
    ///
    /// # Errors
    /// An address or the interface is in use.
    pub async fn start() -> Result<SeparateUpf> {
        Self::start_with(|_| {}).await
    }

    /// [`SeparateUpf::start`] with another configuration.
    ///
    /// # Errors
    /// As [`SeparateUpf::start`].
    pub async fn start_with(configure: impl FnOnce(&mut UpfConfig)) -> Result<SeparateUpf> {
        let mut config = UpfConfig::default();
        config.n4.address = SocketAddr::from((ADDRESS, 8805));
        config.n3.address = SocketAddr::from((ADDRESS, 2152));
        config.n6.interface = "own-upf".into();
        config.n6.mode = N6Mode::Local;
        choose_datapath(&mut config)?;
        if config.datapath == DatapathChoice::Switch {
            // The switch needs a [`crate::SwitchWiring`].
            config.datapath = DatapathChoice::Kernel;
        }
        configure(&mut config);
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let handle = martlet_upf::start(config, shutdown).await?;
        Ok(SeparateUpf { handle, stop, started: seconds() })
    }

    /// Stops the UPF without a message to the SMF and starts it again, without its sessions.
    ///
    /// # Errors
    /// The UPF ends with an error or does not start.
    pub async fn restart(self) -> Result<SeparateUpf> {
        self.restart_as(|_| {}).await
    }

    /// [`SeparateUpf::restart`] with another configuration.
    ///
    /// # Errors
    /// As [`SeparateUpf::restart`].
    pub async fn restart_as(self, configure: impl FnOnce(&mut UpfConfig)) -> Result<SeparateUpf> {
        let _ = self.stop.send(());
        self.handle.finished().await.context("the UPF ended with an error")?;
        // The recovery time stamp has a resolution of one second (TS 29.244, 8.2.65).
        while seconds() == self.started {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        SeparateUpf::start_with(configure).await
    }

    /// Stops the UPF. With `n4.graceful_release_s` it releases its association gracefully: SMFs
    /// move their sessions away first.
    ///
    /// # Errors
    /// The UPF ends with an error.
    pub async fn stop(self) -> Result<()> {
        let _ = self.stop.send(());
        self.handle.finished().await.context("the UPF ended with an error")
    }

    /// Drains the UPF, or ends that, as `martlet drain upf` does.
    ///
    /// # Errors
    /// The UPF has ended.
    pub fn drain(&self, draining: bool) -> Result<()> {
        let question = if draining { "drain" } else { "undrain" };
        let answer = self.handle.ask_source()(question).context("the UPF has ended")?;
        answer.map(drop).map_err(|why| anyhow::anyhow!("{why}"))
    }

    /// Waits until the UPF has this number of sessions.
    ///
    /// # Errors
    /// The number of sessions is another one at the end of the timeout.
    pub async fn until_sessions(&self, wanted: u64) -> Result<()> {
        let reached = || (self.status()["sessionCount"] == wanted).then_some(());
        eventually("the UPF has its sessions", reached, || self.status().to_string()).await
    }

    /// Its status.
    pub fn status(&self) -> serde_json::Value {
        self.handle.status()
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

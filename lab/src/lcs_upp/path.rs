//! The path of the messages: the loopback interface, or a core with a simulated gNB and UEs, with
//! or without a model of the air interface.
use crate::core::{CoreArgs, CoreSetup, Variant, ue_config, wait_for_association};
use anyhow::{Context, Result, anyhow, bail};
use martlet_ran::user_plane::{Counters, Namespace, RadioConfig};
use martlet_ran::{GnbConfig, Netns, PduSessionRequest, Samples};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Number of the core, which determines its addresses.
const CORE_NUMBER: u8 = 40;

/// A kind of path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PathKind {
    /// The loopback interface
    Loopback,
    /// Simulated gNB and Martlet's UPF
    Core,
    /// As core, with a model of the air interface
    Radio,
    /// The network between two hosts (--role)
    #[value(skip)]
    Peer,
}

impl PathKind {
    /// The name in figures.
    pub(super) fn name(self) -> &'static str {
        match self {
            PathKind::Loopback => "loopback",
            PathKind::Core => "core",
            PathKind::Radio => "radio",
            PathKind::Peer => "peer",
        }
    }

    /// MTU of the path in bytes.
    pub(super) fn mtu(self) -> u16 {
        match self {
            PathKind::Loopback => 65_535,
            PathKind::Core | PathKind::Radio => 1400,
            PathKind::Peer => 1500,
        }
    }
}

/// A radio model from `name=value,…`. Other values are those of [`RadioConfig::default`].
pub(super) fn radio(text: &str, seed: u64) -> Result<RadioConfig> {
    let mut members = serde_json::Map::new();
    members.insert("seed".into(), seed.into());
    // All channels get the same random losses and delays.
    members.insert("alike".into(), true.into());
    for member in text.split(',').filter(|member| !member.is_empty()) {
        let (name, value) = member
            .split_once('=')
            .with_context(|| format!("--radio: {member:?} is not of the form name=value"))?;
        members.insert(name.into(), serde_json::from_str(value).unwrap_or_else(|_| value.into()));
    }
    let radio: RadioConfig = serde_json::from_value(members.into()).context("--radio")?;
    radio.check().map_err(|why| anyhow!("--radio: {why}"))?;
    Ok(radio)
}

/// An open path.
pub(super) struct Route {
    /// Where servers listen.
    pub(super) server: IpAddr,
    /// The UEs' network namespaces, where clients run; empty where they run in that of this
    /// program.
    namespaces: Vec<Namespace>,
    /// User plane counters of the gNB; `None` without one.
    pub(super) counters: Option<Arc<Counters>>,
    stop: Option<(tokio::sync::oneshot::Sender<()>, JoinHandle<Result<()>>)>,
}

impl Route {
    /// The path to a host that this program reaches.
    pub(super) fn to(server: IpAddr) -> Route {
        Route { server, namespaces: Vec::new(), counters: None, stop: None }
    }

    /// Opens a path on this host. Except on the loopback interface, it starts a core, a gNB and UEs
    /// with a PDU session each.
    pub(super) fn open(
        kind: PathKind,
        core: &CoreArgs,
        radio: &RadioConfig,
        ues: usize,
        folder: &Path,
    ) -> Result<Route> {
        let radio = match kind {
            PathKind::Loopback => return Ok(Route::to(Ipv4Addr::LOCALHOST.into())),
            PathKind::Peer => bail!("a path to another host needs its address"),
            PathKind::Core => None,
            PathKind::Radio => Some(radio.clone()),
        };
        let names: Vec<_> =
            (0..ues).map(|n| format!("lcs-upp-{}-{n}", std::process::id())).collect();
        let (ready, is_ready) = mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (core, folder, named) = (core.clone(), folder.to_path_buf(), names.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(serve(&core, &folder, &named, radio, ready, stopped))
        });
        let Ok(counters) = is_ready.recv() else {
            let ended = thread.join().map_err(|_| anyhow!("the thread of the gNB panicked"))?;
            ended.context("the core, the gNB or a UE failed to start")?;
            bail!("the core ended at its start");
        };
        let namespaces =
            names.iter().map(|name| Namespace::open(name, false)).collect::<Result<_, _>>()?;
        // The UPF's own address on N6.
        Ok(Route {
            server: Ipv4Addr::new(10, 45 + CORE_NUMBER, 0, 1).into(),
            namespaces,
            counters,
            stop: Some((stop, thread)),
        })
    }

    /// Starts a program at the n-th UE's end. Programs share UEs if there are fewer of them.
    pub(super) fn spawn(&self, ue: usize, command: &mut Command) -> Result<Child> {
        Ok(match self.namespaces.get(ue % self.namespaces.len().max(1)) {
            // A child inherits the namespace of the thread that starts it.
            Some(namespace) => namespace.run(|| command.spawn())?,
            None => command.spawn()?,
        })
    }

    /// Stops the core and the gNB.
    pub(super) fn close(mut self) -> Result<()> {
        self.shut_down()
    }

    fn shut_down(&mut self) -> Result<()> {
        if let Some((stop, thread)) = self.stop.take() {
            let _ = stop.send(());
            thread.join().map_err(|_| anyhow!("the thread of the gNB panicked"))??;
        }
        Ok(())
    }
}

impl Drop for Route {
    /// Cleans up after a failed experiment too.
    fn drop(&mut self) {
        let _ = self.shut_down();
    }
}

async fn serve(
    program: &CoreArgs,
    folder: &Path,
    namespaces: &[String],
    radio: Option<RadioConfig>,
    ready: mpsc::Sender<Option<Arc<Counters>>>,
    stopped: tokio::sync::oneshot::Receiver<()>,
) -> Result<()> {
    let setup =
        CoreSetup::prepare(program, CORE_NUMBER, "lcs-upp", namespaces.len() as u64, folder)?;
    let core = setup.start(Variant::Local)?;
    wait_for_association(&core).await?;
    let mut config: GnbConfig = setup.gnb_config(1)?;
    config.n3 = config.n2_local;
    config.radio = radio;
    let gnb = martlet_ran::Gnb::connect_with(config, Samples::default()).await?;
    let mut ues = Vec::new();
    for (n, namespace) in (0..).zip(namespaces) {
        let ue = gnb.new_ue_in(ue_config(n)?, Netns::Named(namespace.clone()))?;
        ue.register().await?;
        ue.establish_pdu_session(PduSessionRequest::default()).await?;
        ues.push(ue);
    }
    let _ = ready.send(gnb.user_plane_counters());
    let _ = stopped.await;
    for ue in &ues {
        ue.deregister().await?;
    }
    drop(ues);
    gnb.shutdown().await;
    core.stop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_radio_model_is_parsed_and_checked() {
        let radio = radio("tdd=DDSUU,loss=0.01", 9).unwrap();
        assert_eq!(
            (radio.tdd.as_str(), radio.loss, radio.seed, radio.alike),
            ("DDSUU", 0.01, 9, true)
        );
        assert!(super::radio("tdd=DDD", 1).is_err() && super::radio("colour=red", 1).is_err());
    }
}

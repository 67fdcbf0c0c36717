//! Where the messages go along: the loopback interface, or a core of ours with a gNB, a phone, and
//! perhaps the air between.
use crate::CoreArgs;
use crate::control_plane::Variant;
use crate::control_plane::bed::{Site, associated, phone_config};
use anyhow::{Context, Result, anyhow, bail};
use martlet_ran::user_plane::{Counters, Namespace, RadioConfig};
use martlet_ran::{GnbConfig, Netns, PduSessionRequest, Samples};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Which core of the lab this is: it has addresses of its own.
const SITE: u8 = 40;

/// A path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PathKind {
    /// The loopback interface
    Loopback,
    /// Our own gNB and UPF
    Core,
    /// The same with a model of the air interface
    Radio,
}

impl PathKind {
    /// In the names of figures.
    pub(super) fn name(self) -> &'static str {
        match self {
            PathKind::Loopback => "loopback",
            PathKind::Core => "core",
            PathKind::Radio => "radio",
        }
    }

    /// Octets of its largest IP packet.
    pub(super) fn mtu(self) -> u16 {
        match self {
            PathKind::Loopback => 65_535,
            PathKind::Core | PathKind::Radio => 1400,
        }
    }
}

/// A radio model from `name=value,…`; what is not named is as [`RadioConfig::default`] says.
pub(super) fn radio(text: &str, seed: u64) -> Result<RadioConfig> {
    let mut members = serde_json::Map::new();
    members.insert("seed".into(), seed.into());
    // What is compared is on the same air.
    members.insert("alike".into(), true.into());
    for member in text.split(',').filter(|member| !member.is_empty()) {
        let (name, value) = member
            .split_once('=')
            .with_context(|| format!("--radio: {member:?} is no name=value"))?;
        members.insert(name.into(), serde_json::from_str(value).unwrap_or_else(|_| value.into()));
    }
    let radio: RadioConfig = serde_json::from_value(members.into()).context("--radio")?;
    radio.check().map_err(|why| anyhow!("--radio: {why}"))?;
    Ok(radio)
}

/// A path that is there.
pub(super) struct Route {
    /// Where servers listen.
    pub(super) server: IpAddr,
    /// The phones' network namespaces, where clients run; none on the loopback interface.
    namespaces: Vec<Namespace>,
    /// Of the gNB, where there is one.
    pub(super) counters: Option<Arc<Counters>>,
    stop: Option<(tokio::sync::oneshot::Sender<()>, JoinHandle<Result<()>>)>,
}

impl Route {
    /// Makes it: for all but the loopback interface it starts a core, a gNB and phones with a
    /// session each.
    pub(super) fn open(
        kind: PathKind,
        core: &CoreArgs,
        radio: &RadioConfig,
        phones: usize,
        folder: &Path,
    ) -> Result<Route> {
        let radio = match kind {
            PathKind::Loopback => {
                let server = Ipv4Addr::LOCALHOST.into();
                return Ok(Route { server, namespaces: Vec::new(), counters: None, stop: None });
            }
            PathKind::Core => None,
            PathKind::Radio => Some(radio.clone()),
        };
        let names: Vec<_> =
            (0..phones).map(|n| format!("lcs-upp-{}-{n}", std::process::id())).collect();
        let (tell, told) = mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (core, folder, named) = (core.clone(), folder.to_path_buf(), names.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(serve(&core, &folder, &named, radio, tell, stopped))
        });
        let Ok(counters) = told.recv() else {
            let ended = thread.join().map_err(|_| anyhow!("the thread of the gNB broke down"))?;
            ended.context("the core, the gNB or the phone did not come up")?;
            bail!("the core ended at once");
        };
        let namespaces =
            names.iter().map(|name| Namespace::open(name, false)).collect::<Result<_, _>>()?;
        // The UPF's own address in the network of the phones.
        Ok(Route {
            server: Ipv4Addr::new(10, 45 + SITE, 0, 1).into(),
            namespaces,
            counters,
            stop: Some((stop, thread)),
        })
    }

    /// Starts a program at a UE's end; where there are fewer UEs, they are taken in turn.
    pub(super) fn spawn(&self, ue: usize, command: &mut Command) -> Result<Child> {
        Ok(match self.namespaces.get(ue % self.namespaces.len().max(1)) {
            // A child is in the namespace of the thread that starts it.
            Some(namespace) => namespace.run(|| command.spawn())?,
            None => command.spawn()?,
        })
    }

    /// Ends what was started.
    pub(super) fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if let Some((stop, thread)) = self.stop.take() {
            let _ = stop.send(());
            thread.join().map_err(|_| anyhow!("the thread of the gNB broke down"))??;
        }
        Ok(())
    }
}

impl Drop for Route {
    /// Also where the experiment failed: nothing stays behind.
    fn drop(&mut self) {
        let _ = self.end();
    }
}

async fn serve(
    program: &CoreArgs,
    folder: &Path,
    namespaces: &[String],
    radio: Option<RadioConfig>,
    tell: mpsc::Sender<Option<Arc<Counters>>>,
    stopped: tokio::sync::oneshot::Receiver<()>,
) -> Result<()> {
    let site = Site::prepare(program, SITE, "lcs-upp", namespaces.len() as u64, folder)?;
    let core = site.start(Variant::Local)?;
    associated(&core).await?;
    let mut config: GnbConfig = site.gnb_config()?;
    config.n3 = config.n2_local;
    config.radio = radio;
    let gnb = martlet_ran::Gnb::connect_with(config, Samples::default()).await?;
    let mut ues = Vec::new();
    for (n, namespace) in (0..).zip(namespaces) {
        let ue = gnb.new_ue_in(phone_config(n)?, Netns::Named(namespace.clone()))?;
        ue.register().await?;
        ue.establish_pdu_session(PduSessionRequest::default()).await?;
        ues.push(ue);
    }
    let _ = tell.send(gnb.user_plane_counters());
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
    fn a_radio_is_what_is_written() {
        let radio = radio("tdd=DDSUU,loss=0.01", 9).unwrap();
        assert_eq!(
            (radio.tdd.as_str(), radio.loss, radio.seed, radio.alike),
            ("DDSUU", 0.01, 9, true)
        );
        assert!(super::radio("tdd=DDD", 1).is_err() && super::radio("colour=red", 1).is_err());
    }
}

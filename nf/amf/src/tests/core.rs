//! A core in one process.
use super::script::Script;
use super::smf::SmfByHand;
use crate::dispatch;
use crate::n2::Link;
use crate::{Amf, AmfConfig};
use bytes::Bytes;
use martlet_ausf::Ausf;
use martlet_nf::{
    CommonConfig, Environment, NetworkFunction, NfContext, Shutdown, ShutdownTrigger, StartError,
    start,
};
use martlet_nrf::Nrf;
use martlet_nssf::Nssf;
use martlet_pcf::Pcf;
use martlet_ran::gnb::{N2Link, N2Message};
use martlet_ran::ue::UeConfig;
use martlet_ran::{Gnb, GnbConfig, OperatorKey, PduSessionRequest, Samples, Ue};
use martlet_sbi::{Bindings, LocalBinding, Route, Router};
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfType};
use martlet_store::{Secret, Store, Subscriber};
use martlet_udm::Udm;
use martlet_udr::{Udr, UdrConfig};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

pub const KEY: [u8; 16] = [0x46; 16];
pub const OPC: [u8; 16] = [0xcd; 16];

/// Created AMFs by their name: the start of a network function does not return the function.
static MADE: LazyLock<Mutex<HashMap<String, Arc<Amf>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU32 = AtomicU32::new(1);

/// The AMF without SCTP.
struct Headless(Arc<Amf>);

impl NetworkFunction for Headless {
    const TYPE: NfType = NfType::Amf;
    type Config = AmfConfig;

    async fn create(config: AmfConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        let name = config.name.clone();
        let amf = Amf::new(config, context, None)?;
        MADE.lock().unwrap().insert(name, amf.clone());
        Ok(Arc::new(Headless(amf)))
    }
    fn routes(self: &Arc<Self>) -> Vec<Route> {
        self.0.routes()
    }
    fn profile(&self, profile: &mut NfProfile) {
        self.0.profile(profile);
    }
}

/// A core in one process.
pub struct Core {
    pub amf: Arc<Amf>,
    pub smf: Arc<SmfByHand>,
    next_gnb: AtomicU32,
    database: PathBuf,
    local: LocalBinding,
    environment: Environment,
    _trigger: ShutdownTrigger,
}

impl Drop for Core {
    fn drop(&mut self) {
        for suffix in ["", "-shm", "-wal", ".key"] {
            let mut file = self.database.clone().into_os_string();
            file.push(suffix);
            let _ = std::fs::remove_file(file);
        }
    }
}

fn at(last: u8) -> SocketAddr {
    ([127, 0, 0, last], 7777).into()
}

impl Core {
    /// With the defaults.
    pub async fn start() -> Core {
        Core::start_with(|_| {}).await
    }

    /// With an AMF that is configured otherwise.
    pub async fn start_with(change: impl FnOnce(&mut AmfConfig)) -> Core {
        if std::env::var_os("RUST_LOG").is_some() {
            let filter = tracing_subscriber::EnvFilter::from_default_env();
            let _ = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init();
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let database = std::env::temp_dir()
            .join(format!("martlet-amf-test-{}-{number}.db", std::process::id()));
        let store = Store::open(&database).unwrap();
        let first = Subscriber::new("imsi-001010000000001", Secret(KEY), Secret(OPC), "internet");
        let subscribers: Vec<_> = (0..100).filter_map(|n| first.nth(n)).collect();
        store.add(&subscribers, true).unwrap();
        drop(store);

        let (trigger, shutdown) = Shutdown::new();
        let local = LocalBinding::new();
        let environment = Environment {
            bindings: Bindings::new().with_local(local.clone()),
            fabric: None,
            listen: false,
            sockets: None,
            limits: Default::default(),
            taps: Vec::new(),
            shutdown,
        };
        let common = |last| CommonConfig::at(at(last), at(10));
        let nrf = start::<Nrf>(Default::default(), &common(10), &environment).await.unwrap();
        let status_of_nrf = nrf.handle.status.clone();
        drop(nrf);
        // Tests look into the file and write into it from the thread of the UDR: there, writes are
        // not gathered.
        let udr = UdrConfig {
            path: database.display().to_string(),
            flush_interval_ms: 0,
            ..Default::default()
        };
        start::<Udr>(udr, &common(11), &environment).await.unwrap();
        start::<Udm>(Default::default(), &common(12), &environment).await.unwrap();
        start::<Ausf>(Default::default(), &common(13), &environment).await.unwrap();
        start::<Pcf>(Default::default(), &common(14), &environment).await.unwrap();
        start::<Nssf>(Default::default(), &common(15), &environment).await.unwrap();
        let smf = SmfByHand::start(&common(16), &environment).await;
        let mut config = AmfConfig { name: format!("amf-{number}"), ..Default::default() };
        config.timers.ngap_ms = 1000;
        change(&mut config);
        let name = config.name.clone();
        start::<Headless>(config, &common(17), &environment).await.unwrap();
        let amf = MADE.lock().unwrap().remove(&name).unwrap();
        // Each registers with the NRF in a task of its own: the AMF needs the six others.
        let registered = || status_of_nrf()["registered"].as_array().map_or(0, Vec::len);
        let all = async {
            while registered() < 6 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), all).await.expect("all are registered");
        tokio::time::sleep(Duration::from_millis(20)).await;
        let next_gnb = AtomicU32::new(1);
        Core { amf, smf, next_gnb, database, local, environment, _trigger: trigger }
    }

    /// Serves a function's address with other routes.
    pub fn replace(&self, last: u8, routes: Vec<Route>) {
        self.local.add(&at(last).to_string(), Arc::new(Router::new().serve(routes)));
    }

    /// Starts a function in place of the one with the same address.
    pub async fn start_at<F: NetworkFunction<Config: Default>>(&self, last: u8) {
        let common = CommonConfig::at(at(last), at(10));
        start::<F>(Default::default(), &common, &self.environment).await.unwrap();
    }

    /// As [`Core::start_at`], with requests that follow a script.
    pub async fn start_scripted<F: NetworkFunction<Config: Default>>(
        &self,
        last: u8,
        script: &Arc<Script>,
    ) {
        let common = CommonConfig::at(at(last), at(10));
        let running = start::<F>(Default::default(), &common, &self.environment).await.unwrap();
        let function = running.handle.function.unwrap().downcast::<F>().unwrap();
        self.replace(last, script.routes(function.routes()));
    }

    /// The AMF's end of a link: bytes that are written here are received as from a gNB.
    pub fn link(&self) -> (mpsc::Sender<Bytes>, mpsc::Receiver<(u16, Bytes)>) {
        let (to_amf, from_gnb) = mpsc::channel(1024);
        let (to_gnb, from_amf) = mpsc::channel(1024);
        tokio::spawn(dispatch::serve(self.amf.clone(), Link::Local(to_gnb), from_gnb));
        (to_amf, from_amf)
    }

    /// A gNB that has set N2 up.
    pub async fn gnb(&self) -> Gnb {
        self.gnb_with(|_| {}).await
    }

    /// A registered UE with a session.
    pub async fn with_session(&self, gnb: &Gnb, config: UeConfig) -> Ue {
        let ue_1 = gnb.new_ue(config).unwrap();
        ue_1.register().await.unwrap();
        ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
        self.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
        ue_1
    }

    pub async fn gnb_with(&self, change: impl FnOnce(&mut GnbConfig)) -> Gnb {
        self.try_gnb(change).await.expect("NG setup")
    }

    pub async fn try_gnb(
        &self,
        change: impl FnOnce(&mut GnbConfig),
    ) -> Result<Gnb, martlet_ran::GnbError> {
        self.gnb_through(|message| message, change).await
    }

    /// A gNB whose messages to the AMF pass `between`, which may change them.
    pub async fn gnb_through(
        &self,
        mut between: impl FnMut(Bytes) -> Bytes + Send + 'static,
        change: impl FnOnce(&mut GnbConfig),
    ) -> Result<Gnb, martlet_ran::GnbError> {
        let (link, mut peer) = N2Link::local(8);
        let (to_amf, mut from_amf) = self.link();
        tokio::spawn(async move {
            while let Some(message) = peer.from_gnb.recv().await {
                if to_amf.send(between(message.data)).await.is_err() {
                    break;
                }
            }
        });
        tokio::spawn(async move {
            while let Some((stream, data)) = from_amf.recv().await {
                if peer.to_gnb.send(N2Message { stream, data }).await.is_err() {
                    break;
                }
            }
        });
        let number = self.next_gnb.fetch_add(1, Ordering::Relaxed);
        let plmn = martlet_nas::Plmn::new("001", "01").unwrap();
        let mut config = GnbConfig::new(&format!("gnb-{number}"), plmn, number, at(5));
        config.procedure_timeout = Duration::from_secs(10);
        change(&mut config);
        Gnb::attach(config, link, Samples::default()).await
    }

    /// What the AMF counts: contexts, registered, connected.
    pub fn counts(&self) -> (usize, usize, usize) {
        let (contexts, registered, connected, _) = self.amf.tables.overview(0);
        (contexts, registered, connected)
    }

    /// Waits until the AMF counts so many.
    pub async fn wait_for(&self, wanted: (usize, usize, usize)) {
        for _ in 0..3000 {
            if self.counts() == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{:?} instead of {wanted:?} (contexts, registered, connected)", self.counts());
    }
}

/// The n-th subscriber's UE, from 1.
pub fn ue(n: u32) -> UeConfig {
    UeConfig::new(&format!("00101{n:010}"), 2, KEY, OperatorKey::Opc(OPC)).unwrap()
}

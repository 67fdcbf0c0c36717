//! A home network for tests: NRF, UDR, UDM and AUSF, in one process or each at an address of its
//! own.
#![allow(dead_code)]
use martlet_ausf::{Ausf, AusfConfig};
use martlet_nf::{CommonConfig, Environment, RunningNf, Shutdown, ShutdownTrigger, start};
use martlet_nrf::Nrf;
use martlet_sbi::{ApiRoot, Bindings, CallPolicy, LocalBinding, Peer, Route, Router};
use martlet_sbi_http::{ClientLimits, HttpBinding, HttpServer, ServerLimits};
use martlet_store::{Secret, Store, Subscriber};
use martlet_udm::{Udm, UdmConfig};
use martlet_udr::{Udr, UdrConfig};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

pub const SUPI: &str = "imsi-001010000000001";
pub const K: [u8; 16] = [0x46; 16];
pub const OPC: [u8; 16] = [0xcd; 16];

/// How the functions reach each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Binding {
    Local,
    Http,
}

/// The network with ten subscribers, and the means to call its functions as an AMF would.
pub struct HomeNetwork {
    pub store: Store,
    pub database: PathBuf,
    pub running: Vec<RunningNf>,
    bindings: Bindings,
    local: LocalBinding,
    addresses: Addresses,
    binding: Binding,
    _trigger: ShutdownTrigger,
}

impl Drop for HomeNetwork {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", self.database.display()));
        }
    }
}

/// Addresses of this test alone: its process and its number are in them.
#[derive(Clone, Copy)]
struct Addresses(u8);

impl Addresses {
    fn new() -> Self {
        static NEXT: AtomicU8 = AtomicU8::new(0);
        Addresses(NEXT.fetch_add(1, Ordering::Relaxed))
    }
    fn at(&self, nth: u8) -> SocketAddr {
        let process = std::process::id();
        ([127, 1 + (process % 250) as u8, (process / 250 % 250) as u8, self.0 * 10 + nth], 7777)
            .into()
    }
}

const NRF: u8 = 1;
const UDR: u8 = 2;
const UDM: u8 = 3;
const AUSF: u8 = 4;
const CONSUMER: u8 = 5;

impl HomeNetwork {
    pub async fn start(binding: Binding) -> Self {
        Self::start_with(binding, UdmConfig::default()).await
    }

    pub async fn start_with(binding: Binding, udm: UdmConfig) -> Self {
        Self::start_as(binding, udm, AusfConfig::default()).await
    }

    pub async fn start_as(binding: Binding, udm: UdmConfig, ausf: AusfConfig) -> Self {
        let addresses = Addresses::new();
        let name = format!("martlet-home-network-{}-{}.db", std::process::id(), addresses.0);
        let database = std::env::temp_dir().join(name);
        let store = Store::open(&database).unwrap();
        let first = Subscriber::new(SUPI, Secret(K), Secret(OPC), "internet");
        let subscribers: Vec<_> = (0..10).filter_map(|n| first.nth(n)).collect();
        store.add(&subscribers, false).unwrap();

        let local = LocalBinding::new();
        let bindings = match binding {
            Binding::Local => Bindings::new().with_local(local.clone()),
            Binding::Http => {
                Bindings::new().with_remote(Arc::new(HttpBinding::new(ClientLimits::default())))
            }
        };
        let (trigger, shutdown) = Shutdown::new();
        let environment = Environment {
            bindings: bindings.clone(),
            fabric: None,
            listen: binding == Binding::Http,
            sockets: None,
            limits: ServerLimits::default(),
            taps: Vec::new(),
            shutdown,
        };
        let common = |nth| CommonConfig::at(addresses.at(nth), addresses.at(NRF));
        // Tests look into the file and write into it from the thread of the UDR: there, writes are
        // not gathered.
        let udr = UdrConfig {
            path: database.display().to_string(),
            flush_interval_ms: 0,
            ..Default::default()
        };
        let running = vec![
            start::<Nrf>(Default::default(), &common(NRF), &environment).await.unwrap(),
            start::<Udr>(udr, &common(UDR), &environment).await.unwrap(),
            start::<Udm>(udm, &common(UDM), &environment).await.unwrap(),
            start::<Ausf>(ausf, &common(AUSF), &environment).await.unwrap(),
        ];
        let network = HomeNetwork {
            store,
            database,
            running,
            bindings,
            local,
            addresses,
            binding,
            _trigger: trigger,
        };
        network.all_are_registered().await;
        network
    }

    /// Each function registers with the NRF in a task of its own.
    async fn all_are_registered(&self) {
        for _ in 0..15_000 {
            let registered =
                (self.running[0].handle.status)()["registered"].as_array().map_or(0, Vec::len);
            if registered == self.running.len() - 1 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("not all functions registered with the NRF: {}", (self.running[0].handle.status)());
    }

    fn peer(&self, nth: u8) -> Peer {
        self.peer_of("AMF", nth)
    }
    fn peer_of(&self, user_agent: &str, nth: u8) -> Peer {
        let root = ApiRoot::http(self.addresses.at(nth).to_string());
        Peer::new(Arc::new(self.bindings.clone()), root, user_agent, CallPolicy::default())
    }
    pub fn nrf(&self) -> Peer {
        self.peer(NRF)
    }
    pub fn udr(&self) -> Peer {
        self.peer(UDR)
    }
    pub fn udm(&self) -> Peer {
        self.peer(UDM)
    }
    pub fn ausf(&self) -> Peer {
        self.peer(AUSF)
    }
    /// The AUSF as a consumer with this `User-Agent` requests it.
    pub fn ausf_of(&self, user_agent: &str) -> Peer {
        self.peer_of(user_agent, AUSF)
    }

    /// Serves the UDM's address with other routes. Only with [`Binding::Local`].
    pub fn replace_udm(&self, routes: Vec<Route>) {
        let router = Router::new().serve(routes);
        self.local.add(&self.addresses.at(UDM).to_string(), Arc::new(router));
    }

    /// Serves callbacks of a consumer, whose API root is given back.
    pub async fn consumer(&self, routes: Vec<Route>) -> String {
        let address = self.addresses.at(CONSUMER);
        let router = Arc::new(Router::new().serve(routes));
        match self.binding {
            Binding::Local => self.local.add(&address.to_string(), router),
            Binding::Http => {
                let server =
                    HttpServer::bind(address, router, ServerLimits::default()).await.unwrap();
                tokio::spawn(server.run());
            }
        }
        format!("http://{address}")
    }
}

/// The cause of a call that has to fail, with its status.
pub fn failure<T>(outcome: Result<T, martlet_sbi::Problem>) -> (u16, String) {
    let problem = outcome.err().expect("a failure");
    (problem.status(), problem.cause().to_string())
}

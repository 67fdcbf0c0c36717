//! A complete core in the test's namespace, with subscribers, and gNBs that connect to it.
use crate::sbi_record::RecordSent;
use crate::switch_wiring::SwitchWiring;
use crate::{SbiGate, SbiRecord, eventually, reaches};
use anyhow::{Context, Result};
use martlet::config::{Config, FUNCTIONS};
use martlet::core::{Core, Sbi, secure_environment};
use martlet_nf::{Environment, Shutdown};
use martlet_ran::ue::{OperatorKey, PduSessionRequest, UeConfig};
use martlet_ran::{Gnb, GnbConfig, Ue};
use martlet_sbi::{Bindings, Transport};
use martlet_sctp::StackChoice;
use martlet_store::{Secret, Store, Subscriber};
use martlet_upf::config::{DatapathChoice, SwitchEngine};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Once};

/// The gateway of the default address pool: the UPF's N6 interface, which answers echo requests.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);

/// A request for a session with the data network `internet`.
pub fn internet() -> PduSessionRequest {
    PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() }
}

/// Whether `MARTLET_TEST_SCTP=kernel` selects the kernel's SCTP for both ends of N2.
fn kernel_sctp() -> bool {
    std::env::var("MARTLET_TEST_SCTP").is_ok_and(|stack| stack == "kernel")
}

/// Sets the datapath that `MARTLET_TEST_DATAPATH` selects for all tests: `kernel`, `xdp`, `switch`,
/// or `switch-xdp` (a switch whose pipeline runs in XDP).
///
/// # Errors
/// It has another value.
pub fn choose_datapath(config: &mut martlet_upf::UpfConfig) -> Result<()> {
    config.datapath = match std::env::var("MARTLET_TEST_DATAPATH").as_deref() {
        Ok("xdp") => DatapathChoice::Xdp,
        Ok("switch") => DatapathChoice::Switch,
        Ok("switch-xdp") => {
            config.switch.engine = SwitchEngine::Xdp;
            DatapathChoice::Switch
        }
        Ok("kernel") | Err(_) => DatapathChoice::Kernel,
        Ok(other) => anyhow::bail!(
            "MARTLET_TEST_DATAPATH must be kernel, xdp, switch or switch-xdp, not {other:?}"
        ),
    };
    // Small tables: a test has few sessions.
    (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (1024, 4096, 1024);
    Ok(())
}

/// Whether all tests use the XDP datapath.
pub fn xdp_datapath() -> bool {
    std::env::var("MARTLET_TEST_DATAPATH").is_ok_and(|datapath| datapath == "xdp")
}

/// Whether all tests use a programmable switch.
pub fn switch_datapath() -> bool {
    std::env::var("MARTLET_TEST_DATAPATH").is_ok_and(|datapath| datapath.starts_with("switch"))
}

/// Replaces the switch by the kernel datapath, for tests whose traffic [`SwitchWiring`] does not
/// support.
pub fn without_switch(config: &mut martlet_upf::UpfConfig) {
    if config.datapath == DatapathChoice::Switch {
        config.datapath = DatapathChoice::Kernel;
    }
}

/// K and OPc of all subscribers.
pub fn subscriber_keys() -> ([u8; 16], [u8; 16]) {
    ([0x46; 16], [0xcd; 16])
}

/// Number of subscribers of a core.
pub const SUBSCRIBERS: u64 = 100;

/// Subscriber `n`, counted from 1.
fn subscriber(n: u64) -> Option<Subscriber> {
    let (key, opc) = subscriber_keys();
    Subscriber::new("imsi-001010000000000", Secret(key), Secret(opc), "internet").nth(n)
}

/// The core of a test. Dropping it stops the core.
pub struct TestCore {
    /// The messages of the service-based interface.
    pub sbi_record: Arc<SbiRecord>,
    /// Holds requests of the service-based interface, if that is HTTP.
    pub sbi_gate: Arc<SbiGate>,
    /// The core.
    pub core: Core,
    /// Distinguishes the addresses of concurrent tests in one process. It repeats after 250 cores:
    /// each test has a network namespace.
    pub(crate) number: u8,
    folder: PathBuf,
    /// The interfaces of the switch, if there is one.
    wiring: Option<SwitchWiring>,
    config: Config,
    environment: Environment,
}

static NEXT: AtomicU32 = AtomicU32::new(0);

/// One of the two other bindings. The tests of a procedure have different names, so that a
/// procedure runs on both; a test has the same one in each run.
fn other_binding(sbi: Sbi, test: &str) -> Sbi {
    let is_odd = test.bytes().fold(0_u8, u8::wrapping_add) % 2 == 1;
    match (sbi, is_odd) {
        (Sbi::Http | Sbi::Fabric, false) => Sbi::Local,
        (Sbi::Local | Sbi::Http, true) => Sbi::Fabric,
        (Sbi::Local, false) | (Sbi::Fabric, true) => Sbi::Http,
    }
}

/// Captures the messages of all cores of this process, if `MARTLET_TEST_PCAP` names a folder:
/// `fuzz/capture.sh` makes seeds of fuzz targets from them.
fn capture() -> Result<()> {
    static STARTED: Once = Once::new();
    let mut outcome = Ok(());
    if let Some(folder) = std::env::var_os("MARTLET_TEST_PCAP") {
        STARTED.call_once(|| {
            let file = format!("call-flows-{}.pcapng", std::process::id());
            outcome = martlet_nf::capture::start(&PathBuf::from(folder).join(file), true);
        });
    }
    Ok(outcome?)
}

impl TestCore {
    /// Starts a core with [`SUBSCRIBERS`] subscribers. `change` adapts the configuration.
    /// `MARTLET_TEST_SBI` overrides the binding for all tests: `local`, `fabric`, `http`, or
    /// `other`, which is one of the two that the test does not have, chosen by its name.
    pub async fn start(sbi: Sbi, change: impl FnOnce(&mut Config)) -> Result<TestCore> {
        let sbi = match std::env::var("MARTLET_TEST_SBI").as_deref() {
            Ok("local") => Sbi::Local,
            Ok("fabric") => Sbi::Fabric,
            Ok("http") => Sbi::Http,
            Ok("other") => other_binding(sbi, std::thread::current().name().unwrap_or_default()),
            Ok(value) => anyhow::bail!(
                "MARTLET_TEST_SBI must be local, fabric, http or other, not {value:?}"
            ),
            Err(_) => sbi,
        };
        TestCore::start_on(sbi, change).await
    }

    /// [`TestCore::start`] with exactly this binding, for tests that depend on it.
    pub async fn start_on(sbi: Sbi, change: impl FnOnce(&mut Config)) -> Result<TestCore> {
        capture()?;
        // A test that hangs has its folder for as long as the process runs: no other one gets it.
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let number = (id % 250) as u8 + 1;
        let folder = std::env::temp_dir().join(format!("martlet-test-{}-{id}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("martlet.db");
        let all: Option<Vec<_>> = (1..=SUBSCRIBERS).map(subscriber).collect();
        Store::open(&path)?.add(&all.context("IMSIs")?, false)?;

        let mut config = Config::load(None)?;
        config.udr.path = path.display().to_string();
        // Tests write to the database on the core's thread: a group commit would deadlock.
        config.udr.flush_interval_ms = 0;
        config.fabric.socket = Some(folder.join("sbi.sock"));
        // Tests send requests of their own over TCP.
        config.sbi.listen = true;
        if kernel_sctp() {
            config.amf.n2.stack = martlet_amf::SctpStackConfig::Kernel;
        }
        config.amf.n2.bind = vec![[127, 1, number, 5].into()];
        choose_datapath(&mut config.upf)?;
        change(&mut config);
        let switched = config.upf.datapath == DatapathChoice::Switch;
        let wiring = switched.then(|| SwitchWiring::set_up(&mut config.upf, id)).transpose()?;
        let (trigger, shutdown) = Shutdown::new();
        let (sbi_record, sbi_gate) = (Arc::new(SbiRecord::default()), Arc::new(SbiGate::default()));
        let mut environment = secure_environment(&config, "core", sbi, false, shutdown)?;
        environment.taps.push(sbi_record.clone());
        if sbi == Sbi::Http {
            let names = FUNCTIONS.iter();
            let names = names.filter(|name| !config.sbi.external.iter().any(|it| it == *name));
            let own = names.filter_map(|name| Some(config.sbi.of(name)?.authority())).collect();
            let inner: Arc<dyn Transport> = Arc::new(environment.bindings.clone());
            let (record, gate) = (sbi_record.clone(), sbi_gate.clone());
            let sent = RecordSent { inner, record, gate, own };
            environment.bindings = Bindings::new().with_remote(Arc::new(sent));
        }
        let core = Core::start(&config, sbi, &environment, trigger).await?;
        let started =
            TestCore { sbi_record, sbi_gate, core, number, folder, wiring, config, environment };
        started.wait_until_associated().await?;
        if started.wiring.is_some() {
            started.wait_for_the_switch().await?;
        }
        Ok(started)
    }

    /// Waits for the N4 association, which sessions need.
    async fn wait_until_associated(&self) -> Result<()> {
        if self.config.sbi.external.iter().any(|name| name == "smf") {
            return Ok(());
        }
        let status = self.core.status_source();
        let up = || status().to_string().contains("\"associated\":true").then_some(());
        eventually("the SMF is associated with the UPF", up, || status().to_string()).await
    }

    /// Waits for the switch process, which may take long to start on a busy machine.
    async fn wait_for_the_switch(&self) -> Result<()> {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !self.status("upf").to_string().contains("\"connected\":true") {
            anyhow::ensure!(
                std::time::Instant::now() < until,
                "the switch is not connected: {}",
                self.status("upf")
            );
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The environment that its functions share.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The configuration of a gNB that connects to the core.
    pub fn gnb_config(&self, number: u8) -> GnbConfig {
        let plmn = martlet_security::Plmn::new("001", "01").expect("a network");
        let amf = format!("127.1.{}.5:38412", self.number).parse().expect("an address");
        let mut config = GnbConfig::new(&format!("gnb-{number}"), plmn, number.into(), amf);
        let local = [127, 1, self.number, 20 + number].into();
        if kernel_sctp() {
            config.sctp = StackChoice::Kernel;
        }
        config.n2_local = Some(local);
        config.n3 =
            Some(if self.wiring.is_some() { SwitchWiring::gnb(number).into() } else { local });
        config
    }

    /// Connects a gNB.
    ///
    /// # Errors
    /// The AMF rejects the setup or does not answer.
    pub async fn gnb(&self, number: u8) -> Result<Gnb> {
        Ok(Gnb::connect(self.gnb_config(number)).await?)
    }

    /// Changes the subscription of subscriber `n`, counted from 1.
    ///
    /// # Errors
    /// The subscription is not valid.
    pub fn subscribe(&self, n: u64, change: impl FnOnce(&mut Subscriber)) -> Result<()> {
        let mut subscriber = subscriber(n).context("an IMSI")?;
        change(&mut subscriber);
        Ok(Store::open(&self.folder.join("martlet.db"))?.add(&[subscriber], true)?)
    }

    /// Removes subscriber `n`.
    ///
    /// # Errors
    /// There is none.
    pub fn unsubscribe(&self, n: u64) -> Result<()> {
        let supi = subscriber(n).context("an IMSI")?.supi;
        anyhow::ensure!(
            Store::open(&self.folder.join("martlet.db"))?.remove(&supi)?,
            "no subscriber {supi}"
        );
        Ok(())
    }

    /// The last sequence number that the home network used for subscriber `n`.
    ///
    /// # Errors
    /// There is none.
    pub fn stored_sqn(&self, n: u64) -> Result<u64> {
        let supi = subscriber(n).context("an IMSI")?.supi;
        let found = Store::open(&self.folder.join("martlet.db"))?.subscriber(&supi)?;
        Ok(found.with_context(|| format!("no subscriber {supi}"))?.sqn)
    }

    /// Gives a function a new section of the configuration, as SIGHUP does.
    ///
    /// # Errors
    /// The function does not support a reload.
    pub fn reload<C: 'static>(&self, name: &str, section: C) -> Result<()> {
        self.core
            .reload(name, section)
            .with_context(|| format!("{name} does not support a reload"))?;
        Ok(())
    }

    /// The configuration of the UE of subscriber `n`, counted from 1.
    pub fn ue_config(&self, n: u64) -> UeConfig {
        let (key, opc) = subscriber_keys();
        let imsi = format!("{:015}", 1_010_000_000_000u64 + n);
        UeConfig::new(&imsi, 2, key, OperatorKey::Opc(opc)).expect("a valid IMSI")
    }

    /// Registers the UE of subscriber `n` and establishes a session. Returns the UE and its
    /// address.
    ///
    /// # Errors
    /// The core rejects a request or does not answer.
    pub async fn ue_with_session(&self, gnb: &Gnb, n: u64) -> Result<(Ue, Ipv4Addr)> {
        let ue = gnb.new_ue(self.ue_config(n))?;
        let address = self.register_with_session(&ue).await?;
        Ok((ue, address))
    }

    /// Registers a UE and establishes a session. Returns its address.
    ///
    /// # Errors
    /// As [`TestCore::ue_with_session`].
    pub async fn register_with_session(&self, ue: &Ue) -> Result<Ipv4Addr> {
        ue.register().await?;
        let session = ue.establish_pdu_session(internet()).await?;
        session.ipv4.context("the session has no IPv4 address")
    }

    /// Establishes a session of a registered UE, sends packets and deregisters.
    ///
    /// # Errors
    /// A step fails.
    pub async fn use_session_and_deregister(&self, ue: &Ue) -> Result<()> {
        let session = ue.establish_pdu_session(internet()).await?;
        reaches(ue, session.psi, GATEWAY).await?;
        Ok(ue.deregister().await?)
    }

    /// Registers the UE of subscriber `n`, establishes a session, sends packets and deregisters.
    ///
    /// # Errors
    /// A step fails.
    pub async fn register_use_session_and_deregister(&self, gnb: &Gnb, n: u64) -> Result<()> {
        let ue = gnb.new_ue(self.ue_config(n))?;
        ue.register().await?;
        self.use_session_and_deregister(&ue).await
    }

    /// Sends a query as `martlet` commands do and returns the answer.
    ///
    /// # Errors
    /// No function answers such queries, or it answers with an error.
    pub async fn query(&self, query: &str) -> Result<serde_json::Value> {
        let sources = self.core.ask_sources();
        let answer =
            sources.iter().find_map(|ask| ask(query)).context("no function answers this query")?;
        answer.await.map_err(|problem| anyhow::anyhow!("{problem}"))
    }

    /// Uplink packets that the core's UPF has forwarded, on any datapath.
    pub fn upf_forwarded(&self) -> u64 {
        self.status("upf")
            .pointer("/counters/uplink_packets")
            .and_then(|n| n.as_u64())
            .unwrap_or_default()
    }

    /// The folder of its files.
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// The network namespace of the native UPF and the switch, if there is a switch.
    pub fn switch_netns(&self) -> Option<&str> {
        self.wiring.as_ref().map(SwitchWiring::netns)
    }

    /// The status of the function with this name.
    pub fn status(&self, name: &str) -> serde_json::Value {
        let status = (self.core.status_source())();
        let found = status["nfs"].as_array().into_iter().flatten().find(|nf| nf["name"] == name);
        found.map(|nf| nf["status"].clone()).unwrap_or_default()
    }
}

impl Drop for TestCore {
    fn drop(&mut self) {
        self.core.shut_down();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

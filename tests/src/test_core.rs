//! A whole core in the test's own namespace, with subscribers, and gNBs that connect to it.
use crate::wires::Wires;
use crate::{BodyRecord, SecondAmf, eventually, reaches};
use anyhow::{Context, Result};
use martlet::config::Config;
use martlet::core::{Core, Sbi, secure_environment};
use martlet_nf::{Environment, Shutdown};
use martlet_ran::ue::{OperatorKey, PduSessionRequest, UeConfig};
use martlet_ran::{Gnb, GnbConfig, Ue};
use martlet_sctp::StackChoice;
use martlet_store::{Secret, Store, Subscriber};
use martlet_upf::config::{DatapathChoice, SwitchEngine};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// The gateway of the default address pool, which is the UPF's own interface on N6 and answers
/// pings.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);

/// A session with the data network `internet`.
pub fn internet() -> PduSessionRequest {
    PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() }
}

/// Whether N2 of the tests goes over the kernel's SCTP, at both ends: with
/// `MARTLET_TEST_SCTP=kernel`.
fn kernel_sctp() -> bool {
    std::env::var("MARTLET_TEST_SCTP").is_ok_and(|stack| stack == "kernel")
}

/// Has packets carried by what `MARTLET_TEST_DATAPATH` names for all tests: `kernel`, `xdp`,
/// `switch`, or `switch-xdp`, a switch whose pipeline is in the kernel.
///
/// # Errors
/// It names something else.
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
            "MARTLET_TEST_DATAPATH is kernel, xdp, switch or switch-xdp, not {other:?}"
        ),
    };
    // A test has a handful of sessions.
    (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (1024, 4096, 1024);
    Ok(())
}

/// Whether all tests have their packets carried by programs in the kernel.
pub fn programs_carry_packets() -> bool {
    std::env::var("MARTLET_TEST_DATAPATH").is_ok_and(|datapath| datapath == "xdp")
}

/// Whether all tests have a switch in the wires of their UPF.
pub fn a_switch_carries_packets() -> bool {
    std::env::var("MARTLET_TEST_DATAPATH").is_ok_and(|datapath| datapath.starts_with("switch"))
}

/// Where all tests have a switch, has one go without: for what its wires are not laid for, and the
/// native UPF does alone.
pub fn without_a_switch(config: &mut martlet_upf::UpfConfig) {
    if config.datapath == DatapathChoice::Switch {
        config.datapath = DatapathChoice::Kernel;
    }
}

/// K and OPc of the tests' subscribers.
pub fn subscriber_keys() -> ([u8; 16], [u8; 16]) {
    ([0x46; 16], [0xcd; 16])
}

/// Subscribers of a core.
pub const SUBSCRIBERS: u64 = 100;

/// The n-th subscriber, from 1.
fn subscriber(n: u64) -> Option<Subscriber> {
    let (key, opc) = subscriber_keys();
    Subscriber::new("imsi-001010000000000", Secret(key), Secret(opc), "internet").nth(n)
}

/// The core of a test.
pub struct TestCore {
    /// What crossed the service-based interface.
    pub bodies: Arc<BodyRecord>,
    /// The core.
    pub core: Core,
    /// Distinguishes the addresses of tests that run at the same time in one process.
    number: u8,
    folder: PathBuf,
    /// With a switch, the namespace that it is in.
    wires: Option<Wires>,
    config: Config,
    environment: Environment,
}

static NEXT: AtomicU8 = AtomicU8::new(1);

impl TestCore {
    /// Starts a core with its subscribers. `change` has the configuration before. The binding is
    /// the test's own choice unless `MARTLET_TEST_SBI` names another for all tests.
    pub async fn start(sbi: Sbi, change: impl FnOnce(&mut Config)) -> Result<TestCore> {
        let sbi = match std::env::var("MARTLET_TEST_SBI").as_deref() {
            Ok("local") => Sbi::Local,
            Ok("fabric") => Sbi::Fabric,
            Ok("http") => Sbi::Http,
            Ok(other) => anyhow::bail!("MARTLET_TEST_SBI is local, fabric or http, not {other:?}"),
            Err(_) => sbi,
        };
        TestCore::start_on(sbi, change).await
    }

    /// The same on this binding and no other: for tests of what it puts on the wire.
    pub async fn start_on(sbi: Sbi, change: impl FnOnce(&mut Config)) -> Result<TestCore> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("martlet-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("martlet.db");
        let all: Option<Vec<_>> = (1..=SUBSCRIBERS).map(subscriber).collect();
        Store::open(&path)?.add(&all.context("IMSIs")?, false)?;

        let mut config = Config::load(None)?;
        config.udr.path = path.display().to_string();
        // Tests write into the file from the core's own thread, which would wait for itself.
        config.udr.gather_ms = 0;
        config.fabric.socket = Some(folder.join("sbi.sock"));
        if kernel_sctp() {
            config.amf.n2.stack = martlet_amf::SctpStackConfig::Kernel;
        }
        config.amf.n2.bind = vec![[127, 1, number, 5].into()];
        choose_datapath(&mut config.upf)?;
        change(&mut config);
        let switched = config.upf.datapath == DatapathChoice::Switch;
        let wires = switched.then(|| Wires::lay(&mut config.upf, number)).transpose()?;
        let (trigger, shutdown) = Shutdown::new();
        let bodies = Arc::new(BodyRecord::default());
        let mut environment = secure_environment(&config, "core", sbi, false, shutdown)?;
        environment.taps.push(bodies.clone());
        let core = Core::start(&config, sbi, &environment, trigger).await?;
        let started = TestCore { bodies, core, number, folder, wires, config, environment };
        started.wait_until_associated().await?;
        if started.wires.is_some() {
            started.wait_for_the_switch().await?;
        }
        Ok(started)
    }

    /// The SMF needs its UPF before a session can come up.
    async fn wait_until_associated(&self) -> Result<()> {
        if self.config.sbi.elsewhere.iter().any(|name| name == "smf") {
            return Ok(());
        }
        let status = self.core.status_source();
        let up = || status().to_string().contains("\"associated\":true").then_some(());
        eventually("the SMF is associated with the UPF", up, || status().to_string()).await
    }

    /// A switch is a process that takes its time to start, on a busy machine more than other things
    /// here do.
    async fn wait_for_the_switch(&self) -> Result<()> {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !self.status("upf").to_string().contains("\"connected\":true") {
            anyhow::ensure!(std::time::Instant::now() < until, "no switch: {}", self.status("upf"));
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What its functions share.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Starts another AMF beside its own.
    ///
    /// # Errors
    /// It does not start.
    pub async fn second_amf(&self, change: impl FnOnce(&mut Config)) -> Result<SecondAmf> {
        SecondAmf::start(self, self.number, change).await
    }

    /// A gNB's configuration; it fits the core's.
    pub fn gnb_config(&self, number: u8) -> GnbConfig {
        let plmn = martlet_security::Plmn::new("001", "01").expect("a network");
        let amf = format!("127.1.{}.5:38412", self.number).parse().expect("an address");
        let mut config = GnbConfig::new(&format!("gnb-{number}"), plmn, number.into(), amf);
        let local = [127, 1, self.number, 20 + number].into();
        if kernel_sctp() {
            config.sctp = StackChoice::Kernel;
        }
        config.n2_local = Some(local);
        config.n3 = Some(if self.wires.is_some() { Wires::gnb(number).into() } else { local });
        config
    }

    /// A gNB that is set up.
    ///
    /// # Errors
    /// The core refuses it, or does not answer.
    pub async fn gnb(&self, number: u8) -> Result<Gnb> {
        Ok(Gnb::connect(self.gnb_config(number)).await?)
    }

    /// The subscriber of a number, from 1, with a subscription of its own; before its phone is
    /// heard of.
    ///
    /// # Errors
    /// The subscription is wrong.
    pub fn subscribe(&self, n: u64, change: impl FnOnce(&mut Subscriber)) -> Result<()> {
        let mut subscriber = subscriber(n).context("an IMSI")?;
        change(&mut subscriber);
        Ok(Store::open(&self.folder.join("martlet.db"))?.add(&[subscriber], true)?)
    }

    /// Takes the subscriber of a number away.
    ///
    /// # Errors
    /// There is none.
    pub fn unsubscribe(&self, n: u64) -> Result<()> {
        let supi = subscriber(n).context("an IMSI")?.supi;
        anyhow::ensure!(
            Store::open(&self.folder.join("martlet.db"))?.remove(&supi)?,
            "there is no {supi}"
        );
        Ok(())
    }

    /// The last sequence number that the home network used for the subscriber of a number.
    ///
    /// # Errors
    /// There is none.
    pub fn store_sqn(&self, n: u64) -> Result<u64> {
        let supi = subscriber(n).context("an IMSI")?.supi;
        let found = Store::open(&self.folder.join("martlet.db"))?.subscriber(&supi)?;
        Ok(found.with_context(|| format!("there is no {supi}"))?.sqn)
    }

    /// Hands a function its section of the configuration anew, as SIGHUP does.
    ///
    /// # Errors
    /// It does not take it.
    pub fn reload<C: 'static>(&self, name: &str, section: C) -> Result<()> {
        self.core
            .reload(name, section)
            .with_context(|| format!("{name} takes its configuration at its start alone"))?;
        Ok(())
    }

    /// The n-th subscriber's phone, from 1.
    pub fn phone(&self, n: u64) -> UeConfig {
        let (key, opc) = subscriber_keys();
        let imsi = format!("{:015}", 1_010_000_000_000u64 + n);
        UeConfig::new(&imsi, 2, key, OperatorKey::Opc(opc)).expect("a phone")
    }

    /// The n-th subscriber's phone, registered, with a session and its address.
    ///
    /// # Errors
    /// The core refuses it, or does not answer.
    pub async fn phone_with_session(&self, gnb: &Gnb, n: u64) -> Result<(Ue, Ipv4Addr)> {
        let phone = gnb.new_ue(self.phone(n))?;
        let address = self.register_with_session(&phone).await?;
        Ok((phone, address))
    }

    /// Registers a phone and gives it a session; its address.
    ///
    /// # Errors
    /// As [`TestCore::phone_with_session`].
    pub async fn register_with_session(&self, phone: &Ue) -> Result<Ipv4Addr> {
        phone.register().await?;
        let session = phone.establish_pdu_session(internet()).await?;
        session.ipv4.context("an IPv4 session has an address")
    }

    /// A registered phone gets a session, uses it, and leaves.
    ///
    /// # Errors
    /// Any of that does not work.
    pub async fn use_session_and_leave(&self, phone: &Ue) -> Result<()> {
        let session = phone.establish_pdu_session(internet()).await?;
        reaches(phone, session.psi, GATEWAY).await?;
        Ok(phone.deregister().await?)
    }

    /// The n-th subscriber's phone comes, gets a session, uses it, and leaves.
    ///
    /// # Errors
    /// Any of that does not work.
    pub async fn use_session_and_leave_as(&self, gnb: &Gnb, n: u64) -> Result<()> {
        let phone = gnb.new_ue(self.phone(n))?;
        phone.register().await?;
        self.use_session_and_leave(&phone).await
    }

    /// What a function answers to a question, as `martlet` commands ask it.
    ///
    /// # Errors
    /// No function has an answer, or it is a refusal.
    pub async fn ask(&self, question: &str) -> Result<serde_json::Value> {
        let sources = self.core.ask_sources();
        let answer = sources
            .iter()
            .find_map(|ask| ask(question))
            .context("nobody answers such questions")?;
        answer.await.map_err(|problem| anyhow::anyhow!("{problem}"))
    }

    /// Packets from phones that the core's UPF has forwarded, on whichever path.
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

    /// What each function says of itself, by its name.
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

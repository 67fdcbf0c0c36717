//! The core under test, and what the cases need of it.
use super::case::{Case, Unmet};
use super::raw_gnb::RawGnb;
use super::raw_ue::RawUe;
use super::report::{CaseReport, Report, Verdict};
use crate::gnb::{Gnb, GnbConfig, Ue, UeError};
use crate::ue::{PduSession, PduSessionRequest, UeConfig};
use martlet_security::identity::Imsi;
use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The core under test.
#[derive(Debug, Clone)]
pub struct BenchConfig {
    /// The first gNB: PLMN, TAC, slices, the AMF's address, local addresses.
    pub gnb: GnbConfig,
    /// Local address of the second gNB, for N2 and N3. Without one, handovers are not run.
    pub second: Option<IpAddr>,
    /// The UE of the first subscriber. All subscribers have the same K and OPc.
    pub ue: UeConfig,
    /// Number of subscribers, with consecutive IMSIs.
    pub subscribers: u64,
    /// The data network that they are subscribed to.
    pub dnn: String,
    /// An address that answers ICMP echo requests through a session.
    pub ping: Option<std::net::Ipv4Addr>,
    /// A command that sends downlink data to the UE address that replaces `{address}` in it.
    pub downlink: Option<String>,
    /// How long the core has to be silent where it must not answer.
    pub silence: Duration,
    /// Time limit of a case.
    pub limit: Duration,
}

/// RAN node identities of gNBs whose messages a case writes itself begin this far above the first
/// gNB's.
const RAW_GNBS: u32 = 0x100;

/// The state of a run.
pub struct Bench {
    config: BenchConfig,
    gnbs: RefCell<[Option<Gnb>; 2]>,
    next_subscriber: Cell<u64>,
    next_raw_gnb: Cell<u32>,
}

impl Bench {
    /// A bench whose gNBs are not connected yet.
    pub fn new(config: BenchConfig) -> Bench {
        Bench {
            config,
            gnbs: RefCell::default(),
            next_subscriber: Cell::new(0),
            next_raw_gnb: Cell::new(0),
        }
    }

    /// The configuration.
    pub fn config(&self) -> &BenchConfig {
        &self.config
    }

    /// The configuration of the UE of another subscriber than the last one's.
    pub(super) fn ue_config(&self) -> Result<UeConfig, Unmet> {
        let n = self.next_subscriber.get();
        self.next_subscriber.set((n + 1) % self.config.subscribers.max(1));
        let first: u64 = self.config.ue.imsi.as_str().parse().map_err(|_| no_imsi())?;
        let width = self.config.ue.imsi.as_str().len();
        let imsi = Imsi::new(&format!("{:0width$}", first + n)).map_err(|_| no_imsi())?;
        Ok(UeConfig { imsi, ..self.config.ue.clone() })
    }

    /// The first gNB (0) or the second one, connected.
    pub(super) async fn gnb(&self, index: usize) -> Result<Gnb, Unmet> {
        let known = self.gnbs.borrow()[index].clone();
        let gnb = match known {
            Some(gnb) if !is_lost(&gnb).await => return Ok(gnb),
            Some(gnb) => gnb.connect_again().await?,
            None => Gnb::connect(self.gnb_config(index)?).await?,
        };
        self.gnbs.borrow_mut()[index] = Some(gnb.clone());
        Ok(gnb)
    }

    fn gnb_config(&self, index: usize) -> Result<GnbConfig, Unmet> {
        let mut config = self.config.gnb.clone();
        if index > 0 {
            let local = self.config.second.ok_or(Unmet::NotRun("a second --local address"))?;
            config.name = format!("{}-2", config.name);
            config.gnb_id += 1;
            config.n2_local = Some(local);
            config.n3 = config.n3.map(|_| local);
        }
        Ok(config)
    }

    /// A gNB that sends only what the case gives it, without NG setup.
    pub(super) async fn raw_gnb(&self) -> Result<RawGnb, Unmet> {
        let n = self.next_raw_gnb.get();
        self.next_raw_gnb.set(n + 1);
        let mut config = self.config.gnb.clone();
        config.name = format!("{}-raw-{n}", config.name);
        config.gnb_id += RAW_GNBS + n;
        self.raw_gnb_of(config).await
    }

    /// [`Bench::raw_gnb`] with this configuration.
    pub(super) async fn raw_gnb_of(&self, config: GnbConfig) -> Result<RawGnb, Unmet> {
        RawGnb::connect(config, self.config.silence).await
    }

    /// A gNB that sends only what the case gives it, after NG setup.
    pub(super) async fn raw_gnb_after_setup(&self) -> Result<RawGnb, Unmet> {
        let gnb = self.raw_gnb().await?;
        gnb.set_up().await?;
        Ok(gnb)
    }

    /// A UE whose messages the case sees.
    pub(super) fn raw_ue(&self) -> Result<RawUe, Unmet> {
        RawUe::new(self.ue_config()?, self.config.gnb.plmn)
    }

    /// A UE at the first gNB.
    pub(super) async fn ue(&self) -> Result<Ue, Unmet> {
        Ok(self.gnb(0).await?.new_ue(self.ue_config()?)?)
    }

    /// A registered UE at the first gNB.
    pub(super) async fn registered(&self) -> Result<Ue, Unmet> {
        let ue = self.ue().await?;
        ue.register().await?;
        Ok(ue)
    }

    /// A registered UE with a session.
    pub(super) async fn with_session(&self) -> Result<(Ue, PduSession), Unmet> {
        let ue = self.registered().await?;
        let session = ue.establish_pdu_session(self.session()).await?;
        Ok((ue, session))
    }

    /// A session with the data network.
    pub(super) fn session(&self) -> PduSessionRequest {
        PduSessionRequest { dnn: Some(self.config.dnn.clone()), ..PduSessionRequest::default() }
    }

    /// Sends an ICMP echo request through a session and receives the answer.
    pub(super) async fn ping(&self, ue: &Ue, session: &PduSession) -> Result<(), Unmet> {
        const NONE: Unmet = Unmet::NotRun("an address for --ping");
        let to = self.config.ping.ok_or(NONE)?;
        if self.config.gnb.n3.is_none() {
            return Err(Unmet::NotRun("an N3 address (--local with --ping)"));
        }
        let Some(from) = session.ipv4 else {
            return Err(Unmet::Failed("the session has no IPv4 address".into()));
        };
        // The first packet may be lost while the path is set up.
        for _ in 0..3 {
            let limit = Duration::from_secs(2);
            match crate::scenario::ping(ue, session.psi, from, to, 1, limit).await {
                Ok(()) => return Ok(()),
                Err(UeError::Timeout(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Unmet::Failed(format!("no echo reply of {to}")))
    }

    /// Starts the command that sends downlink data to a UE.
    pub(super) fn send_downlink(&self, session: &PduSession) -> Result<(), Unmet> {
        let command = self.config.downlink.as_ref().ok_or(Unmet::NotRun("--downlink"))?;
        let address = session.ipv4.map(|address| address.to_string()).unwrap_or_default();
        let command = command.replace("{address}", &address);
        let mut shell = tokio::process::Command::new("sh");
        shell.args(["-c", &command]).kill_on_drop(false);
        shell.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
        shell.stderr(std::process::Stdio::null());
        let mut child = shell.spawn()?;
        tokio::spawn(async move { child.wait().await });
        Ok(())
    }
}

fn no_imsi() -> Unmet {
    Unmet::Failed("--imsi and --subscribers go beyond 15 digits".into())
}

async fn is_lost(gnb: &Gnb) -> bool {
    tokio::time::timeout(Duration::ZERO, gnb.lost()).await.is_ok()
}

/// Plays cases one after the other. `progress` is called before each.
pub async fn run(config: BenchConfig, cases: &[&Case], mut progress: impl FnMut(&Case)) -> Report {
    let limit = config.limit;
    let bench = Bench::new(config);
    let mut results = Vec::new();
    for case in cases {
        progress(case);
        let start = Instant::now();
        let outcome = tokio::time::timeout(limit, (case.run)(&bench)).await;
        let verdict = match outcome {
            Ok(Ok(())) => Verdict::Passed,
            Ok(Err(Unmet::Failed(received))) => Verdict::Failed { received },
            Ok(Err(Unmet::NotRun(needs))) => Verdict::NotRun { needs: needs.to_owned() },
            Err(_) => Verdict::Failed { received: format!("no end within {limit:?}") },
        };
        results.push(CaseReport::new(case, verdict, start.elapsed()));
    }
    let gnbs = bench.gnbs.take();
    for gnb in gnbs.into_iter().flatten() {
        gnb.shutdown().await;
    }
    Report { amf: bench.config.gnb.amf, cases: results }
}

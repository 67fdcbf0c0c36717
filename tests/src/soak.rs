//! Soak test: UEs perform random actions, several at a time; the UE, its gNB and the core must
//! agree on the sessions after each round.
//!
//! UEs and core use the specification's timers. No message is lost between them, so no timer has a
//! reason to expire: an action that takes as long as the shortest timer has lost a message, even if
//! it succeeds in the end. Durations are measured in [`RunTime`], not in wall-clock time, so that a
//! busy machine does not make the test fail.
use crate::{GATEWAY, TestCore, internet, reaches};
use anyhow::{Context, Result, bail, ensure};
use martlet_ran::ue::{MmState, NasTimers, PduSessionRequest, ServicePurpose};
use martlet_ran::{Gnb, GnbConfig, Ue, UeError, UeStatus};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Actions that take longer are logged.
const SLOW: Duration = Duration::from_millis(900);
/// Resolution of [`RunTime`].
const TICK: Duration = Duration::from_millis(100);
/// Limit of one procedure: longer than five retransmissions by T3580 or T3582 (TS 24.501, table
/// 10.3.1).
const PROCEDURE_TIMEOUT: Duration = Duration::from_secs(120);

/// Parameters of a soak test.
#[derive(Debug, Clone)]
pub struct Soak {
    /// The seed determines the actions; their outcome also depends on the machine's timing.
    pub seed: u64,
    /// How long UEs start new actions.
    pub duration: Duration,
    /// Concurrent UEs.
    pub ues: u64,
    /// gNBs, at least one.
    pub gnbs: u8,
}

/// An action of a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Register,
    Establish,
    EstablishAs(u8),
    Release(u8),
    Idle,
    Service,
    Data(u8),
    Ping(u8),
    Deregister,
    SwitchOff,
}

impl Action {
    /// Most actions fit the UE's state; about one in ten does not.
    fn random(random: &mut StdRng, ue: &UeStatus) -> Action {
        if ue.state != MmState::Registered && random.random_range(0..10) > 0 {
            return Action::Register;
        }
        let psis: Vec<u8> = ue.sessions.iter().map(|session| session.psi).collect();
        let psi = match psis.is_empty() || random.random_range(0..10) == 0 {
            true => random.random_range(1..=3),
            false => psis[random.random_range(0..psis.len())],
        };
        match random.random_range(0..100) {
            0..4 => Action::Register,
            4..24 => Action::Establish,
            24..30 => Action::EstablishAs(psi),
            30..45 => Action::Release(psi),
            45..60 => Action::Idle,
            60..68 => Action::Service,
            68..76 => Action::Data(psi),
            76..94 => Action::Ping(psi),
            94..97 => Action::Deregister,
            _ => Action::SwitchOff,
        }
    }

    async fn perform(self, ue: &Ue) -> Result<(), UeError> {
        match self {
            Action::Register => ue.register().await.map(|_| ()),
            Action::Establish => ue.establish_pdu_session(internet()).await.map(|_| ()),
            Action::EstablishAs(psi) => {
                let request = PduSessionRequest { psi: Some(psi), ..internet() };
                ue.establish_pdu_session(request).await.map(|_| ())
            }
            Action::Release(psi) => ue.release_pdu_session(psi).await,
            Action::Idle => ue.release_to_idle().await,
            Action::Service => ue.service_request().await,
            Action::Data(psi) => ue.service_request_for(ServicePurpose::Data, &[psi]).await,
            Action::Ping(psi) => {
                let sessions = ue.status().await?.sessions;
                let address = sessions
                    .iter()
                    .find(|session| session.psi == psi)
                    .and_then(|session| session.ipv4);
                match address {
                    Some(from) => ue.send_ip(psi, crate::ping(from, GATEWAY, 7)).await,
                    None => Ok(()),
                }
            }
            Action::Deregister => ue.deregister().await,
            Action::SwitchOff => ue.switch_off().await,
        }
    }
}

/// Counters of a soak test.
#[derive(Debug, Default)]
pub struct SoakCounters {
    /// Actions performed, rejected ones included.
    pub actions: AtomicU64,
    /// Actions that the UE or the network rejected, such as the release of an unknown session.
    pub rejected: AtomicU64,
    /// Checks that found UE and core in agreement.
    pub agreements: AtomicU64,
}

impl Soak {
    /// Runs the test.
    ///
    /// # Errors
    /// A procedure does not end, or takes as long as the timer of a peer that waits for a message.
    /// A session of a UE carries no packets. State is left at the end. The error names the UE and
    /// its seed.
    pub async fn run(&self, core: &TestCore) -> Result<SoakCounters> {
        let mut gnbs = Vec::new();
        for number in 1..=self.gnbs {
            let config =
                GnbConfig { procedure_timeout: PROCEDURE_TIMEOUT, ..core.gnb_config(number) };
            gnbs.push(Gnb::connect(config).await?);
        }
        let (counters, clock) = (SoakCounters::default(), RunTime::default());
        let limit = shortest_timer(core);
        let ues = (1..=self.ues).map(|n| {
            let (gnbs, counters, clock) = (&gnbs, &counters, &clock);
            async move {
                let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(n);
                let random = StdRng::seed_from_u64(seed);
                let until = Instant::now() + self.duration;
                let outcome =
                    UeLoop { core, gnbs, counters, clock, limit, n, random, until }.run().await;
                outcome.with_context(|| format!("UE {n} of seed {}", self.seed))
            }
        });
        tokio::select! {
            done = futures_util::future::try_join_all(ues) => done?,
            never = clock.run() => match never {},
        };
        core.until_all_released().await?;
        Ok(counters)
    }
}

/// 80 % of the shortest timer after which the UE or the core retransmits or gives up. The margin
/// covers ticks that are longer than [`TICK`].
fn shortest_timer(core: &TestCore) -> Duration {
    let (ue, amf, smf) = (NasTimers::default(), &core.config().amf.timers, &core.config().smf);
    let core = [
        amf.t3522_ms,
        amf.t3550_ms,
        amf.t3560_ms,
        amf.t3570_ms,
        amf.ngap_ms,
        smf.t3591_ms,
        smf.t3592_ms,
    ];
    let core = core.map(|ms| Duration::from_millis(ms.into()));
    let ue = [ue.t3510, ue.t3517, ue.t3521, ue.t3580, ue.t3582];
    core.into_iter().chain(ue).min().unwrap_or_default() * 4 / 5
}

/// A clock that counts the ticks in which the test's thread ran. It is slower than the wall clock
/// on a machine that is busy or was suspended.
#[derive(Default)]
struct RunTime(AtomicU64);

impl RunTime {
    async fn run(&self) -> Infallible {
        loop {
            tokio::time::sleep(TICK).await;
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Time since a number of ticks.
    fn since(&self, ticks: u64) -> Duration {
        TICK * (self.ticks() - ticks) as u32
    }

    fn ticks(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One UE and its random actions.
struct UeLoop<'a> {
    core: &'a TestCore,
    gnbs: &'a [Gnb],
    counters: &'a SoakCounters,
    clock: &'a RunTime,
    limit: Duration,
    n: u64,
    random: StdRng,
    until: Instant,
}

impl UeLoop<'_> {
    async fn run(mut self) -> Result<()> {
        let mut ue = self.new_ue()?;
        let mut history: Vec<Vec<Action>> = Vec::new();
        while Instant::now() < self.until {
            self.round(&ue, &mut history).await?;
            if self.random.random_range(0..6) == 0 {
                self.check(&ue).await.with_context(|| format!("after {history:?}"))?;
            }
            match self.random.random_range(0..40) {
                // It moves to another gNB while it is idle.
                0..2 => {
                    let _ = ue.release_to_idle().await;
                    let gnb = self.random.random_range(0..self.gnbs.len());
                    let _ = ue.move_to(&self.gnbs[gnb]).await;
                }
                // It disappears without a message.
                2 => {
                    drop(ue);
                    ue = self.new_ue()?;
                }
                // It loses its security context and 5G-GUTI.
                3 => ue.forget_registration().await.context("to forget the registration")?,
                _ => {}
            }
        }
        self.check(&ue).await.with_context(|| format!("at the end, after {history:?}"))?;
        if ue.status().await?.state != MmState::Registered {
            // A UE that disappeared may have left sessions: a registration releases them.
            ue.register().await.context("the last registration")?;
        }
        ue.deregister().await.context("the last deregistration")
    }

    /// Performs one to three actions at the same time.
    async fn round(&mut self, ue: &Ue, history: &mut Vec<Vec<Action>>) -> Result<()> {
        let concurrent = self.random.random_range(1..=3);
        let status = ue.status().await?;
        let actions: Vec<Action> =
            (0..concurrent).map(|_| Action::random(&mut self.random, &status)).collect();
        history.push(actions.clone());
        *history = history.split_off(history.len().saturating_sub(8));
        let delays: Vec<u64> =
            actions.iter().map(|_| self.random.random_range(0..4) * 500).collect();
        let performed = actions.iter().zip(delays).map(|(action, delay)| {
            let (actions, clock) = (&actions, self.clock);
            async move {
                tokio::time::sleep(Duration::from_micros(delay)).await;
                let (started, ticks) = (Instant::now(), clock.ticks());
                let outcome = action.perform(ue).await;
                let elapsed = started.elapsed();
                if elapsed > SLOW {
                    let supi = ue.supi();
                    tracing::info!(supi, ?action, ?actions, ?elapsed, ?outcome, "slow action");
                }
                (*action, outcome, clock.since(ticks))
            }
        });
        for (action, outcome, elapsed) in futures_util::future::join_all(performed).await {
            self.counters.actions.fetch_add(1, Ordering::Relaxed);
            if elapsed >= self.limit {
                bail!(
                    "{action:?} took {elapsed:?}: a message was lost; it ended with {outcome:?}; \
                     before: {history:?}"
                );
            }
            match outcome {
                Ok(()) => {}
                Err(UeError::Timeout(limit)) => {
                    bail!("{action:?} did not end in {limit:?}; before: {history:?}")
                }
                Err(UeError::Gone | UeError::GnbLost(_)) => {
                    bail!("{action:?}: the UE or its gNB has stopped; before: {history:?}")
                }
                Err(_) => {
                    self.counters.rejected.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    fn new_ue(&mut self) -> Result<Ue> {
        let gnb = self.random.random_range(0..self.gnbs.len());
        Ok(self.gnbs[gnb].new_ue(self.core.ue_config(self.n))?)
    }

    /// Checks that each session of the UE carries packets and that the core has the same sessions.
    async fn check(&self, ue: &Ue) -> Result<()> {
        if ue.status().await?.state != MmState::Registered {
            return Ok(());
        }
        let psis: Vec<u8> = ue.status().await?.sessions.iter().map(|session| session.psi).collect();
        let ticks = self.clock.ticks();
        ue.service_request_for(ServicePurpose::Data, &psis)
            .await
            .context("service request for all sessions")?;
        let elapsed = self.clock.since(ticks);
        ensure!(
            elapsed < self.limit,
            "service request for all sessions took {elapsed:?}: a message was lost"
        );
        let status = ue.status().await?;
        for session in &status.sessions {
            reaches(ue, session.psi, GATEWAY)
                .await
                .with_context(|| format!("session {}", session.psi))?;
        }
        ensure!(status.connected, "the UE is idle after a service request");
        let at_ue: BTreeMap<u8, String> =
            status.sessions.iter().filter_map(|s| Some((s.psi, s.ipv4?.to_string()))).collect();
        self.counters.agreements.fetch_add(1, Ordering::Relaxed);
        let supi = ue.supi().to_string();
        let at_amf = || -> Option<Vec<u8>> {
            let amf = self.core.status("amf");
            let ues = amf["ues"]["first"].as_array()?;
            let ue = ues.iter().find(|ue| ue["supi"] == supi.as_str())?;
            let psis = ue["sessions"].as_array()?.iter();
            Some(psis.filter_map(|psi| Some(psi.as_u64()? as u8)).collect())
        };
        let same = || (at_amf()? == at_ue.keys().copied().collect::<Vec<_>>()).then_some(());
        crate::eventually("AMF and UE have the same sessions", same, || {
            format!("AMF {:?}, UE {at_ue:?}", at_amf())
        })
        .await
    }
}

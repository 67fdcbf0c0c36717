//! Phones that do what comes to their minds, several things at a time, for as long as one likes;
//! and after each while the question whether phone, gNB and core still agree.
//!
//! Phones and core have the specification's timers, so that a busy machine makes nobody give up.
//! Nothing is lost between them, so no timer has a reason to expire: a wish that takes as long as
//! the shortest of them has lost a message, though it may succeed in the end. What "as long" is, is
//! told by the beats that the machine lets the soak have, and not by the clock on the wall.
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

/// What takes longer is told in the log.
const SLOW: Duration = Duration::from_millis(900);
/// Between two beats, where nothing else is to be done.
const BEAT: Duration = Duration::from_millis(100);
/// How long a phone waits for the end of a wish at all: for longer than it says a message again,
/// T3580 and T3582 five times (TS 24.501, table 10.3.1).
const NEVER: Duration = Duration::from_secs(120);

/// How a soak goes.
#[derive(Debug, Clone)]
pub struct Soak {
    /// The same seed has the phones wish the same things; what becomes of it is up to the
    /// machine's timing as well.
    pub seed: u64,
    /// How long phones go on.
    pub duration: Duration,
    /// Phones at a time.
    pub phones: u64,
    /// gNBs, at least one.
    pub gnbs: u8,
}

/// What a phone wishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
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

impl Wish {
    /// Mostly something that makes sense for a phone as it is; now and then what no phone would do.
    fn any(random: &mut StdRng, phone: &UeStatus) -> Wish {
        if phone.state != MmState::Registered && random.random_range(0..10) > 0 {
            return Wish::Register;
        }
        let psis: Vec<u8> = phone.sessions.iter().map(|session| session.psi).collect();
        let psi = match psis.is_empty() || random.random_range(0..10) == 0 {
            true => random.random_range(1..=3),
            false => psis[random.random_range(0..psis.len())],
        };
        match random.random_range(0..100) {
            0..4 => Wish::Register,
            4..24 => Wish::Establish,
            24..30 => Wish::EstablishAs(psi),
            30..45 => Wish::Release(psi),
            45..60 => Wish::Idle,
            60..68 => Wish::Service,
            68..76 => Wish::Data(psi),
            76..94 => Wish::Ping(psi),
            94..97 => Wish::Deregister,
            _ => Wish::SwitchOff,
        }
    }

    async fn fulfil(self, phone: &Ue) -> Result<(), UeError> {
        match self {
            Wish::Register => phone.register().await.map(|_| ()),
            Wish::Establish => phone.establish_pdu_session(internet()).await.map(|_| ()),
            Wish::EstablishAs(psi) => {
                let request = PduSessionRequest { psi: Some(psi), ..internet() };
                phone.establish_pdu_session(request).await.map(|_| ())
            }
            Wish::Release(psi) => phone.release_pdu_session(psi).await,
            Wish::Idle => phone.release_to_idle().await,
            Wish::Service => phone.service_request().await,
            Wish::Data(psi) => phone.service_request_for(ServicePurpose::Data, &[psi]).await,
            Wish::Ping(psi) => {
                let sessions = phone.status().await?.sessions;
                let address = sessions
                    .iter()
                    .find(|session| session.psi == psi)
                    .and_then(|session| session.ipv4);
                match address {
                    Some(from) => phone.send_ip(psi, crate::ping(from, GATEWAY, 7)).await,
                    None => Ok(()),
                }
            }
            Wish::Deregister => phone.deregister().await,
            Wish::SwitchOff => phone.switch_off().await,
        }
    }
}

/// What a soak has seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// Wishes, those that the phone or the network refused among them.
    pub wishes: AtomicU64,
    /// Refused wishes: a session that there is not cannot be released, for example.
    pub refused: AtomicU64,
    /// Times at which phone and core were found to agree.
    pub agreements: AtomicU64,
}

impl Soak {
    /// Runs it.
    ///
    /// # Errors
    /// A procedure that never ends, or takes as long as the timer of somebody who waits for a
    /// message; a session that the phone has and that does not carry its packets; something
    /// that is left behind in the end. The error names the phone and its seed.
    pub async fn run(&self, core: &TestCore) -> Result<Seen> {
        let mut gnbs = Vec::new();
        for number in 1..=self.gnbs {
            let config = GnbConfig { procedure_timeout: NEVER, ..core.gnb_config(number) };
            gnbs.push(Gnb::connect(config).await?);
        }
        let (seen, beats) = (Seen::default(), Beats::default());
        let patience = before_any_timer(core);
        let phones = (1..=self.phones).map(|n| {
            let (gnbs, seen, beats) = (&gnbs, &seen, &beats);
            async move {
                let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(n);
                let random = StdRng::seed_from_u64(seed);
                let until = Instant::now() + self.duration;
                let outcome =
                    Life { core, gnbs, seen, beats, patience, n, random, until }.run().await;
                outcome.with_context(|| format!("phone {n} of seed {}", self.seed))
            }
        });
        tokio::select! {
            lived = futures_util::future::try_join_all(phones) => lived?,
            never = beats.go_on() => match never {},
        };
        core.until_nothing_is_left().await?;
        Ok(seen)
    }
}

/// Before how long phone or core say again, or give up, what was not answered: most of the shortest
/// of the timers that they have, as beats take a little longer than they should.
fn before_any_timer(core: &TestCore) -> Duration {
    let (phone, amf, smf) = (NasTimers::default(), &core.config().amf.timers, &core.config().smf);
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
    let phone = [phone.t3510, phone.t3517, phone.t3521, phone.t3580, phone.t3582];
    core.into_iter().chain(phone).min().unwrap_or_default() * 4 / 5
}

/// How often the machine let us come to something: on one that is busy, or stood still, fewer times
/// than the clock says.
#[derive(Default)]
struct Beats(AtomicU64);

impl Beats {
    async fn go_on(&self) -> Infallible {
        loop {
            tokio::time::sleep(BEAT).await;
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How long it is since there were so many.
    fn since(&self, before: u64) -> Duration {
        BEAT * (self.now() - before) as u32
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A phone's life.
struct Life<'a> {
    core: &'a TestCore,
    gnbs: &'a [Gnb],
    seen: &'a Seen,
    beats: &'a Beats,
    patience: Duration,
    n: u64,
    random: StdRng,
    until: Instant,
}

impl Life<'_> {
    async fn run(mut self) -> Result<()> {
        let mut phone = self.new_phone()?;
        let mut last: Vec<Vec<Wish>> = Vec::new();
        while Instant::now() < self.until {
            let at_once = self.random.random_range(1..=3);
            let status = phone.status().await?;
            let wishes: Vec<Wish> =
                (0..at_once).map(|_| Wish::any(&mut self.random, &status)).collect();
            last.push(wishes.clone());
            last = last.split_off(last.len().saturating_sub(8));
            let gaps: Vec<u64> =
                wishes.iter().map(|_| self.random.random_range(0..4) * 500).collect();
            let fulfilled = wishes.iter().zip(gaps).map(|(wish, gap)| {
                let (phone, wishes, beats) = (&phone, &wishes, self.beats);
                async move {
                    tokio::time::sleep(Duration::from_micros(gap)).await;
                    let (started, beat) = (Instant::now(), beats.now());
                    let outcome = wish.fulfil(phone).await;
                    if started.elapsed() > SLOW {
                        tracing::info!(supi = phone.supi(), ?wish, among = ?wishes, took = ?started.elapsed(), ?outcome, "slow");
                    }
                    (*wish, outcome, beats.since(beat))
                }
            });
            for (wish, outcome, took) in futures_util::future::join_all(fulfilled).await {
                self.seen.wishes.fetch_add(1, Ordering::Relaxed);
                if took >= self.patience {
                    bail!(
                        "{wish:?} took {took:?}: a message was lost; it ended with {outcome:?}; \
                         before: {last:?}"
                    );
                }
                match outcome {
                    Ok(()) => {}
                    // What never ends is an error whatever was wished.
                    Err(UeError::Timeout(limit)) => {
                        bail!("{wish:?} did not end in {limit:?}; before: {last:?}")
                    }
                    Err(UeError::Gone | UeError::GnbLost(_)) => {
                        bail!("{wish:?}: phone or gNB are gone; before: {last:?}")
                    }
                    Err(_) => {
                        self.seen.refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            if self.random.random_range(0..6) == 0 {
                self.agrees(&phone).await.with_context(|| format!("after {last:?}"))?;
            }
            match self.random.random_range(0..40) {
                // It goes elsewhere while it is idle.
                0..2 => {
                    let _ = phone.release_to_idle().await;
                    let gnb = self.random.random_range(0..self.gnbs.len());
                    let _ = phone.move_to(&self.gnbs[gnb]).await;
                }
                // It falls into the water.
                2 => {
                    drop(phone);
                    phone = self.new_phone()?;
                }
                // Its memory is wiped.
                3 => phone.forget_registration().await.context("to forget")?,
                _ => {}
            }
        }
        self.agrees(&phone).await.with_context(|| format!("in the end, after {last:?}"))?;
        if phone.status().await?.state == MmState::Registered {
            phone.deregister().await.context("the last deregistration")?;
        } else {
            // A phone that came and vanished may have left sessions: it says that it is here, and
            // leaves.
            phone.register().await.context("the last registration")?;
            phone.deregister().await.context("the last deregistration")?;
        }
        Ok(())
    }

    fn new_phone(&mut self) -> Result<Ue> {
        let gnb = self.random.random_range(0..self.gnbs.len());
        let phone = self.core.phone(self.n);
        Ok(self.gnbs[gnb].new_ue(phone)?)
    }

    /// Every session that the phone has carries packets, and the core has no others of it.
    async fn agrees(&self, phone: &Ue) -> Result<()> {
        if phone.status().await?.state != MmState::Registered {
            return Ok(());
        }
        // It asks for all of them, as a phone does that has data for each.
        let psis: Vec<u8> =
            phone.status().await?.sessions.iter().map(|session| session.psi).collect();
        let beat = self.beats.now();
        phone
            .service_request_for(ServicePurpose::Data, &psis)
            .await
            .context("service for all sessions")?;
        let took = self.beats.since(beat);
        ensure!(took < self.patience, "service for all sessions took {took:?}: a message was lost");
        let status = phone.status().await?;
        for session in &status.sessions {
            reaches(phone, session.psi, GATEWAY)
                .await
                .with_context(|| format!("session {}", session.psi))?;
        }
        ensure!(status.connected, "a phone that is served is connected");
        let phones: BTreeMap<u8, String> =
            status.sessions.iter().filter_map(|s| Some((s.psi, s.ipv4?.to_string()))).collect();
        self.seen.agreements.fetch_add(1, Ordering::Relaxed);
        // What the core has of it is compared by the AMF's list, which names the UE.
        let supi = phone.supi().to_string();
        let of_core = || -> Option<Vec<u8>> {
            let amf = self.core.status("amf");
            let ue = amf["ues"]["first"]
                .as_array()?
                .iter()
                .find(|ue| ue["supi"] == supi.as_str())?
                .clone();
            Some(
                ue["sessions"]
                    .as_array()?
                    .iter()
                    .filter_map(|psi| Some(psi.as_u64()? as u8))
                    .collect(),
            )
        };
        let same = || (of_core()? == phones.keys().copied().collect::<Vec<_>>()).then_some(());
        crate::eventually("AMF and phone have the same sessions", same, || {
            format!("{:?} and {phones:?}", of_core())
        })
        .await
    }
}

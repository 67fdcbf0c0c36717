//! Phones that do what comes to their minds, several things at a time, for as long as one likes; and after each while
//! the question whether phone, gNB and core still agree.
use crate::{GATEWAY, internet};
use crate::{TestCore, reaches};
use anyhow::{Context, Result, bail, ensure};
use martlet_ran::ue::{MmState, PduSessionRequest, ServicePurpose};
use martlet_ran::{Gnb, Ue, UeError, UeStatus};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What takes longer is told in the log.
const SLOW: Duration = Duration::from_millis(900);

/// How a soak goes.
#[derive(Debug, Clone)]
pub struct Soak {
    /// The same seed has the phones wish the same things; what becomes of it is up to the machine's timing as well.
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
                let address = sessions.iter().find(|session| session.psi == psi).and_then(|session| session.ipv4);
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
    /// A procedure that never ends, a session that the phone has and that does not carry its packets, something that is
    /// left behind in the end. The error names the phone and its seed.
    pub async fn run(&self, core: &TestCore) -> Result<Seen> {
        let mut gnbs = Vec::new();
        for number in 1..=self.gnbs {
            gnbs.push(core.gnb(number).await?);
        }
        let seen = Seen::default();
        let phones = (1..=self.phones).map(|n| {
            let (gnbs, seen) = (&gnbs, &seen);
            async move {
                let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(n);
                let random = StdRng::seed_from_u64(seed);
                let outcome = Life { core, gnbs, seen, n, random, until: Instant::now() + self.duration }.run().await;
                outcome.with_context(|| format!("phone {n} of seed {}", self.seed))
            }
        });
        futures_util::future::try_join_all(phones).await?;
        core.until_nothing_is_left().await?;
        Ok(seen)
    }
}

/// A phone's life.
struct Life<'a> {
    core: &'a TestCore,
    gnbs: &'a [Gnb],
    seen: &'a Seen,
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
            let wishes: Vec<Wish> = (0..at_once).map(|_| Wish::any(&mut self.random, &status)).collect();
            last.push(wishes.clone());
            last = last.split_off(last.len().saturating_sub(8));
            let gaps: Vec<u64> = wishes.iter().map(|_| self.random.random_range(0..4) * 500).collect();
            let fulfilled = wishes.iter().zip(gaps).map(|(wish, gap)| {
                let (phone, wishes) = (&phone, &wishes);
                async move {
                    tokio::time::sleep(Duration::from_micros(gap)).await;
                    let started = Instant::now();
                    let outcome = wish.fulfil(phone).await;
                    if started.elapsed() > SLOW {
                        // It took the expiry of a timer: something was lost on the way.
                        tracing::info!(supi = phone.supi(), ?wish, among = ?wishes, took = ?started.elapsed(), ?outcome, "slow");
                    }
                    (*wish, outcome)
                }
            });
            for (wish, outcome) in futures_util::future::join_all(fulfilled).await {
                self.seen.wishes.fetch_add(1, Ordering::Relaxed);
                match outcome {
                    Ok(()) => {}
                    // What never ends is an error whatever was wished.
                    Err(UeError::Timeout(limit)) => bail!("{wish:?} did not end in {limit:?}; before: {last:?}"),
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
            // A phone that came and vanished may have left sessions: it says that it is here, and leaves.
            phone.register().await.context("the last registration")?;
            phone.deregister().await.context("the last deregistration")?;
        }
        Ok(())
    }

    fn new_phone(&mut self) -> Result<Ue> {
        let gnb = self.random.random_range(0..self.gnbs.len());
        let mut phone = self.core.phone(self.n);
        // What a phone says at the moment at which it is released is lost on the radio; it says it again.
        let timers = &mut phone.timers;
        for timer in [&mut timers.t3510, &mut timers.t3517, &mut timers.t3521, &mut timers.t3580, &mut timers.t3582] {
            *timer = Duration::from_secs(1);
        }
        timers.t3511 = Duration::from_millis(100);
        Ok(self.gnbs[gnb].new_ue(phone)?)
    }

    /// Every session that the phone has carries packets, and the core has no others of it.
    async fn agrees(&self, phone: &Ue) -> Result<()> {
        if phone.status().await?.state != MmState::Registered {
            return Ok(());
        }
        // It asks for all of them, as a phone does that has data for each.
        let psis: Vec<u8> = phone.status().await?.sessions.iter().map(|session| session.psi).collect();
        phone.service_request_for(ServicePurpose::Data, &psis).await.context("service for all sessions")?;
        let status = phone.status().await?;
        for session in &status.sessions {
            reaches(phone, session.psi, GATEWAY).await.with_context(|| format!("session {}", session.psi))?;
        }
        ensure!(status.connected, "a phone that is served is connected");
        let phones: BTreeMap<u8, String> =
            status.sessions.iter().filter_map(|s| Some((s.psi, s.ipv4?.to_string()))).collect();
        self.seen.agreements.fetch_add(1, Ordering::Relaxed);
        // What the core has of it is compared by the AMF's list, which names the UE.
        let supi = phone.supi().to_string();
        let of_core = || -> Option<Vec<u8>> {
            let amf = self.core.status("amf");
            let ue = amf["ues"]["first"].as_array()?.iter().find(|ue| ue["supi"] == supi.as_str())?.clone();
            Some(ue["sessions"].as_array()?.iter().filter_map(|psi| Some(psi.as_u64()? as u8)).collect())
        };
        let same = || (of_core()? == phones.keys().copied().collect::<Vec<_>>()).then_some(());
        crate::eventually("AMF and phone have the same sessions", same, || format!("{:?} and {phones:?}", of_core()))
            .await
    }
}

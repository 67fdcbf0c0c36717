//! Plays a scenario.
use super::error::ScenarioError;
use super::expected_answer::{Answer, Receiver, answer};
use super::file::{
    Expect, Misbehave, Ping, RawNas, RawNgap, Scenario, Selection, SessionStep, Step, UeSection,
};
use super::ping::ping;
use super::report::{ProcedureReport, Report, StepReport};
use super::ue::{Failure, Outcome, ScenarioUe};
use crate::gnb::{Gnb, GnbError};
use crate::positioning::Positioning;
use crate::sample::{Sample, Samples};
use crate::ue::RegistrationType;
use crate::user_plane::Netns;
use std::collections::{BTreeMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Default time limit of a ping reply.
const PING: Duration = Duration::from_secs(2);
/// Default time limit of a program.
const PROGRAM: Duration = Duration::from_secs(60);

/// A scenario that was played.
pub struct Played {
    /// The report.
    pub report: Report,
    /// All samples.
    pub samples: Vec<Sample>,
    /// When it started.
    pub origin: Instant,
}

/// Progress, printed to standard error.
#[derive(Default)]
struct Progress {
    step: Mutex<String>,
    done: AtomicU64,
    total: AtomicU64,
}

struct Player {
    scenario: Arc<Scenario>,
    samples: Samples,
    gnbs: BTreeMap<String, Gnb>,
    ues: Vec<Arc<ScenarioUe>>,
    steps: Vec<StepReport>,
    progress: Arc<Progress>,
}

/// Plays a scenario to its end, or until `stop` completes. With `progress`, long runs print their
/// progress to standard error.
pub async fn play(
    scenario: Scenario,
    progress: bool,
    stop: impl Future<Output = String>,
) -> Played {
    let origin = Instant::now();
    let mut player = Player {
        scenario: Arc::new(scenario),
        samples: Samples::default(),
        gnbs: BTreeMap::new(),
        ues: Vec::new(),
        steps: Vec::new(),
        progress: Arc::default(),
    };
    let printing = progress.then(|| tokio::spawn(print_progress(player.progress.clone())));
    let aborted = tokio::select! {
        outcome = player.play() => outcome.err().map(|error| error.to_string()),
        reason = stop => Some(reason),
    };
    if let Some(printing) = printing {
        printing.abort();
    }
    player.stop().await;
    let samples = player.samples.take();
    let report = Report {
        scenario: player.scenario.name.clone(),
        passed: aborted.is_none() && player.steps.iter().all(|step| step.unexpected.is_empty()),
        seconds: origin.elapsed().as_secs_f64(),
        steps: std::mem::take(&mut player.steps),
        procedures: ProcedureReport::all(&samples),
        aborted,
        samples_dropped: player.samples.dropped(),
    };
    Played { report, samples, origin }
}

async fn print_progress(progress: Arc<Progress>) {
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let step = progress.step.lock().map(|step| step.clone()).unwrap_or_default();
        let (done, total) =
            (progress.done.load(Ordering::Relaxed), progress.total.load(Ordering::Relaxed));
        match total {
            0 => eprintln!("martlet-ran: {step}"),
            _ => eprintln!("martlet-ran: {step}: {done} of {total}"),
        }
    }
}

impl Player {
    async fn play(&mut self) -> Result<(), ScenarioError> {
        let scenario = self.scenario.clone();
        for section in &scenario.gnbs {
            self.progress.begin(&format!("NG setup of {}", section.name), 0);
            let connected = Gnb::connect_with(section.config(), self.samples.clone()).await;
            match (connected, section.expect) {
                (Ok(gnb), Expect::Ok) => drop(self.gnbs.insert(section.name.clone(), gnb)),
                (Err(error), expect) => setup_failed(expect, error)?,
                (Ok(gnb), _) => {
                    gnb.shutdown().await;
                    return Err(ScenarioError::UnexpectedNgSetup(section.name.clone()));
                }
            }
        }
        self.add_ues(&scenario).await?;
        self.steps(&scenario.steps, "").await
    }

    /// Adds the UEs of the connected gNBs that do not exist yet.
    async fn add_ues(&mut self, scenario: &Scenario) -> Result<(), ScenarioError> {
        let existing: HashSet<_> = self.ues.iter().map(|ue| (ue.group, ue.number)).collect();
        for (group, section) in scenario.ues.iter().enumerate() {
            for number in (0..section.count).filter(|number| !existing.contains(&(group, *number)))
            {
                self.add_ue(scenario, group, section, number).await?;
            }
        }
        Ok(())
    }

    /// Adds a UE, unless its gNB is not connected.
    async fn add_ue(
        &mut self,
        scenario: &Scenario,
        group: usize,
        section: &UeSection,
        number: u32,
    ) -> Result<(), ScenarioError> {
        let Some(home) = scenario.gnb_of(section, number) else { return Ok(()) };
        let Some(gnb) = self.gnbs.get(&home.name) else { return Ok(()) };
        let config = scenario.ue_config(section, number)?;
        let ue = gnb.new_ue_in(config, section.netns_of(number))?;
        let sessions = Mutex::default();
        let positioning = match &section.positioning {
            Some(it) => {
                let config = it.config(&section.name, home.plmn.0)?;
                Some(Positioning::start(&ue, config).await?)
            }
            None => None,
        };
        let gnb = home.name.clone();
        self.ues.push(Arc::new(ScenarioUe {
            handle: ue,
            group,
            number,
            gnb,
            sessions,
            _positioning: positioning,
        }));
        Ok(())
    }

    /// Drops the UEs and ends the associations.
    async fn stop(&mut self) {
        self.ues.clear();
        // The UEs' tasks request the release of their contexts: wait for it.
        let deadline = Instant::now() + Duration::from_secs(3);
        while self.gnbs.values().any(|gnb| gnb.ue_counts().0 > 0) && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for gnb in self.gnbs.values() {
            gnb.shutdown().await;
        }
    }

    fn steps<'a>(
        &'a mut self,
        steps: &'a [Step],
        prefix: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<(), ScenarioError>> + 'a>> {
        Box::pin(async move {
            for (index, step) in steps.iter().enumerate() {
                let number = format!("{prefix}{}", index + 1);
                self.step(step, &number).await?;
            }
            Ok(())
        })
    }

    async fn step(&mut self, step: &Step, number: &str) -> Result<(), ScenarioError> {
        let name = step.name();
        match step {
            Step::Register(who) => {
                self.each(number, name, who, |ue| async move {
                    Ok(ue.handle.register().await.map(drop)?)
                })
                .await;
            }
            Step::RegisterBySuci(who) => {
                let register = |ue: Arc<ScenarioUe>| async move {
                    ue.handle.forget_registration().await?;
                    Ok(ue.handle.register().await.map(drop)?)
                };
                self.each(number, name, who, register).await;
            }
            Step::UpdateRegistration(who) => {
                let kind = RegistrationType::MobilityRegistrationUpdating;
                let update = move |ue: Arc<ScenarioUe>| async move {
                    Ok(ue.handle.register_as(kind).await.map(drop)?)
                };
                self.each(number, name, who, update).await;
            }
            Step::Establish(of) => self.establish(number, name, of).await,
            Step::Release(of) => {
                let (who, index) =
                    (selection(&of.ues, of.parallel, of.rate, of.expect), of.session);
                let release = move |ue: Arc<ScenarioUe>| async move {
                    let psi = ue.psi(index)?;
                    Ok(ue.handle.release_pdu_session(psi).await?)
                };
                self.each(number, name, &who, release).await;
            }
            Step::ReleaseToIdle(who) => {
                self.each(
                    number,
                    name,
                    who,
                    |ue| async move { Ok(ue.handle.release_to_idle().await?) },
                )
                .await;
            }
            Step::WaitIdle(who) => {
                self.each(number, name, who, |ue| async move { Ok(ue.handle.wait_idle().await?) })
                    .await;
            }
            Step::WaitForPaging(wait) => {
                let limit = wait.within.map_or(Duration::from_secs(10), |span| span.0);
                let who = selection(&wait.ues, usize::MAX, None, wait.expect);
                let paged = move |ue: Arc<ScenarioUe>| async move {
                    Ok(ue.handle.wait_for_paging_within(limit).await?)
                };
                self.each(number, name, &who, paged).await;
            }
            Step::ServiceRequest(who) => {
                self.each(
                    number,
                    name,
                    who,
                    |ue| async move { Ok(ue.handle.service_request().await?) },
                )
                .await;
            }
            Step::Deregister(who) => {
                self.each(number, name, who, |ue| async move { Ok(ue.handle.deregister().await?) })
                    .await;
            }
            Step::SwitchOff(who) => {
                self.each(number, name, who, |ue| async move { Ok(ue.handle.switch_off().await?) })
                    .await;
            }
            Step::Ping(step) => self.ping(number, name, step).await,
            Step::Run(run) | Step::Host(run) => {
                let who = selection(&run.ues, run.parallel, None, run.expect);
                let (command, limit) =
                    (run.command.clone(), run.within.map_or(PROGRAM, |span| span.0));
                let inside = matches!(step, Step::Run(_));
                let runs = move |ue: Arc<ScenarioUe>| {
                    let command = command.clone();
                    async move { ue.run(command, inside, limit).await }
                };
                self.each(number, name, &who, runs).await;
            }
            Step::Wait(span) => {
                self.progress.begin(&format!("step {number} {name}"), 0);
                tokio::time::sleep(span.0).await;
                self.count(number, name, 1, None);
            }
            Step::Repeat(repeat) => {
                for _ in 0..repeat.times {
                    self.steps(&repeat.steps, &format!("{number}.")).await?;
                    self.count(number, name, 1, None);
                }
            }
            Step::Replay(wrong) => {
                self.misbehave(number, name, wrong, |ue| async move {
                    Ok(ue.handle.replay_last_nas().await?)
                })
                .await;
            }
            Step::WrongMac(wrong) => {
                let forge = |ue: Arc<ScenarioUe>| async move {
                    use martlet_nas::{GmmCause, Nas5gsMessage, NasFGmmCause, NasFGmmStatus};
                    let status = NasFGmmStatus::new(NasFGmmCause::from_cause(
                        GmmCause::ProtocolErrorUnspecified,
                    ));
                    Ok(ue.handle.send_with_wrong_mac(Nas5gsMessage::new_5gmm(status)).await?)
                };
                self.misbehave(number, name, wrong, forge).await;
            }
            Step::RawNas(raw) => self.raw_nas(number, name, raw).await,
            Step::RawNgap(raw) => self.raw_ngap(number, name, raw).await?,
            Step::GnbAbort(gnb) => {
                let gnb = self.gnb(gnb)?;
                gnb.abort();
                self.wait_until_lost(number, name, &gnb).await;
            }
            Step::GnbShutdown(gnb) => {
                let gnb = self.gnb(gnb)?;
                gnb.shutdown().await;
                self.wait_until_lost(number, name, &gnb).await;
            }
            Step::GnbConnects(gnb) => self.connect_again(number, name, gnb).await?,
        }
        Ok(())
    }

    async fn establish(&mut self, number: &str, name: &'static str, of: &SessionStep) {
        let (who, index, scenario) = (
            selection(&of.ues, of.parallel, of.rate, of.expect),
            of.session,
            self.scenario.clone(),
        );
        let establish = move |ue: Arc<ScenarioUe>| {
            let request = scenario.ues.get(ue.group).map(|section| section.session_request(index));
            async move {
                let session = ue.handle.establish_pdu_session(request.unwrap_or_default()).await?;
                ue.set_session(index, session.psi);
                Ok(())
            }
        };
        self.each(number, name, &who, establish).await;
    }

    async fn ping(&mut self, number: &str, name: &'static str, step: &Ping) {
        let who = selection(&step.ues, step.parallel, None, step.expect);
        let (target, count, index) = (step.target, step.count, step.session);
        let limit = step.within.map_or(PING, |span| span.0);
        let scenario = self.scenario.clone();
        let pings = move |ue: Arc<ScenarioUe>| {
            let netns = scenario.ues.get(ue.group).map(|section| section.netns_of(ue.number));
            async move {
                if netns.is_some_and(|netns| netns != Netns::None) {
                    let (wait, target) = (seconds(limit), target.to_string());
                    // With several requests, one reply is enough for `ping`.
                    let command =
                        ["ping", "-n", "-c", "1", "-W", &wait, &target].map(str::to_owned);
                    let once = || ue.run(command.to_vec(), true, limit + Duration::from_secs(5));
                    for request in 0..count {
                        match once().await {
                            // The first packet may be lost while the path is set up.
                            Err(_) if request == 0 => once().await?,
                            outcome => outcome?,
                        }
                    }
                    return Ok(());
                }
                let psi = ue.psi(index)?;
                let status = ue.handle.status().await?;
                let source = status.sessions.iter().find(|s| s.psi == psi).and_then(|s| s.ipv4);
                let source = source
                    .ok_or_else(|| Failure::from("the session has no IPv4 address".to_owned()))?;
                Ok(ping(&ue.handle, psi, source, target, count, limit).await?)
            }
        };
        self.each(number, name, &who, pings).await;
    }

    async fn raw_nas(&mut self, number: &str, name: &'static str, raw: &RawNas) {
        let message = raw.hex.0.clone();
        let wrong = Misbehave {
            ues: raw.ues.clone(),
            answer: raw.answer.clone(),
            status: raw.status,
            within: raw.within,
        };
        let send = move |ue: Arc<ScenarioUe>| {
            let message = message.clone();
            async move { Ok(ue.handle.send_raw_nas(message).await?) }
        };
        self.misbehave(number, name, &wrong, send).await;
    }

    async fn raw_ngap(
        &mut self,
        number: &str,
        name: &'static str,
        raw: &RawNgap,
    ) -> Result<(), ScenarioError> {
        let gnb = self.gnb(&raw.gnb)?;
        let receiver = Receiver::Ngap(gnb.clone(), gnb.subscribe());
        let outcome = match gnb.send_raw_ngap(raw.stream, raw.hex.0.clone()).await {
            Err(error) => Err(Failure::from(error.to_string())),
            Ok(()) => answer(&Answer::of(&raw.answer, None), raw.within, receiver).await,
        };
        self.count(number, name, 1, outcome.err());
        Ok(())
    }

    fn gnb(&self, name: &str) -> Result<Gnb, ScenarioError> {
        let gnb = self.gnbs.get(name).cloned();
        gnb.ok_or_else(|| ScenarioError::NotConnected(name.to_owned()))
    }

    async fn wait_until_lost(&mut self, number: &str, name: &'static str, gnb: &Gnb) {
        let ended = tokio::time::timeout(Duration::from_secs(10), gnb.lost()).await;
        let failure = ended.err().map(|_| Failure::from("the association did not end".to_owned()));
        self.count(number, name, 1, failure);
    }

    async fn connect_again(
        &mut self,
        number: &str,
        step: &'static str,
        name: &str,
    ) -> Result<(), ScenarioError> {
        let connected = match self.gnbs.get(name) {
            Some(before) => before.connect_again().await,
            None => {
                let section = self.scenario.gnbs.iter().find(|gnb| gnb.name == name);
                let Some(section) = section else {
                    return Err(ScenarioError::UnknownGnb(name.to_owned()));
                };
                Gnb::connect_with(section.config(), self.samples.clone()).await
            }
        };
        let gnb = connected?;
        for ue in self.ues.iter().filter(|ue| ue.gnb == name) {
            ue.handle.move_to(&gnb).await?;
        }
        self.gnbs.insert(name.to_owned(), gnb);
        let scenario = self.scenario.clone();
        self.add_ues(&scenario).await?;
        self.count(number, step, 1, None);
        Ok(())
    }

    /// Runs `action` for each selected UE, with the selection's parallelism and rate.
    async fn each<F, Fut>(&mut self, number: &str, name: &'static str, who: &Selection, action: F)
    where
        F: Fn(Arc<ScenarioUe>) -> Fut,
        Fut: Future<Output = Outcome> + Send + 'static,
    {
        let ues = self.chosen(&who.ues);
        self.progress.begin(&format!("step {number} {name}"), ues.len() as u64);
        self.count(number, name, 0, None);
        let mut running = JoinSet::new();
        let pause = who.rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
        let mut due = tokio::time::Instant::now();
        for ue in ues {
            while running.len() >= who.parallel.max(1) {
                let ended = running.join_next().await;
                self.ended(number, name, who.expect, ended);
            }
            if let Some(pause) = pause {
                tokio::time::sleep_until(due).await;
                due += pause;
            }
            running.spawn(action(ue));
        }
        while let Some(ended) = running.join_next().await {
            self.ended(number, name, who.expect, Some(ended));
        }
    }

    fn ended(
        &mut self,
        number: &str,
        name: &'static str,
        expect: Expect,
        ended: Option<Result<Outcome, tokio::task::JoinError>>,
    ) {
        let Some(ended) = ended else { return };
        let outcome = ended.unwrap_or_else(|error| Err(Failure::from(error.to_string())));
        self.progress.done.fetch_add(1, Ordering::Relaxed);
        self.count(number, name, 1, unexpected(expect, outcome));
    }

    /// Sends an invalid message, then waits for the expected answer.
    async fn misbehave<F, Fut>(
        &mut self,
        number: &str,
        name: &'static str,
        wrong: &Misbehave,
        action: F,
    ) where
        F: Fn(Arc<ScenarioUe>) -> Fut,
        Fut: Future<Output = Outcome> + Send + 'static,
    {
        let who = selection(&wrong.ues, 1, None, Expect::Ok);
        let (expected, within) = (Answer::of(&wrong.answer, wrong.status), wrong.within);
        let watched = move |ue: Arc<ScenarioUe>| {
            let (acting, expected) = (action(ue.clone()), expected.clone());
            async move {
                let receiver = Receiver::Nas(ue.handle.subscribe().await?);
                acting.await?;
                answer(&expected, within, receiver).await
            }
        };
        self.each(number, name, &who, watched).await;
    }

    fn chosen(&self, group: &Option<String>) -> Vec<Arc<ScenarioUe>> {
        let index = |name: &str| self.scenario.ues.iter().position(|section| section.name == name);
        let group = group.as_deref().map(index);
        self.ues
            .iter()
            .filter(|ue| group.is_none_or(|group| group == Some(ue.group)))
            .cloned()
            .collect()
    }

    /// Counts a result in the step's report entry.
    fn count(&mut self, number: &str, name: &'static str, times: u64, failure: Option<Failure>) {
        let index = match self.steps.iter().position(|step| step.number == number) {
            Some(index) => index,
            None => {
                let (number, step) = (number.to_owned(), name.to_owned());
                self.steps.push(StepReport { number, step, count: 0, unexpected: BTreeMap::new() });
                self.steps.len() - 1
            }
        };
        if let Some(line) = self.steps.get_mut(index) {
            line.count += times;
            if let Some(failure) = failure {
                *line.unexpected.entry(failure.text).or_insert(0) += 1;
            }
        }
    }
}

impl Progress {
    fn begin(&self, step: &str, total: u64) {
        if let Ok(mut current) = self.step.lock() {
            step.clone_into(&mut current);
        }
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }
}

fn selection(
    ues: &Option<String>,
    parallel: usize,
    rate: Option<f64>,
    expect: Expect,
) -> Selection {
    Selection { ues: ues.clone(), parallel, rate, expect }
}

/// Whole seconds, at least one, for `ping -W`.
fn seconds(span: Duration) -> String {
    span.as_secs().max(1).to_string()
}

/// Whether a failed NG setup is as expected: a timeout or a lost connection is no reject.
fn setup_failed(expect: Expect, error: GnbError) -> Result<(), ScenarioError> {
    match (expect, error) {
        (Expect::Failed, _) => Ok(()),
        (Expect::Ok, error) => Err(error.into()),
        (Expect::Rejected(cause), GnbError::SetupRefused { number: Some(number), .. })
            if number.value == u32::from(cause) =>
        {
            Ok(())
        }
        (Expect::Rejected(expected), error) => Err(ScenarioError::NotRejected { error, expected }),
    }
}

/// The failure, if the outcome is unexpected.
fn unexpected(expect: Expect, outcome: Outcome) -> Option<Failure> {
    match (expect, outcome) {
        (Expect::Ok, Ok(())) | (Expect::Failed, Err(_)) => None,
        (Expect::Ok, Err(failure)) => Some(failure),
        (Expect::Failed, Ok(())) => Some("succeeded, which was not expected".to_owned().into()),
        (Expect::Rejected(cause), Err(failure)) if failure.cause == Some(cause) => None,
        (Expect::Rejected(cause), Err(failure)) => {
            Some(format!("{}, where cause #{cause} was expected", failure.text).into())
        }
        (Expect::Rejected(cause), Ok(())) => {
            Some(format!("succeeded, where cause #{cause} was expected").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gnb::UeError;
    use crate::ue::Abort;
    use martlet_ngap::cause::CauseNumber;

    #[test]
    fn only_ng_setup_failure_with_the_cause_is_the_expected_reject() {
        // Miscellaneous: unknown PLMN or SNPN.
        let number = Some(CauseNumber { group: 4, value: 4 });
        let refused =
            |number| GnbError::SetupRefused { gnb: "gnb".into(), cause: "cause".into(), number };
        let timeout = || GnbError::SetupTimeout { gnb: "gnb".into() };
        let lost = GnbError::Lost { gnb: "gnb".into(), reason: "aborted".into() };
        assert!(setup_failed(Expect::Rejected(4), refused(number)).is_ok());
        for other in [timeout(), lost, refused(None)] {
            let error = setup_failed(Expect::Rejected(4), other).unwrap_err();
            assert!(error.to_string().ends_with("cause #4 was expected"), "{error}");
        }
        assert!(setup_failed(Expect::Rejected(5), refused(number)).is_err());
        assert!(setup_failed(Expect::Failed, timeout()).is_ok());
        assert!(setup_failed(Expect::Ok, timeout()).is_err());
    }

    #[test]
    fn a_security_mode_reject_of_the_ue_is_no_reject_by_the_core() {
        let by_ue = UeError::Aborted(Abort::SecurityModeRejected(23));
        assert!(unexpected(Expect::Rejected(23), Err(by_ue.into())).is_some());
        let by_core = UeError::Rejected(23);
        assert!(unexpected(Expect::Rejected(23), Err(by_core.into())).is_none());
    }
}

//! Plays a scenario.
use super::answer::{Answer, Watch, answer};
use super::file::{Expect, Misbehave, Scenario, Step, UeSection, Who};
use super::phone::{Failure, Outcome, Phone};
use super::ping::ping;
use super::report::{ProcedureReport, Report, StepReport};
use crate::gnb::Gnb;
use crate::positioning::Positioning;
use crate::sample::{Sample, Samples};
use crate::ue::RegistrationType;
use crate::user_plane::Netns;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How long a ping's answer and a program may take.
const PING: Duration = Duration::from_secs(2);
const PROGRAM: Duration = Duration::from_secs(60);

/// A scenario that was played.
pub struct Played {
    /// What came of it.
    pub report: Report,
    /// Every latency.
    pub samples: Vec<Sample>,
    /// When it began.
    pub origin: Instant,
}

/// Progress for a person who waits.
#[derive(Default)]
struct Progress {
    step: Mutex<String>,
    done: AtomicU64,
    of: AtomicU64,
}

struct Player {
    scenario: Arc<Scenario>,
    samples: Samples,
    gnbs: BTreeMap<String, Gnb>,
    phones: Vec<Arc<Phone>>,
    steps: Vec<StepReport>,
    progress: Arc<Progress>,
}

/// Play a scenario to its end, or until `stop` is done. With `progress`, long runs tell on standard
/// error where they are.
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
        phones: Vec::new(),
        steps: Vec::new(),
        progress: Arc::default(),
    };
    let telling = progress.then(|| tokio::spawn(tell(player.progress.clone())));
    let aborted = tokio::select! {
        outcome = player.play() => outcome.err(),
        reason = stop => Some(reason),
    };
    if let Some(telling) = telling {
        telling.abort();
    }
    player.leave().await;
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

async fn tell(progress: Arc<Progress>) {
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let step = progress.step.lock().map(|step| step.clone()).unwrap_or_default();
        let (done, of) =
            (progress.done.load(Ordering::Relaxed), progress.of.load(Ordering::Relaxed));
        match of {
            0 => eprintln!("martlet ran: {step}"),
            _ => eprintln!("martlet ran: {step}: {done} of {of}"),
        }
    }
}

impl Player {
    async fn play(&mut self) -> Result<(), String> {
        let scenario = self.scenario.clone();
        for section in &scenario.gnbs {
            self.progress.begin(&format!("NG setup of {}", section.name), 0);
            let connected = Gnb::connect_with(section.config(), self.samples.clone()).await;
            match (connected, section.expect) {
                (Ok(gnb), Expect::Ok) => drop(self.gnbs.insert(section.name.clone(), gnb)),
                (Err(_), Expect::Failed | Expect::Rejected(_)) => {}
                (Err(error), Expect::Ok) => return Err(error.to_string()),
                (Ok(gnb), _) => {
                    gnb.shutdown().await;
                    return Err(format!(
                        "gNB {}: NG setup succeeded, which was not expected",
                        section.name
                    ));
                }
            }
        }
        for (group, section) in scenario.ues.iter().enumerate() {
            for number in 0..section.count {
                self.add_phone(&scenario, group, section, number).await?;
            }
        }
        self.steps(&scenario.steps, "").await
    }

    async fn add_phone(
        &mut self,
        scenario: &Scenario,
        group: usize,
        section: &UeSection,
        number: u32,
    ) -> Result<(), String> {
        let Some(home) = scenario.gnb_of(section, number) else { return Ok(()) };
        let Some(gnb) = self.gnbs.get(&home.name) else { return Ok(()) };
        let config = scenario.ue_config(section, number)?;
        let ue = gnb.new_ue_in(config, section.netns_of(number)).map_err(|e| e.to_string())?;
        let sessions = Mutex::default();
        let positioning = match &section.positioning {
            Some(it) => {
                let config = it
                    .config(home.plmn.0)
                    .map_err(|e| format!("positioning of {}: {e}", section.name))?;
                Some(Positioning::start(&ue, config).await.map_err(|e| e.to_string())?)
            }
            None => None,
        };
        let gnb = home.name.clone();
        self.phones.push(Arc::new(Phone {
            ue,
            group,
            number,
            gnb,
            sessions,
            _positioning: positioning,
        }));
        Ok(())
    }

    /// Take the UEs out of reach and end the associations.
    async fn leave(&mut self) {
        self.phones.clear();
        // The UEs' tasks ask for the release of their contexts; give them the time for it.
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
        within: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + 'a>> {
        Box::pin(async move {
            for (index, step) in steps.iter().enumerate() {
                let place = format!("{within}{}", index + 1);
                self.step(step, &place).await?;
            }
            Ok(())
        })
    }

    async fn step(&mut self, step: &Step, place: &str) -> Result<(), String> {
        let name = step.name();
        match step {
            Step::Register(who) => {
                self.each(place, name, who, |phone| async move {
                    Ok(phone.ue.register().await.map(drop)?)
                })
                .await;
            }
            Step::RegisterBySuci(who) => {
                let register = |phone: Arc<Phone>| async move {
                    phone.ue.forget_registration().await?;
                    Ok(phone.ue.register().await.map(drop)?)
                };
                self.each(place, name, who, register).await;
            }
            Step::UpdateRegistration(who) => {
                let kind = RegistrationType::MobilityRegistrationUpdating;
                let update = move |phone: Arc<Phone>| async move {
                    Ok(phone.ue.register_as(kind).await.map(drop)?)
                };
                self.each(place, name, who, update).await;
            }
            Step::Establish(of) => {
                let (who, index, scenario) = (
                    who_of(&of.ues, of.parallel, of.rate, of.expect),
                    of.session,
                    self.scenario.clone(),
                );
                let establish = move |phone: Arc<Phone>| {
                    let request =
                        scenario.ues.get(phone.group).map(|section| section.session_request(index));
                    async move {
                        let session =
                            phone.ue.establish_pdu_session(request.unwrap_or_default()).await?;
                        phone.remember(index, session.psi);
                        Ok(())
                    }
                };
                self.each(place, name, &who, establish).await;
            }
            Step::Release(of) => {
                let (who, index) = (who_of(&of.ues, of.parallel, of.rate, of.expect), of.session);
                let release = move |phone: Arc<Phone>| async move {
                    let psi = phone.psi(index)?;
                    Ok(phone.ue.release_pdu_session(psi).await?)
                };
                self.each(place, name, &who, release).await;
            }
            Step::ReleaseToIdle(who) => {
                self.each(place, name, who, |phone| async move {
                    Ok(phone.ue.release_to_idle().await?)
                })
                .await;
            }
            Step::WaitIdle(who) => {
                self.each(place, name, who, |phone| async move { Ok(phone.ue.wait_idle().await?) })
                    .await;
            }
            Step::WaitForPaging(wait) => {
                let limit = wait.within.map_or(Duration::from_secs(10), |span| span.0);
                let who = who_of(&wait.ues, usize::MAX, None, wait.expect);
                let paged = move |phone: Arc<Phone>| async move {
                    Ok(phone.ue.wait_for_paging_within(limit).await?)
                };
                self.each(place, name, &who, paged).await;
            }
            Step::ServiceRequest(who) => {
                self.each(place, name, who, |phone| async move {
                    Ok(phone.ue.service_request().await?)
                })
                .await;
            }
            Step::Deregister(who) => {
                self.each(
                    place,
                    name,
                    who,
                    |phone| async move { Ok(phone.ue.deregister().await?) },
                )
                .await;
            }
            Step::SwitchOff(who) => {
                self.each(
                    place,
                    name,
                    who,
                    |phone| async move { Ok(phone.ue.switch_off().await?) },
                )
                .await;
            }
            Step::Ping(step) => {
                let who = who_of(&step.ues, step.parallel, None, step.expect);
                let (target, count, index) = (step.target, step.count, step.session);
                let limit = step.within.map_or(PING, |span| span.0);
                let scenario = self.scenario.clone();
                let pings = move |phone: Arc<Phone>| {
                    let netns =
                        scenario.ues.get(phone.group).map(|section| section.netns_of(phone.number));
                    async move {
                        if netns.is_some_and(|netns| netns != Netns::None) {
                            let command =
                                ["ping", "-n", "-c", &count.to_string(), "-W", &seconds(limit)]
                                    .map(str::to_owned)
                                    .into_iter()
                                    .chain([target.to_string()])
                                    .collect();
                            return phone
                                .run(command, true, limit * count + Duration::from_secs(5))
                                .await;
                        }
                        let psi = phone.psi(index)?;
                        let status = phone.ue.status().await?;
                        let source =
                            status.sessions.iter().find(|s| s.psi == psi).and_then(|s| s.ipv4);
                        let source =
                            source.ok_or_else(|| "the session has no IPv4 address".to_owned())?;
                        Ok(ping(&phone.ue, psi, source, target, count, limit).await?)
                    }
                };
                self.each(place, name, &who, pings).await;
            }
            Step::Run(run) | Step::Host(run) => {
                let who = who_of(&run.ues, run.parallel, None, run.expect);
                let (command, limit) =
                    (run.command.clone(), run.within.map_or(PROGRAM, |span| span.0));
                let inside = matches!(step, Step::Run(_));
                let runs = move |phone: Arc<Phone>| {
                    let command = command.clone();
                    async move { phone.run(command, inside, limit).await }
                };
                self.each(place, name, &who, runs).await;
            }
            Step::Wait(span) => {
                self.progress.begin(&format!("step {place} {name}"), 0);
                tokio::time::sleep(span.0).await;
                self.count(place, name, 1, None);
            }
            Step::Repeat(repeat) => {
                for _ in 0..repeat.times {
                    self.steps(&repeat.steps, &format!("{place}.")).await?;
                    self.count(place, name, 1, None);
                }
            }
            Step::Replay(wrong) => {
                self.misbehave(place, name, wrong, |phone| async move {
                    Ok(phone.ue.replay_last_nas().await?)
                })
                .await;
            }
            Step::WrongMac(wrong) => {
                let forge = |phone: Arc<Phone>| async move {
                    use martlet_nas::{GmmCause, Nas5gsMessage, NasFGmmCause, NasFGmmStatus};
                    let status = NasFGmmStatus::new(NasFGmmCause::from_cause(
                        GmmCause::ProtocolErrorUnspecified,
                    ));
                    Ok(phone.ue.send_with_wrong_mac(Nas5gsMessage::new_5gmm(status)).await?)
                };
                self.misbehave(place, name, wrong, forge).await;
            }
            Step::RawNas(raw) => {
                let octets = raw.hex.0.clone();
                let wrong = Misbehave {
                    ues: raw.ues.clone(),
                    answer: raw.answer.clone(),
                    status: raw.status,
                    within: raw.within,
                };
                let send = move |phone: Arc<Phone>| {
                    let octets = octets.clone();
                    async move { Ok(phone.ue.send_raw_nas(octets).await?) }
                };
                self.misbehave(place, name, &wrong, send).await;
            }
            Step::RawNgap(raw) => {
                let gnb = self.gnb(&raw.gnb)?;
                let watch = Watch::Ngap(gnb.subscribe());
                let outcome = match gnb.send_raw_ngap(raw.stream, raw.hex.0.clone()).await {
                    Err(error) => Err(Failure::from(error.to_string())),
                    Ok(()) => answer(&Answer::of(&raw.answer, None), raw.within, watch).await,
                };
                self.count(place, name, 1, outcome.err());
            }
            Step::GnbVanishes(gnb) => {
                let gnb = self.gnb(gnb)?;
                gnb.vanish();
                self.gone(place, name, &gnb).await;
            }
            Step::GnbShutdown(gnb) => {
                let gnb = self.gnb(gnb)?;
                gnb.shutdown().await;
                self.gone(place, name, &gnb).await;
            }
            Step::GnbConnects(gnb) => self.connect_again(place, name, gnb).await?,
        }
        Ok(())
    }

    fn gnb(&self, name: &str) -> Result<Gnb, String> {
        self.gnbs.get(name).cloned().ok_or_else(|| format!("gNB {name} has never been connected"))
    }

    async fn gone(&mut self, place: &str, name: &'static str, gnb: &Gnb) {
        let ended = tokio::time::timeout(Duration::from_secs(10), gnb.lost()).await;
        let failure = ended.err().map(|_| Failure::from("the association did not end".to_owned()));
        self.count(place, name, 1, failure);
    }

    async fn connect_again(
        &mut self,
        place: &str,
        step: &'static str,
        name: &str,
    ) -> Result<(), String> {
        let connected = match self.gnbs.get(name) {
            Some(before) => before.connect_again().await,
            None => {
                let section = self.scenario.gnbs.iter().find(|gnb| gnb.name == name);
                let Some(section) = section else { return Err(format!("there is no gNB {name}")) };
                Gnb::connect_with(section.config(), self.samples.clone()).await
            }
        };
        let gnb = connected.map_err(|error| error.to_string())?;
        for phone in self.phones.iter().filter(|phone| phone.gnb == name) {
            phone.ue.move_to(&gnb).await.map_err(|error| error.to_string())?;
        }
        self.gnbs.insert(name.to_owned(), gnb);
        self.count(place, step, 1, None);
        Ok(())
    }

    /// Let each UE of `who` do `action`, as many at once as it says.
    async fn each<F, Fut>(&mut self, place: &str, name: &'static str, who: &Who, action: F)
    where
        F: Fn(Arc<Phone>) -> Fut,
        Fut: Future<Output = Outcome> + Send + 'static,
    {
        let phones = self.chosen(&who.ues);
        self.progress.begin(&format!("step {place} {name}"), phones.len() as u64);
        self.count(place, name, 0, None);
        let mut underway = JoinSet::new();
        let pause = who.rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
        let mut due = tokio::time::Instant::now();
        for phone in phones {
            while underway.len() >= who.parallel.max(1) {
                let ended = underway.join_next().await;
                self.ended(place, name, who.expect, ended);
            }
            if let Some(pause) = pause {
                tokio::time::sleep_until(due).await;
                due += pause;
            }
            underway.spawn(action(phone));
        }
        while let Some(ended) = underway.join_next().await {
            self.ended(place, name, who.expect, Some(ended));
        }
    }

    fn ended(
        &mut self,
        place: &str,
        name: &'static str,
        expect: Expect,
        ended: Option<Result<Outcome, tokio::task::JoinError>>,
    ) {
        let Some(ended) = ended else { return };
        let outcome = ended.unwrap_or_else(|error| Err(Failure::from(error.to_string())));
        self.progress.done.fetch_add(1, Ordering::Relaxed);
        self.count(place, name, 1, judge(expect, outcome));
    }

    /// Do something wrong, then see that it is answered, or that nothing answers.
    async fn misbehave<F, Fut>(
        &mut self,
        place: &str,
        name: &'static str,
        wrong: &Misbehave,
        action: F,
    ) where
        F: Fn(Arc<Phone>) -> Fut,
        Fut: Future<Output = Outcome> + Send + 'static,
    {
        let who = who_of(&wrong.ues, 1, None, Expect::Ok);
        let (expected, within) = (Answer::of(&wrong.answer, wrong.status), wrong.within);
        let watched = move |phone: Arc<Phone>| {
            let (acting, expected) = (action(phone.clone()), expected.clone());
            async move {
                let watch = Watch::Nas(phone.ue.subscribe().await?);
                acting.await?;
                answer(&expected, within, watch).await
            }
        };
        self.each(place, name, &who, watched).await;
    }

    fn chosen(&self, group: &Option<String>) -> Vec<Arc<Phone>> {
        let index = |name: &str| self.scenario.ues.iter().position(|section| section.name == name);
        let group = group.as_deref().map(index);
        self.phones
            .iter()
            .filter(|phone| group.is_none_or(|group| group == Some(phone.group)))
            .cloned()
            .collect()
    }

    /// Count a step in its line of the report.
    fn count(&mut self, place: &str, name: &'static str, times: u64, failure: Option<Failure>) {
        let index = match self.steps.iter().position(|step| step.place == place) {
            Some(index) => index,
            None => {
                let (place, step) = (place.to_owned(), name.to_owned());
                self.steps.push(StepReport { place, step, count: 0, unexpected: BTreeMap::new() });
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
    fn begin(&self, step: &str, of: u64) {
        if let Ok(mut current) = self.step.lock() {
            step.clone_into(&mut current);
        }
        self.done.store(0, Ordering::Relaxed);
        self.of.store(of, Ordering::Relaxed);
    }
}

fn who_of(ues: &Option<String>, parallel: usize, rate: Option<f64>, expect: Expect) -> Who {
    Who { ues: ues.clone(), parallel, rate, expect }
}

/// Whole seconds, at least one, as `ping -W` wants them.
fn seconds(span: Duration) -> String {
    span.as_secs().max(1).to_string()
}

/// What is unexpected about an outcome.
fn judge(expect: Expect, outcome: Outcome) -> Option<Failure> {
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

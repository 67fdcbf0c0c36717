//! Checks of a scenario beyond its file format.
use super::error::SectionError;
use super::file::{
    GnbSection, NetnsText, Profile, Scenario, Sctp, SessionSection, SessionType, Step, UeSection,
};
use super::positioning::{CellSection, PositioningSection};
use crate::gnb::{GnbConfig, Trp};
use crate::ue::{IdleBehaviour, OperatorKey, PduSessionRequest, SuciScheme, UeConfig};
use crate::user_plane::Netns;
use martlet_config::{Finding, Report};
use martlet_nas::PduSessionTypeValue;
use martlet_sctp::StackChoice;
use martlet_security::identity::Imsi;
use martlet_security::nas_5gs::{HomeNetworkPublicKey, RoutingIndicator, Supi};
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

/// Most UEs of a scenario.
const MAX_UES: u64 = 1_000_000;
/// What stands for the number of a UE in its group.
const NUMBER: &str = "{n}";
/// Maximum length of an NAI in bytes (RFC 7542, 2.3).
const MAX_NAI: usize = 253;

/// Parses a scenario. Errors name the file `name`.
///
/// # Errors
/// All errors, each with its line.
pub fn parse(name: &str, text: &str) -> Result<Scenario, Report> {
    let (scenario, lines) = martlet_config::read::<Scenario>(name, text)?;
    let findings = scenario.check();
    match findings.is_empty() {
        true => Ok(scenario),
        false => Err(Report::of(name, &lines, &findings)),
    }
}

/// Reads a scenario file.
///
/// # Errors
/// As [`parse`], or the file cannot be read.
pub fn load(path: &Path) -> Result<Scenario, Report> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|e| Report { lines: vec![format!("{name}: cannot be read: {e}")] })?;
    parse(&name, &text)
}

impl Scenario {
    /// The errors of the scenario.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut names = HashSet::new();
        if self.gnbs.is_empty() {
            findings.push(Finding::new("gnbs", "at least one gNB is needed"));
        }
        for (index, gnb) in self.gnbs.iter().enumerate() {
            let path = format!("gnbs[{index}]");
            if !names.insert(gnb.name.as_str()) {
                findings.push(Finding::new(
                    format!("{path}.name"),
                    format!("another gNB is named `{}`, too", gnb.name),
                ));
            }
            findings.extend(gnb.check().into_iter().map(|f| f.within(&path)));
        }
        let mut groups = HashSet::new();
        let mut total = 0u64;
        for (index, ues) in self.ues.iter().enumerate() {
            let path = format!("ues[{index}]");
            if !groups.insert(ues.name.as_str()) {
                findings.push(Finding::new(
                    format!("{path}.name"),
                    format!("another group is named `{}`, too", ues.name),
                ));
            }
            if let Some(gnb) = &ues.gnb
                && !names.contains(gnb.as_str())
            {
                findings
                    .push(Finding::new(format!("{path}.gnb"), format!("there is no gNB `{gnb}`")));
            }
            total += u64::from(ues.count);
            findings.extend(self.check_ues(ues).into_iter().map(|f| f.within(&path)));
        }
        if total > MAX_UES {
            findings.push(Finding::new("ues", format!("{total} UEs: at most {MAX_UES}")));
        }
        if self.steps.is_empty() {
            findings.push(Finding::new(
                "steps",
                "a scenario without steps does nothing: write at least one",
            ));
        }
        self.check_steps(&self.steps, "steps", &mut findings, 0);
        findings
    }

    fn check_ues(&self, ues: &UeSection) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut wrong = |path: &str, message: String| findings.push(Finding::new(path, message));
        if ues.count == 0 {
            wrong("count", "at least 1".into());
        }
        match (&ues.opc, &ues.op) {
            (None, None) => wrong("", "`opc` or `op` is needed".into()),
            (Some(_), Some(_)) => wrong("op", "`opc` and `op` exclude each other".into()),
            _ => {}
        }
        if imsi_of(ues, ues.count.saturating_sub(1)).is_none() {
            wrong(
                "imsi",
                format!(
                    "`{}` is not the first of {} IMSIs: write 15 digits, quoted",
                    ues.imsi, ues.count
                ),
            );
        } else if self.ue_config(ues, 0).is_err() {
            wrong("mnc_digits", "2 or 3".into());
        }
        let last = ues.count.saturating_sub(1);
        if let Some(Err(why)) = nai_of(ues, last) {
            wrong("nai", why.to_string());
        } else if let Some(nai) = &ues.nai
            && ues.count > 1
            && !nai.contains(NUMBER)
        {
            let example = nai.replacen('@', "-{n}@", 1);
            wrong("nai", format!("`{nai}` is the SUPI of several UEs: write `{example}`"));
        }
        if ues
            .imeisv
            .as_ref()
            .is_some_and(|i| i.len() != 16 || !i.bytes().all(|b| b.is_ascii_digit()))
        {
            wrong("imeisv", "16 digits, quoted".into());
        }
        for (path, list) in [("nea", &ues.nea), ("nia", &ues.nia)] {
            if list.as_ref().is_some_and(|list| list.iter().any(|id| *id > 3)) {
                wrong(path, "identifiers from 0 to 3".into());
            }
        }
        if let Some(digits) = &ues.routing_indicator
            && RoutingIndicator::new(digits).is_err()
        {
            wrong("routing_indicator", "1 to 4 digits, quoted".into());
        }
        if let Err(message) = suci(ues) {
            wrong("suci", message.to_string());
        }
        for (at, why) in ues.positioning.iter().flat_map(PositioningSection::check) {
            wrong(&format!("positioning.{at}"), why);
        }
        if let NetnsText(Some(name)) = &ues.netns
            && !matches!(name.as_str(), "auto" | "none")
            && ues.count > 1
            && !name.contains(NUMBER)
        {
            wrong(
                "netns",
                format!(
                    "`{name}` is the namespace of several UEs: write `auto`, or `{name}-{{n}}`"
                ),
            );
        }
        findings
    }

    fn check_steps(&self, steps: &[Step], path: &str, findings: &mut Vec<Finding>, depth: usize) {
        for (index, step) in steps.iter().enumerate() {
            let step_path = format!("{path}[{index}].{}", step.name());
            if let Some(group) = step.group()
                && !self.ues.iter().any(|ues| ues.name == group)
            {
                findings.push(Finding::new(
                    format!("{step_path}.ues"),
                    format!("there is no group `{group}`"),
                ));
            }
            if let Some(gnb) = step.gnb()
                && !self.gnbs.iter().any(|g| g.name == gnb)
            {
                findings.push(Finding::new(step_path.clone(), format!("there is no gNB `{gnb}`")));
            }
            let session = match step {
                Step::Establish(s) | Step::Release(s) => Some((s.session, s.ues.as_deref())),
                Step::Ping(p) => Some((p.session, p.ues.as_deref())),
                _ => None,
            };
            if let Some((session, group)) = session {
                let missing = self
                    .ues
                    .iter()
                    .filter(|ues| group.is_none_or(|group| ues.name == group))
                    .find(|ues| session >= ues.sessions.len().max(1));
                if let Some(ues) = missing {
                    let message = format!(
                        "group `{}` lists {} sessions: the first is number 0",
                        ues.name,
                        ues.sessions.len()
                    );
                    findings.push(Finding::new(format!("{step_path}.session"), message));
                }
            }
            let parallel = match step {
                Step::Register(w)
                | Step::RegisterBySuci(w)
                | Step::UpdateRegistration(w)
                | Step::ReleaseToIdle(w)
                | Step::WaitIdle(w)
                | Step::ServiceRequest(w)
                | Step::Deregister(w)
                | Step::SwitchOff(w) => Some((w.parallel, w.rate)),
                Step::Establish(s) | Step::Release(s) => Some((s.parallel, s.rate)),
                Step::Ping(p) => Some((p.parallel, None)),
                Step::Run(r) | Step::Host(r) => Some((r.parallel, None)),
                _ => None,
            };
            if let Some((parallel, rate)) = parallel {
                if parallel == 0 {
                    findings.push(Finding::new(format!("{step_path}.parallel"), "at least 1"));
                }
                if rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
                    findings.push(Finding::new(
                        format!("{step_path}.rate"),
                        "UEs per second, more than 0",
                    ));
                }
            }
            match step {
                Step::Repeat(repeat) if depth < 8 => {
                    self.check_steps(
                        &repeat.steps,
                        &format!("{step_path}.steps"),
                        findings,
                        depth + 1,
                    );
                }
                Step::Repeat(_) => {
                    findings.push(Finding::new(step_path, "nested repeats: at most eight levels"))
                }
                Step::Run(run) | Step::Host(run) if run.command.is_empty() => {
                    findings.push(Finding::new(
                        format!("{step_path}.command"),
                        "the program and its arguments",
                    ));
                }
                _ => {}
            }
        }
    }

    /// The gNB of UE number `n` of a group.
    pub fn gnb_of(&self, ues: &UeSection, n: u32) -> Option<&GnbSection> {
        match &ues.gnb {
            Some(name) => self.gnbs.iter().find(|gnb| gnb.name == *name),
            None => self.gnbs.get(n as usize % self.gnbs.len().max(1)),
        }
    }

    /// The configuration of UE number `n` of a group.
    ///
    /// # Errors
    /// A value of the group is invalid.
    pub fn ue_config(&self, ues: &UeSection, n: u32) -> Result<UeConfig, SectionError> {
        let imsi = imsi_of(ues, n).ok_or(SectionError::Imsi)?;
        let gnb = self.gnb_of(ues, n).ok_or(SectionError::NoGnb)?;
        let mnc_digits = ues.mnc_digits.unwrap_or(gnb.plmn.0.mnc().len());
        let operator_key = match (&ues.opc, &ues.op) {
            (Some(opc), _) => OperatorKey::Opc(opc.0),
            (None, Some(op)) => OperatorKey::Op(op.0),
            (None, None) => return Err(SectionError::NoOperatorKey),
        };
        let mut config = UeConfig::new(&imsi, mnc_digits, ues.k.0, operator_key)?;
        config.nai = nai_of(ues, n).transpose()?;
        config.sqn = ues.sqn;
        config.suci = suci(ues)?;
        if let Some(digits) = &ues.routing_indicator {
            config.routing_indicator = RoutingIndicator::new(digits)
                .map_err(|e| SectionError::RoutingIndicator(e.to_string()))?;
        }
        if let Some(imeisv) = &ues.imeisv {
            config.imeisv.clone_from(imeisv);
        }
        if let Some(nea) = &ues.nea {
            config.nea = mask(nea);
        }
        if let Some(nia) = &ues.nia {
            config.nia = mask(nia);
        }
        if let Some(positioning) = &ues.positioning {
            (config.lpp, config.lcs_upp) = (positioning.lpp, positioning.lcs_upp);
        }
        config.requested_nssai = ues.slices.iter().map(|s| s.0).collect();
        config.idle = match ues.automatic {
            true => IdleBehaviour::Automatic,
            false => IdleBehaviour::Manual,
        };
        let timers = &mut config.timers;
        let changes: [(&mut Duration, _); 8] = [
            (&mut timers.t3510, ues.timers.t3510),
            (&mut timers.t3511, ues.timers.t3511),
            (&mut timers.t3517, ues.timers.t3517),
            (&mut timers.t3520, ues.timers.t3520),
            (&mut timers.t3521, ues.timers.t3521),
            (&mut timers.t3540, ues.timers.t3540),
            (&mut timers.t3580, ues.timers.t3580),
            (&mut timers.t3582, ues.timers.t3582),
        ];
        for (timer, changed) in changes {
            if let Some(changed) = changed {
                *timer = changed.0;
            }
        }
        if let Some(attempts) = ues.timers.registration_attempts {
            timers.registration_attempts = attempts;
        }
        Ok(config)
    }
}

fn mask(identifiers: &[u8]) -> u8 {
    identifiers.iter().fold(0, |mask, id| mask | 0x80u8.checked_shr((*id).into()).unwrap_or(0))
}

/// IMSI number `n` of a group.
fn imsi_of(ues: &UeSection, n: u32) -> Option<String> {
    Imsi::new(&ues.imsi).ok()?;
    let next = ues.imsi.parse::<u64>().ok()?.checked_add(n.into())?;
    let text = format!("{next:0width$}", width = ues.imsi.len());
    (text.len() == ues.imsi.len()).then_some(text)
}

/// The network-specific identifier of UE number `n` of a group, if the group has one.
fn nai_of(ues: &UeSection, n: u32) -> Option<Result<String, SectionError>> {
    let nai = ues.nai.as_ref()?.replace(NUMBER, &n.to_string());
    let wrong = |reason: String| SectionError::Nai { nai: nai.clone(), reason };
    Some(match Supi::network_specific(&nai) {
        Err(error) => Err(wrong(error.to_string())),
        Ok(_) if nai.len() > MAX_NAI => Err(wrong(format!("{} bytes", nai.len()))),
        Ok(_) => Ok(nai),
    })
}

fn suci(ues: &UeSection) -> Result<SuciScheme, SectionError> {
    let Some(profile) = ues.suci.profile else { return Ok(SuciScheme::Null) };
    let key = ues.suci.key.as_ref().ok_or(SectionError::NoHomeNetworkKey)?;
    if ues.suci.key_id == 0 || ues.suci.key_id == 255 {
        return Err(SectionError::KeyId);
    }
    let key = match profile {
        Profile::A => {
            let key = <&[u8; 32]>::try_from(key.0.as_slice()).map_err(|_| {
                SectionError::HomeNetworkKey("a key of profile A has 32 bytes".into())
            })?;
            HomeNetworkPublicKey::profile_a(key)
        }
        Profile::B => HomeNetworkPublicKey::profile_b(&key.0)
            .map_err(|e| SectionError::HomeNetworkKey(e.to_string()))?,
    };
    Ok(SuciScheme::Ecies { key_id: ues.suci.key_id, key })
}

impl GnbSection {
    fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut wrong = |path: &str, message: String| findings.push(Finding::new(path, message));
        if self.name.is_empty() || self.name.len() > 150 {
            wrong("name", "1 to 150 characters".into());
        }
        if !(22..=32).contains(&self.gnb_id_bits) {
            wrong("gnb_id_bits", "22 to 32".into());
        } else if u64::from(self.gnb_id) >> self.gnb_id_bits != 0 {
            wrong("gnb_id", format!("does not fit in {} bits", self.gnb_id_bits));
        }
        if self.tac > 0xff_ffff {
            wrong("tac", "24 bits at most: up to 16777215".into());
        }
        if self.slices.is_empty() {
            wrong("slices", "at least one".into());
        }
        for (n, trp) in self.trps.iter().enumerate() {
            if let Some(why) = trp.wrong() {
                wrong(&format!("trps[{n}]"), why);
            }
        }
        if let Some(Err(why)) = self.radio.as_ref().map(crate::user_plane::RadioConfig::check) {
            wrong("radio", why.to_string());
        }
        findings
    }

    /// The configuration of the gNB.
    pub fn config(&self) -> GnbConfig {
        let mut config = GnbConfig::new(&self.name, self.plmn.0, self.gnb_id, self.amf.0);
        config.further_amfs = self.further_amfs.iter().map(|amf| amf.0).collect();
        config.gnb_id_bits = self.gnb_id_bits;
        config.tac = self.tac;
        config.slices = self.slices.iter().map(|s| s.0).collect();
        config.n2_local = self.n2_local;
        config.n3 = self.n3;
        config.radio = self.radio.clone();
        let trps = self.trps.iter().filter_map(CellSection::cell).zip(1..);
        config.trps = trps.map(|(cell, id)| Trp { id, cell }).collect();
        config.sctp = match self.sctp {
            Sctp::Auto => StackChoice::Auto,
            Sctp::Kernel => StackChoice::Kernel,
            Sctp::Usrsctp => StackChoice::Usrsctp,
        };
        config
    }
}

impl UeSection {
    /// The namespace of UE number `n`.
    pub fn netns_of(&self, n: u32) -> Netns {
        match self.netns.0.as_deref() {
            None | Some("none") => Netns::None,
            Some("auto") => Netns::Auto,
            Some(name) => Netns::Named(name.replace(NUMBER, &n.to_string())),
        }
    }

    /// The parameters of session number `index`. A group without sessions uses the network's
    /// defaults.
    pub fn session_request(&self, index: usize) -> PduSessionRequest {
        self.sessions.get(index).map(SessionSection::request).unwrap_or_default()
    }
}

impl SessionSection {
    fn request(&self) -> PduSessionRequest {
        PduSessionRequest {
            psi: None,
            dnn: self.dnn.clone(),
            slice: self.slice.map(|s| s.0),
            session_type: match self.session_type {
                SessionType::Ipv4 => PduSessionTypeValue::Ipv4,
                SessionType::Ipv6 => PduSessionTypeValue::Ipv6,
                SessionType::Ipv4v6 => PduSessionTypeValue::Ipv4v6,
            },
            ..PduSessionRequest::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ue::Slice;

    const GOOD: &str = r#"
name: two UEs
gnbs:
  - name: gnb-1
    plmn: 001-01
    gnb_id: 1
    amf: 127.0.0.5
    slices: [1, 1-010203]
    n3: 127.0.0.2
ues:
  - name: group
    imsi: "001010000000001"
    count: 3
    k: "465b5ce8b199b49faa5f0a2ee238a6bc"
    opc: "cd63cb71954a9f4e48a5994e37a02baf"
    nea: [0, 2]
    nia: [2]
    suci: {profile: A, key_id: 1,
      key: "5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650"}
    sessions:
      - {dnn: internet, slice: 1-010203}
    netns: auto
    timers: {t3580: 500ms}
steps:
  - register: {ues: group, parallel: 2, rate: 10}
  - register: {expect: {rejected: 3}}
  - establish: {session: 0}
  - ping: {target: 10.60.0.1, count: 3}
  - wait: 1.5s
  - repeat:
      times: 2
      steps:
        - release_to_idle: {}
        - service_request: {}
  - run: {command: [ping, -c, "1", 10.60.0.1]}
  - host: {command: [ping, -c, "1", "{ip}"]}
  - raw_ngap: {gnb: gnb-1, hex: "00 15 00", answer: "0009"}
  - raw_nas: {hex: 7e00}
  - replay: {}
  - wrong_mac: {}
  - gnb_abort: gnb-1
"#;

    #[test]
    fn a_valid_scenario_is_parsed() {
        let scenario = parse("x.yaml", GOOD).unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(scenario.gnbs[0].config().amf, ([127, 0, 0, 5], 38412).into());
        assert_eq!(scenario.gnbs[0].config().slices[1], Slice { sst: 1, sd: Some([1, 2, 3]) });
        let ues = &scenario.ues[0];
        let config = scenario.ue_config(ues, 2).unwrap();
        assert_eq!(config.imsi.as_str(), "001010000000003");
        assert_eq!((config.nea, config.nia), (0xa0, 0x20));
        assert!(matches!(config.suci, SuciScheme::Ecies { key_id: 1, .. }));
        assert_eq!(config.timers.t3580, Duration::from_millis(500));
        assert_eq!(ues.netns_of(1), Netns::Auto);
        assert_eq!(ues.session_request(0).dnn.as_deref(), Some("internet"));
        assert_eq!(scenario.steps.len(), 13);
        let Step::Register(second) = &scenario.steps[1] else { panic!("a registration") };
        assert_eq!(second.expect, super::super::file::Expect::Rejected(3));
    }

    /// The report of [`GOOD`] with one text changed for another.
    fn report(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        match parse("x.yaml", &GOOD.replacen(from, to, 1)) {
            Ok(_) => panic!("accepted: {to}"),
            Err(report) => report.to_string(),
        }
    }

    #[test]
    fn errors_are_reported_with_their_line() {
        let user = "u".repeat(253 - "-0@plant.example".len() + 1);
        let long = format!("nai: \"{user}-{{n}}@plant.example\"");
        for (from, to, word) in [
            ("gnb_id: 1", "gnb_id: one", "not a number"),
            ("    n3: 127.0.0.2", "    n3: 127.0.0.2\n    colour: red", "colour"),
            ("plmn: 001-01", "plmn: 1-1", "001-01"),
            ("slices: [1, 1-010203]", "slices: [1, 1-01]", "1-01"),
            ("gnb_id: 1", "gnb_id: 99999999", "bits"),
            ("count: 3", "count: 0", "at least 1"),
            ("imsi: \"001010000000001\"", "imsi: \"0010\"", "IMSI"),
            ("k: \"465b5ce8b199b49faa5f0a2ee238a6bc\"", "k: \"465b\"", "32 hexadecimal"),
            ("ues: group, parallel: 2", "ues: other, parallel: 2", "other"),
            ("parallel: 2", "parallel: 0", "at least 1"),
            ("session: 0}", "session: 4}", "number 0"),
            ("wait: 1.5s", "wait: long", "250ms"),
            ("gnb_abort: gnb-1", "gnb_abort: gnb-7", "gnb-7"),
            ("gnb_abort: gnb-1", "gnb_vanishes: gnb-1", "this key is now steps[12].gnb_abort"),
            ("hex: 7e00", "hex: xy", "hexadecimal"),
            ("key_id: 1", "key_id: 0", "key_id"),
            ("netns: auto", "netns: ue", "ue-{n}"),
            ("netns: auto", "nai: \"sensor-{n}\"", "write user@realm"),
            ("netns: auto", "nai: user@plant.example", "write `user-{n}@plant.example`"),
            ("netns: auto", long.as_str(), "253 bytes at most"),
        ] {
            let report = report(from, to);
            // The error is in the last changed line.
            let at = GOOD.find(from).expect(from) + to.len();
            let line = 1 + GOOD.replacen(from, to, 1)[..at].matches('\n').count();
            assert!(report.contains(&format!("x.yaml:{line}:")), "{to}, line {line}: {report}");
            assert!(report.contains(word), "{to}: {report}");
        }
    }

    #[test]
    fn a_group_has_network_specific_identifiers() {
        let text = GOOD.replace("netns: auto", "nai: \"sensor-{n}@plant.example\"");
        let scenario = parse("x.yaml", &text).unwrap_or_else(|report| panic!("{report}"));
        let config = scenario.ue_config(&scenario.ues[0], 2).unwrap();
        assert_eq!(config.supi(), "nai-sensor-2@plant.example");
        assert_eq!(config.imsi.as_str(), "001010000000003");
    }

    #[test]
    fn the_example_scenarios_are_valid() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
        let mut read = 0;
        for entry in std::fs::read_dir(directory).unwrap() {
            load(&entry.unwrap().path()).unwrap_or_else(|report| panic!("{report}"));
            read += 1;
        }
        assert!(read >= 5, "{read} examples");
    }

    #[test]
    fn an_unknown_step_is_rejected() {
        let report = report("replay: {}", "reply: {}");
        assert!(report.contains("x.yaml:39:") && report.contains("reply"), "{report}");
    }
}

//! The AMF's section of the configuration.
use martlet_config::Finding;
use martlet_context_store::ContextStoreConfig;
use martlet_nas::{CipheringAlgorithm, IntegrityAlgorithm};
use martlet_sbi_api::common::{PlmnId, Snssai};
use serde::{Deserialize, Serialize};

mod concurrency;
mod limits;
mod n2;
mod rebalancing;
mod timers;
pub use concurrency::{ConcurrencyConfig, Limit};
pub use limits::LimitsConfig;
pub use n2::{AllowConfig, N2Config, NeighboursConfig, SctpStackConfig, XnNeighbours};
pub use rebalancing::RebalancingConfig;
pub use timers::TimersConfig;

/// Configuration of the AMF.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AmfConfig {
    /// AMF name, sent to gNBs (TS 38.413, 9.3.3.21).
    pub name: String,
    /// Served GUAMIs; the first of a PLMN is used in new 5G-GUTIs.
    pub guamis: Vec<GuamiConfig>,
    /// PLMNs with their slices (PLMN support list; TS 38.413, 9.2.6.2).
    pub plmns: Vec<PlmnConfig>,
    /// Served tracking areas. Those of one PLMN form the registration area, at most 16.
    pub tais: Vec<TaiConfig>,
    /// Equivalent PLMNs, such as `00102`, at most 15.
    pub equivalent_plmns: Vec<String>,
    /// Relative AMF capacity, 0 to 255, by which gNBs select an AMF.
    pub relative_capacity: u8,
    /// N1: UEs that deviate from the specifications.
    pub n1: N1Config,
    /// N2 addresses.
    pub n2: N2Config,
    /// NAS security.
    pub security: SecurityConfig,
    /// Network name that UEs display.
    pub network_name: NetworkNameConfig,
    /// Indication of IMS voice over PS sessions (TS 24.501, 9.11.3.5). Without it a voice-centric
    /// UE leaves NR (4.3.2), and some establish no PDU session.
    pub ims_voice: bool,
    /// Whether gNBs get the assistance information with which they may keep UEs in RRC_INACTIVE
    /// (TS 23.501, 5.3.3.2.5).
    pub rrc_inactive: bool,
    /// NAS and NGAP timers.
    pub timers: TimersConfig,
    /// Limits.
    pub limits: LimitsConfig,
    /// Concurrency limits of procedures.
    pub concurrency: ConcurrencyConfig,
    /// The store that lets UE contexts outlive this process.
    pub context_store: ContextStoreConfig,
    /// Moves of registered UEs to other AMFs of the set.
    pub rebalancing: RebalancingConfig,
    /// Number of UEs that the status lists.
    pub status_ues: usize,
    /// AMF re-allocation via the (R)AN (TS 23.502, 4.2.2.2.3, step 7B) instead of directly (step
    /// 7A), for UEs whose 5G-GUTI is of this AMF.
    pub reroute_via_ran: bool,
}

/// How UEs that deviate from the specifications are treated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N1Config {
    /// Refuse deviations of UEs that are tolerated otherwise.
    pub strict: bool,
}

/// A GUAMI (TS 23.003, 2.10.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuamiConfig {
    /// MCC and MNC without a separator, such as `00101`.
    pub plmn: String,
    /// AMF region, 8 bits.
    pub region: u8,
    /// AMF set, 10 bits.
    pub set: u16,
    /// AMF pointer, 6 bits.
    pub pointer: u8,
}

/// A PLMN with its slices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlmnConfig {
    /// MCC and MNC without a separator, such as `00101`.
    pub plmn: String,
    /// Slices, each an `sst` with an `sd` of six hexadecimal digits, or without.
    pub slices: Vec<Snssai>,
}

/// A tracking area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaiConfig {
    /// MCC and MNC without a separator, such as `00101`.
    pub plmn: String,
    /// Tracking area code, 24 bits.
    pub tac: u32,
}

/// NAS security.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SecurityConfig {
    /// Integrity algorithms in order of preference. `NIA0` is null integrity, used only for
    /// emergency registrations of UEs that support nothing else. Without it, emergency
    /// registrations are rejected.
    pub integrity: Vec<IntegrityName>,
    /// Ciphering algorithms in order of preference. `NEA0` is null ciphering.
    pub ciphering: Vec<CipheringName>,
    /// Request the IMEISV with the security mode command.
    pub request_imeisv: bool,
    /// Authenticate a UE even if a known security context protects its initial registration.
    pub always_authenticate: bool,
    /// Reject UEs without the mandatory algorithms (TS 33.501, 5.2.2 and 5.2.3; TS 24.501,
    /// 5.5.1.2.8).
    pub mandatory_algorithms: bool,
    /// Give another AMF a derived K_AMF (horizontal key derivation; TS 33.501, 6.9.3) instead of
    /// the current one.
    pub derive_k_amf: bool,
    /// NAS COUNT at which a connected UE is authenticated again, below the end at 2^24.
    pub rekey_at_count: u32,
}

/// An integrity algorithm by its name (TS 33.501, 5.11.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the specification")]
pub enum IntegrityName {
    NIA0,
    NIA1,
    NIA2,
    NIA3,
}

/// A ciphering algorithm by its name (TS 33.501, 5.11.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the specification")]
pub enum CipheringName {
    NEA0,
    NEA1,
    NEA2,
    NEA3,
}

impl From<IntegrityName> for IntegrityAlgorithm {
    fn from(name: IntegrityName) -> Self {
        match name {
            IntegrityName::NIA0 => IntegrityAlgorithm::NIA0,
            IntegrityName::NIA1 => IntegrityAlgorithm::NIA1,
            IntegrityName::NIA2 => IntegrityAlgorithm::NIA2,
            IntegrityName::NIA3 => IntegrityAlgorithm::NIA3,
        }
    }
}

impl From<CipheringName> for CipheringAlgorithm {
    fn from(name: CipheringName) -> Self {
        match name {
            CipheringName::NEA0 => CipheringAlgorithm::NEA0,
            CipheringName::NEA1 => CipheringAlgorithm::NEA1,
            CipheringName::NEA2 => CipheringAlgorithm::NEA2,
            CipheringName::NEA3 => CipheringAlgorithm::NEA3,
        }
    }
}

/// Network name (TS 24.501, 5.4.4). If both are empty nothing is sent, and UEs display the name
/// that they know for the PLMN.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkNameConfig {
    /// Full name.
    pub full: String,
    /// Short name.
    pub short: String,
    /// Time zone, such as `+02:00`, in quarters of an hour, sent with the time of the machine's
    /// clock; omitted, neither is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

impl NetworkNameConfig {
    /// The time zone in quarters of an hour east of UTC; `None` if absent or invalid.
    pub(crate) fn quarter_hours(&self) -> Option<i8> {
        let text = self.time_zone.as_deref()?;
        let (sign, rest) = (text.get(..1)?, text.get(1..)?);
        let two = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        let (hours, minutes) =
            rest.split_once(':').filter(|(hours, minutes)| two(hours) && two(minutes))?;
        let (hours, minutes): (i8, i8) = (hours.parse().ok()?, minutes.parse().ok()?);
        let quarters = (hours <= 14 && minutes < 60 && minutes % 15 == 0)
            .then_some(4 * hours + minutes / 15)?;
        match sign {
            "+" => Some(quarters),
            "-" => Some(-quarters),
            _ => None,
        }
    }
}

impl Default for AmfConfig {
    fn default() -> Self {
        let plmn = || "00101".to_string();
        AmfConfig {
            name: "martlet-amf".into(),
            guamis: vec![GuamiConfig { plmn: plmn(), region: 1, set: 1, pointer: 0 }],
            plmns: vec![PlmnConfig { plmn: plmn(), slices: vec![Snssai::new(1, None)] }],
            tais: vec![TaiConfig { plmn: plmn(), tac: 1 }],
            equivalent_plmns: Vec::new(),
            relative_capacity: 255,
            n1: N1Config::default(),
            n2: N2Config::default(),
            security: SecurityConfig::default(),
            network_name: NetworkNameConfig::default(),
            ims_voice: true,
            rrc_inactive: false,
            timers: TimersConfig::default(),
            limits: LimitsConfig::default(),
            concurrency: ConcurrencyConfig::default(),
            context_store: ContextStoreConfig::default(),
            rebalancing: RebalancingConfig::default(),
            status_ues: 20,
            reroute_via_ran: false,
        }
    }
}

impl Default for SecurityConfig {
    fn default() -> Self {
        SecurityConfig {
            integrity: vec![IntegrityName::NIA2, IntegrityName::NIA1, IntegrityName::NIA3],
            ciphering: vec![
                CipheringName::NEA2,
                CipheringName::NEA1,
                CipheringName::NEA3,
                CipheringName::NEA0,
            ],
            request_imeisv: true,
            always_authenticate: false,
            mandatory_algorithms: false,
            derive_k_amf: true,
            rekey_at_count: 0xff_0000,
        }
    }
}

/// Whether names in NGAP may have a character: they are PrintableStrings (X.680, 41.4).
pub(crate) fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || " '()+,-./:=?".contains(character)
}

impl AmfConfig {
    /// Checks the values. Returns what is wrong and what to write.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |path: String, message: &str| findings.push(Finding::new(path, message));
        if self.name.is_empty() || self.name.len() > 150 {
            add("name".into(), "an AMF name has 1 to 150 characters");
        } else if !self.name.chars().all(is_of_name) {
            add(
                "name".into(),
                "write letters, digits, spaces and '()+,-./:=? alone: no underscore",
            );
        }
        if self.network_name.time_zone.is_some() && self.network_name.quarter_hours().is_none() {
            add("network_name.time_zone".into(), "not a time zone; write for example \"+02:00\"");
        }
        let plmn_is_wrong = |text: &str| text.contains('-') || text.parse::<PlmnId>().is_err();
        let digits = "write MCC and MNC in five or six digits, such as \"00101\"";
        self.check_guamis(&mut add, plmn_is_wrong, digits);
        if self.plmns.is_empty() || self.plmns.len() > 12 {
            add("plmns".into(), "write 1 to 12 PLMNs");
        }
        for (n, served) in self.plmns.iter().enumerate() {
            if plmn_is_wrong(&served.plmn) {
                add(format!("plmns[{n}].plmn"), digits);
            } else if !self.guamis.iter().any(|guami| guami.plmn == served.plmn) {
                add(format!("plmns[{n}].plmn"), "no GUAMI has this PLMN; add one to `guamis`");
            }
            if served.slices.is_empty() || served.slices.len() > 1024 {
                add(format!("plmns[{n}].slices"), "a PLMN has 1 to 1024 slices, such as {sst: 1}");
            }
        }
        if self.tais.is_empty() {
            add("tais".into(), "empty; write the PLMN and TAC of the gNBs");
        }
        for (n, tai) in self.tais.iter().enumerate() {
            if plmn_is_wrong(&tai.plmn) {
                add(format!("tais[{n}].plmn"), digits);
            } else if !self.plmns.iter().any(|served| served.plmn == tai.plmn) {
                add(format!("tais[{n}].plmn"), "this PLMN is not in `plmns`; add it there");
            }
            if tai.tac > 0xff_fffd || tai.tac == 0 {
                add(format!("tais[{n}].tac"), "a tracking area code is 1 to 16777213");
            }
        }
        if self.equivalent_plmns.len() > 15 {
            add("equivalent_plmns".into(), "15 at most (TS 24.501, 9.11.3.45)");
        }
        for (n, plmn) in
            self.equivalent_plmns.iter().enumerate().filter(|(_, plmn)| plmn_is_wrong(plmn))
        {
            add(format!("equivalent_plmns[{n}]"), &format!("{plmn:?}: {digits}"));
        }
        if self.security.integrity.is_empty() {
            add(
                "security.integrity".into(),
                "write the algorithms that are allowed, such as [NIA2, NIA1]",
            );
        }
        if self.security.ciphering.is_empty() {
            add(
                "security.ciphering".into(),
                "write the algorithms that are allowed, such as [NEA2, NEA0]",
            );
        }
        if !(8..=0xff_ff00).contains(&self.security.rekey_at_count) {
            findings.push(Finding::new(
                "security.rekey_at_count",
                "write 8 to 16776960, below the end of the NAS COUNT",
            ));
        }
        findings.extend(self.n2.check().into_iter().map(|finding| finding.within("n2")));
        findings.extend(self.timers.check().into_iter().map(|finding| finding.within("timers")));
        findings.extend(self.limits.check().into_iter().map(|finding| finding.within("limits")));
        findings.extend(
            self.concurrency.check().into_iter().map(|finding| finding.within("concurrency")),
        );
        findings.extend(
            self.rebalancing.check().into_iter().map(|finding| finding.within("rebalancing")),
        );
        findings
    }

    fn check_guamis(
        &self,
        add: &mut impl FnMut(String, &str),
        plmn_is_wrong: impl Fn(&str) -> bool,
        digits: &str,
    ) {
        if self.guamis.is_empty() || self.guamis.len() > 256 {
            add("guamis".into(), "an AMF has 1 to 256 GUAMIs");
        }
        for (n, guami) in self.guamis.iter().enumerate() {
            if plmn_is_wrong(&guami.plmn) {
                add(format!("guamis[{n}].plmn"), digits);
            }
            if guami.set > 0x3ff {
                add(format!("guamis[{n}].set"), "an AMF set has 10 bits: 0 to 1023");
            }
            if guami.pointer > 0x3f {
                add(format!("guamis[{n}].pointer"), "an AMF pointer has 6 bits: 0 to 63");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_zones_are_read_as_quarters_of_an_hour() {
        let of = |text: &str| {
            NetworkNameConfig { time_zone: Some(text.into()), ..Default::default() }.quarter_hours()
        };
        assert_eq!(
            [of("+02:00"), of("-03:30"), of("+05:45"), of("+00:00")],
            [Some(8), Some(-14), Some(23), Some(0)]
        );
        assert_eq!(
            [of("02:00"), of("+2:00"), of("+02:10"), of("+15:00"), of(""), of("+-1:00")],
            [None; 6]
        );
    }

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(AmfConfig::default().check(), []);
        assert_eq!(serde_json::from_str::<AmfConfig>("{}").unwrap(), AmfConfig::default());
    }

    #[test]
    fn each_wrong_value_is_reported_with_its_key() {
        let mut config = AmfConfig { name: "amf_1".into(), ..Default::default() };
        config.plmns[0].plmn = "1".into();
        config.tais[0].tac = 0;
        config.guamis[0].pointer = 64;
        config.equivalent_plmns = vec!["00102".into(), "2".into()];
        config.n2.streams = 1;
        config.security.integrity.clear();
        config.timers.t3560_ms = 0;
        config.limits.max_ues = 0;
        let paths: Vec<_> = config.check().into_iter().map(|finding| finding.path).collect();
        let wanted = [
            "name",
            "guamis[0].pointer",
            "plmns[0].plmn",
            "tais[0].plmn",
            "tais[0].tac",
            "equivalent_plmns[1]",
            "security.integrity",
            "n2.streams",
            "timers.t3560_ms",
            "limits.max_ues",
        ];
        assert_eq!(paths, wanted);
    }
}

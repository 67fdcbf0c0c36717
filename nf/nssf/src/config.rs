//! The NSSF's section of the configuration.
use martlet_config::Finding;
use martlet_sbi_api::common::{PlmnId, Snssai, Tai};
use serde::{Deserialize, Serialize};

/// A tracking area with a subset of the network's slices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AreaConfig {
    /// MCC and MNC without a separator, such as `00101`. Left out: any PLMN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plmn: Option<String>,
    /// Tracking area code, 24 bits.
    pub tac: u32,
    /// Its slices.
    pub slices: Vec<Snssai>,
}

/// The network slice instance that sessions of a slice use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceConfig {
    /// The slice.
    pub slice: Snssai,
    /// NSI identity.
    pub nsi: String,
    /// API root of the NRF of this instance. Left out: the NSSF's NRF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nrf: Option<String>,
}

/// An AMF set for UEs that use a subset of the slices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmfSetConfig {
    /// Such as `001-01-01-002`: MCC, MNC, region and set.
    pub set: String,
    /// A UE whose allowed slices are all among these is served by this set.
    pub slices: Vec<Snssai>,
}

impl NssfConfig {
    /// The AMF set for a UE with these allowed slices.
    pub fn amf_set(&self, allowed: &[Snssai]) -> Option<String> {
        let fits = |set: &&AmfSetConfig| allowed.iter().all(|slice| set.slices.contains(slice));
        let found = self.amf_sets.iter().find(fits).map(|set| set.set.clone());
        found.or_else(|| self.target_amf_set.clone())
    }
}

/// The NSSF's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NssfConfig {
    /// Slices of the network, each an `sst` with an `sd` of six hexadecimal digits, or without.
    pub slices: Vec<Snssai>,
    /// Tracking areas with fewer slices.
    pub areas: Vec<AreaConfig>,
    /// Network slice instances.
    pub instances: Vec<InstanceConfig>,
    /// AMF sets for some slices. They precede `target_amf_set`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub amf_sets: Vec<AmfSetConfig>,
    /// AMF set that serves the slices, such as `001-01-01-001` (MCC, MNC, region, set). Left out:
    /// the requesting AMF keeps the UE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_amf_set: Option<String>,
}

impl Default for NssfConfig {
    fn default() -> Self {
        NssfConfig {
            slices: vec![Snssai::new(1, None)],
            areas: Vec::new(),
            instances: Vec::new(),
            amf_sets: Vec::new(),
            target_amf_set: None,
        }
    }
}

fn plmn_matches(plmn: &PlmnId, text: &str) -> bool {
    text.strip_prefix(plmn.mcc()).is_some_and(|mnc| mnc == plmn.mnc())
}

impl NssfConfig {
    /// The slices of a tracking area: those of its entry in `areas`, else all.
    pub(crate) fn supported(&self, tai: Option<&Tai>) -> &[Snssai] {
        let here = |area: &&AreaConfig| {
            tai.is_some_and(|tai| {
                area.tac == tai.tac.to_u32()
                    && area.plmn.as_ref().is_none_or(|plmn| plmn_matches(&tai.plmn_id, plmn))
            })
        };
        self.areas.iter().find(here).map_or(&self.slices, |area| &area.slices)
    }

    /// Checks the values.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut wrong = |path: String, message: String| findings.push(Finding::new(path, message));
        if self.slices.is_empty() {
            wrong("slices".into(), "a network has at least one slice: write - sst: 1".into());
        }
        let unknown =
            |slice: &Snssai| format!("slice {slice} is not among nssf.slices: add it there");
        for (n, area) in self.areas.iter().enumerate() {
            if area.tac >> 24 != 0 {
                wrong(format!("areas[{n}].tac"), "a tracking area code has 24 bits".into());
            }
            let digits = |plmn: &String| {
                matches!(plmn.len(), 5 | 6) && plmn.bytes().all(|b| b.is_ascii_digit())
            };
            if area.plmn.as_ref().is_some_and(|plmn| !digits(plmn)) {
                wrong(
                    format!("areas[{n}].plmn"),
                    "write MCC and MNC as five or six digits, such as 00101".into(),
                );
            }
            for (m, slice) in
                area.slices.iter().enumerate().filter(|(_, slice)| !self.slices.contains(slice))
            {
                wrong(format!("areas[{n}].slices[{m}]"), unknown(slice));
            }
        }
        for (n, instance) in self.instances.iter().enumerate() {
            if !self.slices.contains(&instance.slice) {
                wrong(format!("instances[{n}].slice"), unknown(&instance.slice));
            }
        }
        let sets = self.amf_sets.iter().enumerate();
        let sets = sets.map(|(n, it)| (format!("amf_sets[{n}].set"), &it.set));
        let target = self.target_amf_set.iter().map(|set| ("target_amf_set".to_string(), set));
        for (path, _) in sets.chain(target).filter(|(_, set)| !is_amf_set(set)) {
            let message = "write MCC, MNC, AMF region and AMF set, such as 001-01-01-001";
            wrong(path, message.into());
        }
        findings
    }
}

/// Whether the text is an `AmfSetId` (TS 29.531, 6.1.6.2.2):
/// `^[0-9]{3}-[0-9]{2,3}-[A-Fa-f0-9]{2}-[0-3][A-Fa-f0-9]{2}$`.
fn is_amf_set(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [mcc, mnc, region, set] = parts[..] else { return false };
    let decimal = |part: &str, lengths: &[usize]| {
        lengths.contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_digit())
    };
    let hexadecimal = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    decimal(mcc, &[3])
        && decimal(mnc, &[2, 3])
        && hexadecimal(region, 2)
        && hexadecimal(set, 3)
        && set.starts_with(['0', '1', '2', '3'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_errors_name_the_path() {
        assert_eq!(NssfConfig::default().check(), []);
        let area = AreaConfig {
            plmn: Some("1/1".into()),
            tac: 1 << 24,
            slices: vec![Snssai::new(2, None)],
        };
        let instance = InstanceConfig { slice: Snssai::new(3, None), nsi: "a".into(), nrf: None };
        let config = NssfConfig {
            areas: vec![area],
            instances: vec![instance],
            amf_sets: ["001-01-01-002", "001-01-2"]
                .map(|set| AmfSetConfig { set: set.into(), slices: Vec::new() })
                .into(),
            target_amf_set: Some("001-01-01-401".into()),
            ..NssfConfig::default()
        };
        let paths: Vec<_> = config.check().into_iter().map(|finding| finding.path).collect();
        assert_eq!(
            paths,
            [
                "areas[0].tac",
                "areas[0].plmn",
                "areas[0].slices[0]",
                "instances[0].slice",
                "amf_sets[1].set",
                "target_amf_set"
            ]
        );
        assert!(
            is_amf_set("001-01-01-3ff") && !is_amf_set("001-01-01") && !is_amf_set("001-1-01-001")
        );
    }

    #[test]
    fn an_area_applies_to_its_plmn() {
        let area = |plmn: Option<&str>, tac, sst| AreaConfig {
            plmn: plmn.map(str::to_string),
            tac,
            slices: vec![Snssai::new(sst, None)],
        };
        let config = NssfConfig {
            slices: (1..=3).map(|sst| Snssai::new(sst, None)).collect(),
            areas: vec![area(Some("00101"), 7, 2), area(None, 7, 3)],
            ..NssfConfig::default()
        };
        let supported = |mnc: &str, tac: &str| {
            let tai: Tai = serde_json::from_value(
                serde_json::json!({"plmnId": {"mcc": "001", "mnc": mnc}, "tac": tac}),
            )
            .unwrap();
            config.supported(Some(&tai)).iter().map(|slice| slice.sst).collect::<Vec<_>>()
        };
        assert_eq!(supported("01", "000007"), [2]);
        assert_eq!(supported("02", "000007"), [3]);
        assert_eq!(supported("01", "000008"), [1, 2, 3]);
        assert_eq!(config.supported(None).len(), 3);
    }
}

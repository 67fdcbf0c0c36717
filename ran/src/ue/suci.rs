//! The SUCI of a UE (TS 33.501, 6.12.2). It is computed in advance, because ECIES takes longer than
//! all other work before a registration request is sent.
use super::config::{SuciScheme, UeConfig, UeConfigError};
use martlet_nas::NasFGsMobileIdentity;
use martlet_security::nas_5gs::{Protection, Suci, Supi};

/// Conceals the SUPI of `config`, with a fresh ephemeral key each time.
///
/// # Errors
/// An IMSI that does not split into PLMN and MSIN, a network-specific identifier that is no NAI, or
/// a key or key identifier that ECIES rejects.
pub fn conceal(config: &UeConfig) -> Result<NasFGsMobileIdentity, UeConfigError> {
    let wrong = |e: &dyn std::fmt::Display| {
        UeConfigError::Value(format!("the SUCI cannot be computed: {e}"))
    };
    let protection = match &config.suci {
        SuciScheme::Null => Protection::Null,
        SuciScheme::Ecies { key_id, key } => Protection::Ecies { key_id: *key_id, key },
    };
    let suci = match &config.nai {
        Some(nai) => {
            let supi = Supi::network_specific(nai).map_err(|e| wrong(&e))?;
            Suci::conceal_nai(&supi, config.routing_indicator, protection)
        }
        None => {
            let plmn = config.home_plmn()?;
            let msin = config.imsi.msin(config.mnc_digits).map_err(|e| wrong(&e))?;
            Suci::conceal_imsi(plmn, msin, config.routing_indicator, protection)
        }
    };
    let octets = suci.and_then(|suci| suci.to_nas_octets()).map_err(|e| wrong(&e))?;
    Ok(NasFGsMobileIdentity::new(octets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ue::config::OperatorKey;
    use martlet_security::nas_5gs::HomeNetworkPrivateKey;

    fn config() -> UeConfig {
        UeConfig::new("001010000000042", 2, [1; 16], OperatorKey::Opc([2; 16])).unwrap()
    }

    #[test]
    fn the_null_scheme_leaves_the_msin_in_clear() {
        let identity = conceal(&config()).unwrap();
        assert_eq!(identity.to_string(), "suci-0-001-01-0-0-0-0000000042");
    }

    #[test]
    fn a_network_specific_identifier_is_sent_as_an_nai() {
        let mut config = config();
        config.nai = Some("first-user@example.org".into());
        assert_eq!(config.supi(), "nai-first-user@example.org");
        let identity = conceal(&config).unwrap();
        assert_eq!(identity.to_string(), "type1.rid0.schid0.useridfirst-user@example.org");
        config.nai = Some("user@".into());
        assert!(conceal(&config).is_err());
    }

    #[test]
    fn both_profiles_are_read_back_by_the_home_network() {
        let keys = [
            HomeNetworkPrivateKey::profile_a(&[7; 32]),
            HomeNetworkPrivateKey::profile_b(&[7; 32]).expect("a scalar of the curve"),
        ];
        for key in keys {
            let mut config = config();
            config.suci = SuciScheme::Ecies { key_id: 3, key: key.public_key() };
            let (one, two) = (conceal(&config).unwrap(), conceal(&config).unwrap());
            assert_ne!(one.value, two.value, "each SUCI has an ephemeral key of its own");
            let read = Suci::from_nas_octets(&one.value).unwrap();
            assert_eq!(read.deconceal(Some(&key)).unwrap().to_string(), "imsi-001010000000042");
        }
    }
}

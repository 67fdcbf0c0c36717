//! A PDU session of a UE, and the address of its SM context (TS 29.502).
use martlet_interop::SbiQuirk;
use martlet_nas::identifiers::Slice;
use martlet_sbi::ApiRoot;
use martlet_sbi_api::common::Dnn;

/// The address of an SM context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SmContext {
    /// Root of the SMF.
    pub root: ApiRoot,
    /// `smContextRef`.
    pub reference: String,
}

impl SmContext {
    /// From the `Location` of a created context. `smf` is the root if the location has none.
    /// `tolerates` says whether the location may be the reference alone
    /// ([`SbiQuirk::BareSmContextReference`]).
    pub fn from_location(
        location: &str,
        smf: &ApiRoot,
        tolerates: impl FnOnce(SbiQuirk) -> bool,
    ) -> Option<Self> {
        let (mut root, path) = ApiRoot::split(location).unwrap_or_else(|| (smf.clone(), location));
        if !path.is_empty() && !path.contains('/') {
            return tolerates(SbiQuirk::BareSmContextReference)
                .then(|| SmContext { root, reference: path.to_string() });
        }
        let (before, rest) = path.split_once("/nsmf-pdusession/")?;
        if !before.is_empty() {
            root.prefix = before.to_string();
        }
        let reference = rest.split('/').nth(2).filter(|text| !text.is_empty())?;
        Some(SmContext { root, reference: reference.to_string() })
    }
}

/// A PDU session.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// Number of the session, never reused. It is part of the status callback URI.
    pub number: u64,
    pub slice: Slice,
    pub dnn: Dnn,
    pub context: SmContext,
    /// Whether its user plane is active, or being activated.
    pub active: bool,
    /// The release has been sent to the UE and its gNB.
    pub releasing: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sm_context_address_is_read_from_its_location() {
        let smf = ApiRoot::http("smf:80");
        let at = |location: &str| SmContext::from_location(location, &smf, |_| true);
        let context = at("http://127.0.0.16:7777/nsmf-pdusession/v1/sm-contexts/42").unwrap();
        assert_eq!(
            (context.root.to_string(), context.reference),
            ("http://127.0.0.16:7777".into(), "42".into())
        );
        let context = at("https://smf.example/core/nsmf-pdusession/v1/sm-contexts/a").unwrap();
        assert_eq!(context.root.to_string(), "https://smf.example/core");
        assert_eq!(at("/nsmf-pdusession/v1/sm-contexts/a").unwrap().root, smf);
        for wrong in
            ["", "http://smf", "http://smf/nsmf-pdusession/v1/sm-contexts/", "sm-contexts/a"]
        {
            assert!(at(wrong).is_none(), "{wrong}");
        }
    }
}

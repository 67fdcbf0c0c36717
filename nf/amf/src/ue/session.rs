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
    /// `tolerates` says whether the location may be the reference alone, or have a host without a
    /// scheme, which is not used ([`SbiQuirk::BareSmContextReference`]).
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
        let has_host = !before.is_empty() && !before.starts_with('/');
        if has_host && !tolerates(SbiQuirk::BareSmContextReference) {
            return None;
        }
        if !before.is_empty() && !has_host {
            root.prefix = before.to_string();
        }
        let reference = rest.split('/').nth(2).filter(|text| !text.is_empty())?;
        Some(SmContext { root, reference: reference.to_string() })
    }
}

/// State of a PDU session in the AMF.
///
/// ```text
///              activate              begin_release
/// Deactivated ----------> Activated ---------------> Releasing { at_gnb: true }
///      ^  |  <----------                                          | deactivate
///      |  |   deactivate                                          v
///   new|  +--------------------------------------->  Releasing { at_gnb: false }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SessionState {
    /// The user plane is deactivated: the gNB has no resources for the session.
    #[default]
    Deactivated,
    /// The user plane is active, or being activated.
    Activated,
    /// The release has been sent to the UE and its gNB. The user plane is not activated any more.
    Releasing {
        /// The gNB has still to release its resources.
        at_gnb: bool,
    },
}

impl SessionState {
    /// The gNB has resources for the session, or is asked for them.
    pub fn activate(&mut self) {
        *self = match self {
            SessionState::Releasing { .. } => SessionState::Releasing { at_gnb: true },
            _ => SessionState::Activated,
        };
    }

    /// The gNB has no resources for the session.
    pub fn deactivate(&mut self) {
        *self = match self {
            SessionState::Releasing { .. } => SessionState::Releasing { at_gnb: false },
            _ => SessionState::Deactivated,
        };
    }

    /// The release has been sent.
    pub fn begin_release(&mut self) {
        *self = SessionState::Releasing { at_gnb: self.is_active() };
    }

    /// Whether the gNB has resources for the session.
    pub fn is_active(self) -> bool {
        matches!(self, SessionState::Activated | SessionState::Releasing { at_gnb: true })
    }

    /// Whether the session is being released.
    pub fn is_releasing(self) -> bool {
        matches!(self, SessionState::Releasing { .. })
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
    pub state: SessionState,
    /// The SMF has not accepted that this AMF serves the UE. The next update has it again.
    pub is_unannounced: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_session_is_not_activated_again() {
        let mut state = SessionState::default();
        state.activate();
        assert_eq!((state, state.is_active()), (SessionState::Activated, true));
        state.begin_release();
        assert!(state.is_releasing() && state.is_active());
        state.deactivate();
        assert!(state.is_releasing() && !state.is_active());
        state.activate();
        assert_eq!(state, SessionState::Releasing { at_gnb: true });
    }

    #[test]
    fn a_session_without_resources_is_released_without_the_gnb() {
        let mut state = SessionState::Deactivated;
        state.begin_release();
        assert_eq!(state, SessionState::Releasing { at_gnb: false });
    }

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
        // As OAI's SMF sends it up to version 2.0.
        let without_scheme = "192.0.2.1:8080/nsmf-pdusession/v1/sm-contexts/1";
        let context = at(without_scheme).unwrap();
        assert_eq!((context.root, context.reference), (smf.clone(), "1".into()));
        assert!(SmContext::from_location(without_scheme, &smf, |_| false).is_none());
        for wrong in
            ["", "http://smf", "http://smf/nsmf-pdusession/v1/sm-contexts/", "sm-contexts/a"]
        {
            assert!(at(wrong).is_none(), "{wrong}");
        }
    }
}

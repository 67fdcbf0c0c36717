//! Why a request is rejected (TS 29.244, 7.6).
use martlet_pfcp::IeValue;
use martlet_pfcp::ie::{Cause, FailedRuleId, OffendingIe};
use martlet_upf_datapath::DatapathError;
use martlet_upf_rules::RuleError;

/// The cause and the offending IE of a rejection.
#[derive(Debug, Clone)]
pub(super) struct Rejection {
    pub cause: Cause,
    pub offending: Option<u16>,
    pub failed: Option<FailedRuleId>,
    pub why: String,
}

impl From<Cause> for Rejection {
    fn from(cause: Cause) -> Self {
        Rejection { cause, offending: None, failed: None, why: String::new() }
    }
}

impl From<RuleError> for Rejection {
    fn from(error: RuleError) -> Self {
        let why = error.to_string();
        Rejection { cause: error.cause, offending: error.offending, failed: error.failed, why }
    }
}

impl From<DatapathError> for Rejection {
    fn from(error: DatapathError) -> Self {
        let why = error.to_string();
        let (cause, failed) = match error {
            DatapathError::NoResources(_) => (Cause::NO_RESOURCES_AVAILABLE, None),
            DatapathError::Pdr { pdr, .. } => {
                (Cause::RULE_CREATION_FAILURE, Some(FailedRuleId::Pdr(pdr)))
            }
            DatapathError::TableNotMapped => (Cause::SYSTEM_FAILURE, None),
        };
        Rejection { cause, offending: None, failed, why }
    }
}

impl Rejection {
    /// A mandatory element is missing.
    pub fn missing<T: IeValue>() -> Self {
        let why = format!("information element {} is missing", T::TYPE);
        Rejection {
            cause: Cause::MANDATORY_IE_MISSING,
            offending: Some(T::TYPE),
            failed: None,
            why,
        }
    }

    /// A rule that does not exist.
    pub fn no_rule(failed: FailedRuleId) -> Self {
        RuleError::failure(failed, format!("{failed:?} does not exist")).into()
    }

    pub fn offending_ie(&self) -> Option<OffendingIe> {
        self.offending.map(OffendingIe)
    }
}

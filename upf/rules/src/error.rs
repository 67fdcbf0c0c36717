//! Why a rule is rejected.
use martlet_pfcp::IeValue;
use martlet_pfcp::ie::{Cause, FailedRuleId};

/// Why a rule is rejected, with cause and offending IE for the response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct RuleError {
    /// Cause (TS 29.244, 8.2.1).
    pub cause: Cause,
    /// Type of the information element at fault.
    pub offending: Option<u16>,
    /// The rule at fault.
    pub failed: Option<FailedRuleId>,
    /// For the log.
    pub why: String,
}

impl RuleError {
    /// A rule that cannot be created or modified: "Rule creation/modification Failure" with the
    /// rule's ID.
    pub fn failure(rule: FailedRuleId, why: impl Into<String>) -> Self {
        RuleError {
            cause: Cause::RULE_CREATION_FAILURE,
            offending: None,
            failed: Some(rule),
            why: why.into(),
        }
    }

    /// A required IE is missing here.
    pub fn conditional<T: IeValue>(why: impl Into<String>) -> Self {
        let offending = Some(T::TYPE);
        RuleError { cause: Cause::CONDITIONAL_IE_MISSING, offending, failed: None, why: why.into() }
    }

    /// An element is missing although another one requires it; the caller names it.
    pub fn incomplete(why: impl Into<String>) -> Self {
        RuleError {
            cause: Cause::CONDITIONAL_IE_MISSING,
            offending: None,
            failed: None,
            why: why.into(),
        }
    }

    /// A rule with an element that requests an unsupported feature: "Service not supported".
    pub fn not_supported<T: IeValue>(rule: FailedRuleId, why: impl Into<String>) -> Self {
        RuleError {
            cause: Cause::SERVICE_NOT_SUPPORTED,
            offending: Some(T::TYPE),
            failed: Some(rule),
            why: why.into(),
        }
    }

    /// A rule with an element that has an invalid value: "Rule creation/modification Failure" with
    /// the element's type.
    pub fn incorrect<T: IeValue>(rule: FailedRuleId, why: impl Into<String>) -> Self {
        RuleError { offending: Some(T::TYPE), ..RuleError::failure(rule, why) }
    }

    /// More than a configured limit.
    pub fn no_resources(why: impl Into<String>) -> Self {
        RuleError {
            cause: Cause::NO_RESOURCES_AVAILABLE,
            offending: None,
            failed: None,
            why: why.into(),
        }
    }

    /// Another cause.
    pub fn other(cause: Cause, why: impl Into<String>) -> Self {
        RuleError { cause, offending: None, failed: None, why: why.into() }
    }
}

//! The cases, by procedure.
mod authentication;
mod connection;
mod errors;
mod handover;
mod ng_setup;
mod registration;
mod security_mode;
mod session;

use super::case::Case;

/// The groups of cases in the order in which they are played.
pub(super) fn groups() -> [(&'static str, &'static [Case]); 8] {
    [
        ("Interface management", ng_setup::CASES),
        ("Errors", errors::CASES),
        ("Registration and deregistration", registration::CASES),
        ("Authentication", authentication::CASES),
        ("Security mode and protection", security_mode::CASES),
        ("Sessions", session::CASES),
        ("Connection, service request and paging", connection::CASES),
        ("Handovers", handover::CASES),
    ]
}

/// All cases.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    groups().into_iter().flat_map(|(_, cases)| cases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_each_case_has_its_clause() {
        let names: HashSet<_> = cases().map(|case| case.name).collect();
        assert_eq!(names.len(), cases().count());
        assert!(names.len() >= 30, "{}", names.len());
        for case in cases() {
            assert!(case.clause.starts_with("TS "), "{}", case.name);
            assert!(!case.stimulus.is_empty() && !case.expected.is_empty(), "{}", case.name);
        }
    }
}

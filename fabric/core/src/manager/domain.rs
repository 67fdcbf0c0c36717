//! Security domains: which processes may share memory, decided by user and group.
use serde::{Deserialize, Serialize};

/// A set of processes that may share memory with each other, and with no others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub struct Domain {
    /// Display name.
    pub name: String,
    /// User IDs whose processes belong to the domain.
    #[serde(default)]
    pub uids: Vec<u32>,
    /// Group IDs whose processes belong to the domain. Supplementary groups do not count.
    #[serde(default)]
    pub gids: Vec<u32>,
}

/// The first domain that matches a process's user or group.
pub fn of(domains: &[Domain], uid: u32, gid: u32) -> Option<&Domain> {
    domains.iter().find(|domain| domain.uids.contains(&uid) || domain.gids.contains(&gid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_matching_domain_is_used() {
        let domain = |name: &str, uids: &[u32], gids: &[u32]| Domain {
            name: name.into(),
            uids: uids.into(),
            gids: gids.into(),
        };
        let domains = [domain("core", &[0, 990], &[]), domain("guests", &[990], &[1000])];
        let name = |uid, gid| of(&domains, uid, gid).map(|domain| domain.name.as_str());
        assert_eq!(name(0, 0), Some("core"));
        assert_eq!(name(990, 1000), Some("core"));
        assert_eq!(name(5, 1000), Some("guests"));
        assert_eq!(name(5, 5), None);
    }
}

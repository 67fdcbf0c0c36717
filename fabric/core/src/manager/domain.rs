//! Security domains: which processes belong together, told by who runs them.
use serde::{Deserialize, Serialize};

/// Processes that may share memory with each other and with nobody else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub struct Domain {
    /// What people call it.
    pub name: String,
    /// Users whose processes belong to it, by number.
    #[serde(default)]
    pub uids: Vec<u32>,
    /// Groups whose processes belong to it, by number: the process's own group, not its
    /// supplementary ones.
    #[serde(default)]
    pub gids: Vec<u32>,
}

/// The first domain that a process belongs to, by what the kernel says of it.
pub fn of(domains: &[Domain], uid: u32, gid: u32) -> Option<&Domain> {
    domains.iter().find(|domain| domain.uids.contains(&uid) || domain.gids.contains(&gid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_before_strangers() {
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

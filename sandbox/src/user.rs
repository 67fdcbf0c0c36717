//! The user that a process becomes.
use crate::error::ReductionError;
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use std::sync::OnceLock;

/// Whether the process is root's.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Whether this process can become a user: in a container, only some numbers exist
/// (user_namespaces(7)).
pub fn is_mapped(uid: u32) -> bool {
    static MAP: OnceLock<String> = OnceLock::new();
    let read = || std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    has_uid(MAP.get_or_init(read), uid)
}

fn has_uid(map: &str, uid: u32) -> bool {
    map.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace().map(|field| field.parse::<u64>());
        let (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) =
            (fields.next(), fields.next(), fields.next())
        else {
            return false;
        };
        (first..first.saturating_add(count)).contains(&u64::from(uid))
    })
}

/// A user of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// User ID.
    pub uid: u32,
    /// ID of the primary group.
    pub gid: u32,
    /// IDs of the supplementary groups.
    pub groups: Vec<u32>,
}

/// A name without a user.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// There is no such user.
    #[error("there is no user {0:?}: add it with `useradd --system {0}`, or change security.user")]
    Unknown(String),
    /// The database of users cannot be read.
    #[error("user {0:?} cannot be looked up: {1}")]
    LookUp(String, nix::Error),
    /// Root would keep all rights.
    #[error("user {0:?} is root: name another one")]
    Root(String),
}

impl User {
    /// The user with a name or a number. A number needs no entry in the database of users.
    ///
    /// # Errors
    /// There is none, or it is root.
    pub fn find(name: &str) -> Result<User, UserError> {
        let found = match name.parse() {
            Ok(uid) => nix::unistd::User::from_uid(Uid::from_raw(uid)),
            Err(_) => nix::unistd::User::from_name(name),
        };
        let found = found.map_err(|error| UserError::LookUp(name.into(), error))?;
        let user = match (found, name.parse()) {
            (Some(user), _) => {
                User { uid: user.uid.as_raw(), gid: user.gid.as_raw(), groups: Vec::new() }
            }
            (None, Ok(id)) => User { uid: id, gid: id, groups: Vec::new() },
            (None, Err(_)) => return Err(UserError::Unknown(name.into())),
        };
        if user.uid == 0 { Err(UserError::Root(name.into())) } else { Ok(user) }
    }

    /// The name of the user with a number, if the database of users has it.
    pub fn name_of(uid: u32) -> Option<String> {
        let found = nix::unistd::User::from_uid(Uid::from_raw(uid)).ok().flatten();
        found.map(|user| user.name)
    }

    /// Becomes this user, in all threads, with its groups alone.
    pub(crate) fn assume(&self) -> Result<(), ReductionError> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        let failed = |call| move |error| ReductionError::Call { call, error };
        let groups: Vec<_> = self.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
        setgroups(&groups).map_err(failed("setgroups"))?;
        setresgid(gid, gid, gid).map_err(failed("setresgid"))?;
        setresuid(uid, uid, uid).map_err(failed("setresuid"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_number_and_root_is_none() {
        assert_eq!(User::find("54321").unwrap(), User { uid: 54321, gid: 54321, groups: vec![] });
        assert!(matches!(User::find("root"), Err(UserError::Root(_))));
        assert!(matches!(User::find("0"), Err(UserError::Root(_))));
        let error = User::find("no-such-user").unwrap_err().to_string();
        assert!(error.contains("useradd"), "{error}");
    }

    #[test]
    fn numbers_of_a_container_are_those_of_its_map() {
        let container = "         0     100000      65536\n     70000    200000   10\n";
        let known = [0, 65_535, 70_000, 70_009].map(|uid| has_uid(container, uid));
        assert_eq!(known, [true; 4]);
        let unknown = [65_536, 69_999, 70_010, u32::MAX].map(|uid| has_uid(container, uid));
        assert_eq!(unknown, [false; 4]);
        assert!(has_uid("0 0 4294967295", 60_900) && !has_uid("", 0));
    }
}

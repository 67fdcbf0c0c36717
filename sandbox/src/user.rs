//! The user that a process becomes.
use crate::error::ReductionError;
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};

/// Whether the process is root's.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// A user of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// User ID.
    pub uid: u32,
    /// ID of the primary group.
    pub gid: u32,
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
            (Some(user), _) => User { uid: user.uid.as_raw(), gid: user.gid.as_raw() },
            (None, Ok(id)) => User { uid: id, gid: id },
            (None, Err(_)) => return Err(UserError::Unknown(name.into())),
        };
        if user.uid == 0 { Err(UserError::Root(name.into())) } else { Ok(user) }
    }

    /// Becomes this user, in all threads, without supplementary groups.
    pub(crate) fn assume(&self) -> Result<(), ReductionError> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        let failed = |call| move |error| ReductionError::Call { call, error };
        setgroups(&[]).map_err(failed("setgroups"))?;
        setresgid(gid, gid, gid).map_err(failed("setresgid"))?;
        setresuid(uid, uid, uid).map_err(failed("setresuid"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_number_and_root_is_none() {
        assert_eq!(User::find("54321").unwrap(), User { uid: 54321, gid: 54321 });
        assert!(matches!(User::find("root"), Err(UserError::Root(_))));
        assert!(matches!(User::find("0"), Err(UserError::Root(_))));
        let error = User::find("no-such-user").unwrap_err().to_string();
        assert!(error.contains("useradd"), "{error}");
    }
}

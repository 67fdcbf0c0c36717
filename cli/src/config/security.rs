//! Rights of the processes of the core.
use super::oam::{API_FUNCTION, PROCESSES};
use martlet_config::Finding;
use martlet_sandbox::{SeccompMode, Settings, User, is_mapped};
use serde::Deserialize;

/// The user that is used if it exists and none is configured.
const USER: &str = "martlet";
/// The first number of the functions' users: neither distributions nor systemd assign it, and
/// containers with 65,536 users have it.
const FUNCTION_USERS: u32 = 60_900;

/// Section `security`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SecuritySection {
    /// User, by name or number, that processes of root become. Default: `martlet`, if the machine
    /// has this user.
    pub user: Option<String>,
    /// First of 11 user numbers for functions in processes of their own, which root starts: each
    /// becomes another one. 0: all become `user`.
    pub function_users: u32,
    /// What happens at a system call that is not in the list of the function.
    pub seccomp: SeccompMode,
    /// Whether to restrict file access with Landlock, if the kernel has it.
    pub landlock: bool,
    /// Whether functions in processes of their own are forked. They then share memory, and have the
    /// same layout of addresses, which is another one at each start. `false`: they are executed.
    pub fork: bool,
    /// The user, after its lookup.
    #[serde(skip)]
    found: Option<User>,
}

impl Default for SecuritySection {
    fn default() -> Self {
        SecuritySection {
            user: None,
            function_users: FUNCTION_USERS,
            seccomp: SeccompMode::Kill,
            landlock: true,
            fork: true,
            found: None,
        }
    }
}

impl SecuritySection {
    /// The user that processes of root become.
    pub fn user(&self) -> Option<User> {
        let find = || User::find(self.user.as_deref().unwrap_or(USER)).ok();
        self.found.clone().or_else(find)
    }

    /// The user that the process of a function becomes; `core` for all functions in one process.
    /// The API alone becomes the core's user.
    pub fn user_of(&self, function: &str) -> Option<User> {
        let core = self.user()?;
        let of_udr = self.own_uid("udr");
        if let Some(gid) = of_udr.filter(|_| function == API_FUNCTION) {
            // It copies databases and reads the UE histories of the functions, and it writes the
            // subscriber database as the UDR does: files that it creates beside that are the UDR's,
            // too.
            let groups = [vec![core.gid], self.function_uids()].concat();
            return Some(User { uid: core.uid, gid, groups });
        }
        Some(match self.own_uid(function) {
            Some(uid) => User { uid, gid: uid, groups: vec![core.gid] },
            None => core,
        })
    }

    /// The users of functions that have one of their own.
    pub fn function_uids(&self) -> Vec<u32> {
        PROCESSES.iter().filter_map(|function| self.own_uid(function)).collect()
    }

    /// The own users of functions that need no keys of subscribers.
    pub fn uids_without_keys(&self) -> Vec<u32> {
        let others = PROCESSES.iter().filter(|function| !matches!(**function, "udr" | "udm"));
        others.filter_map(|function| self.own_uid(function)).collect()
    }

    /// All users that processes of the core become.
    pub fn uids(&self) -> Vec<u32> {
        let core = self.user().map(|user| user.uid);
        core.map(|uid| [vec![uid], self.function_uids()].concat()).unwrap_or_default()
    }

    /// The number of a function's own user, if it has one.
    fn own_uid(&self, function: &str) -> Option<u32> {
        let position = PROCESSES.iter().position(|name| *name == function)?;
        let last = self.function_users.checked_add(PROCESSES.len() as u32)?;
        let exists = self.function_users != 0 && is_mapped(self.function_users) && is_mapped(last);
        let has_own = exists && function != API_FUNCTION;
        has_own.then_some(self.function_users + position as u32)
    }

    /// Looks the user up, before this process loses access to the database of users.
    pub fn set_user(&mut self) {
        self.found = self.user();
    }

    /// What is taken away from the process of a function.
    pub fn settings(&self, function: &str) -> Settings {
        Settings { user: self.user_of(function), seccomp: self.seccomp, landlock: self.landlock }
    }

    pub(super) fn check(&self) -> Vec<Finding> {
        let found = self.user.as_deref().map(User::find);
        let wrong = found.and_then(Result::err);
        let mut findings: Vec<_> =
            wrong.map(|error| Finding::new("user", error.to_string())).into_iter().collect();
        let is_used = martlet_sandbox::is_root() && self.user().is_some();
        let taken = self.function_uids().into_iter().filter(|_| is_used);
        if let Some((uid, name)) = taken.filter_map(|uid| Some((uid, User::name_of(uid)?))).next() {
            let text = format!(
                "user {uid} is {name:?}: name the first of {} numbers without a user, or 0 to run \
                 all functions as one user",
                PROCESSES.len()
            );
            findings.push(Finding::new("function_users", text));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_has_a_user_of_its_own_and_the_api_is_in_their_groups() {
        let section = SecuritySection { user: Some("54321".into()), ..SecuritySection::default() };
        let of = |function| section.user_of(function).expect("a user");
        assert_eq!(of("core").uid, 54_321);
        let amf = of("amf");
        assert_eq!((amf.uid, amf.groups), (amf.gid, vec![54_321]));
        let api = of(API_FUNCTION);
        assert_eq!((api.uid, api.gid, api.groups[0]), (54_321, of("udr").gid, 54_321));
        assert_eq!(api.groups.len(), PROCESSES.len());
        let mut uids = section.uids();
        uids.dedup();
        assert_eq!(uids.len(), PROCESSES.len());
        let without_keys = section.uids_without_keys();
        let has = |function| without_keys.contains(&of(function).uid);
        assert!(has("amf") && has("smf") && !has("udr") && !has("udm") && !has(API_FUNCTION));

        let shared = SecuritySection { function_users: 0, ..section };
        assert!(PROCESSES.iter().all(|name| shared.user_of(name) == shared.user()));
        assert_eq!(shared.uids(), [54_321]);
        assert!(shared.uids_without_keys().is_empty());
        let without = SecuritySection { user: Some("no-such-user".into()), ..shared };
        assert!(without.uids().is_empty() && without.user_of("amf").is_none());
    }
}

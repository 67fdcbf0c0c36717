//! Rights of the processes of the core.
use martlet_config::Finding;
use martlet_sandbox::{SeccompMode, Settings, User};
use serde::Deserialize;

/// The user that is used if it exists and none is configured.
const USER: &str = "martlet";

/// Section `security`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SecuritySection {
    /// User, by name or number, that processes of root become. Default: `martlet`, if the machine
    /// has this user.
    pub user: Option<String>,
    /// What happens at a system call that is not in the list of the function.
    pub seccomp: SeccompMode,
    /// Whether to restrict file access with Landlock, if the kernel has it.
    pub landlock: bool,
    /// The user, once it was looked up.
    #[serde(skip)]
    found: Option<User>,
}

impl Default for SecuritySection {
    fn default() -> Self {
        SecuritySection { user: None, seccomp: SeccompMode::Kill, landlock: true, found: None }
    }
}

impl SecuritySection {
    /// The user that processes of root become.
    pub fn user(&self) -> Option<User> {
        let find = || User::find(self.user.as_deref().unwrap_or(USER)).ok();
        self.found.clone().or_else(find)
    }

    /// Looks the user up, before this process loses access to the database of users.
    pub fn set_user(&mut self) {
        self.found = self.user();
    }

    /// What is taken away from a process.
    pub fn settings(&self) -> Settings {
        Settings { user: self.user(), seccomp: self.seccomp, landlock: self.landlock }
    }

    pub(super) fn check(&self) -> Vec<Finding> {
        let found = self.user.as_deref().map(User::find);
        let wrong = found.and_then(Result::err);
        wrong.map(|error| Finding::new("user", error.to_string())).into_iter().collect()
    }
}

//! Files and folders that a process may use, by Landlock (landlock(7)).
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use std::path::PathBuf;

/// The version of Landlock whose rights are restricted, as far as the kernel has it.
const VERSION: ABI = ABI::V6;

/// Paths, each with everything below it. Missing ones are left out.
#[derive(Debug, Clone, Default)]
pub struct FileAccess {
    /// Paths to read.
    pub read: Vec<PathBuf>,
    /// Paths to read, write, create and remove.
    pub write: Vec<PathBuf>,
    /// Programs to execute, with their libraries.
    pub execute: Vec<PathBuf>,
}

impl FileAccess {
    /// Restricts this thread, and those that it starts. Returns what is in force.
    pub(crate) fn restrict(&self, executes: bool) -> String {
        match self.apply(executes) {
            Ok(text) => text,
            Err(error) => format!("not permitted ({error})"),
        }
    }

    fn apply(&self, executes: bool) -> Result<String, RulesetError> {
        let all = AccessFs::from_all(VERSION);
        let read = AccessFs::from_read(VERSION) & !AccessFs::Execute;
        let write = all & !AccessFs::Execute & !AccessFs::MakeChar & !AccessFs::MakeBlock;
        let execute = AccessFs::from_read(VERSION);
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(all)?
            .scope(Scope::Signal)?
            .create()?
            .add_rules(rules(&self.read, read))?
            .add_rules(rules(&self.write, write))?;
        let programs = if executes { &self.execute[..] } else { &[] };
        let status = ruleset.add_rules(rules(programs, execute))?.restrict_self()?;
        Ok(match (status.ruleset, status.landlock) {
            (RulesetStatus::NotEnforced, _) => "the kernel has none".into(),
            (_, LandlockStatus::Available { effective_abi, .. }) => {
                format!("version {}", effective_abi as i32)
            }
            (_, other) => format!("{other:?}"),
        })
    }
}

/// Whether the kernel has Landlock.
pub fn has_landlock() -> bool {
    const VERSION_QUERY: libc::c_ulong = 1;
    // SAFETY: without attributes, the call returns a version and reads no memory.
    let version = unsafe {
        let none = std::ptr::null::<libc::c_void>();
        libc::syscall(libc::SYS_landlock_create_ruleset, none, 0usize, VERSION_QUERY)
    };
    version > 0
}

fn rules(
    paths: &[PathBuf],
    access: landlock::BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<PathFd>, RulesetError>> {
    path_beneath_rules(paths, access)
}

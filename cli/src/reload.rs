//! Reloading of the configuration on SIGHUP: what changed, what was applied, and what needs a
//! restart.
use anyhow::Result;
use martlet::config::Config;
use martlet::config::reference::{is_reloaded, is_within};
use martlet_config::{from_yaml, text_of};
use martlet_nf::Reload;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Keys that concern every function. Without a CHF, the others alone can report that it is wanted.
const SHARED: [&str; 8] =
    ["state_dir", "strict", "network", "sbi", "fabric", "oam", "security", "chf.enabled"];

/// What a reload did.
#[derive(Debug, Default)]
pub struct Reloaded {
    /// What was applied, in words.
    pub applied: Vec<String>,
    /// Keys that need a restart.
    pub restart: Vec<String>,
}

impl std::fmt::Display for Reloaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let or_nothing = |texts: &[String], separator: &str| match texts.is_empty() {
            true => "nothing".to_string(),
            false => texts.join(separator),
        };
        write!(
            f,
            "configuration reloaded; applied: {}; restart needed for: {}",
            or_nothing(&self.applied, "; "),
            or_nothing(&self.restart, ", ")
        )
    }
}

/// The keys that differ between two files, and those of them that need a restart.
pub fn difference(before: &str, after: &str) -> (Vec<String>, Vec<String>) {
    let changed = changed(&leaves(before), &leaves(after));
    let restart = changed.iter().filter(|path| !is_reloaded(path)).cloned().collect();
    (changed, restart)
}

/// Values by path.
type Leaves = BTreeMap<String, String>;

/// The configuration of this process, and its functions that can reload theirs.
pub struct Reloader {
    file: Option<PathBuf>,
    functions: Vec<(&'static str, Reload)>,
    /// The function of a process of its own; `None` for all.
    function: Option<&'static str>,
    /// The values that are in force.
    running: Leaves,
}

impl Reloader {
    /// Stores the values of the file with which the process started.
    pub fn new(
        file: Option<PathBuf>,
        functions: Vec<(&'static str, Reload)>,
        function: Option<&'static str>,
    ) -> Reloader {
        let text = file.as_deref().and_then(|file| text_of(file).ok()).unwrap_or_default();
        Reloader { file, functions, function, running: leaves(&text) }
    }

    /// Reads the file again and passes each function its section. Returns what was done. A wrong
    /// configuration changes nothing.
    ///
    /// # Errors
    /// The configuration is wrong.
    pub fn reload(&mut self) -> Result<Reloaded> {
        let config = Config::load(self.file.as_deref())?;
        let text = self.file.as_deref().map(text_of).transpose()?.unwrap_or_default();
        let written = leaves(&text);
        let changed = changed(&self.running, &written);
        let (applied, restart): (Vec<String>, Vec<String>) =
            changed.into_iter().filter(|path| self.concerns(path)).partition(|path| {
                is_reloaded(path) && self.functions.iter().any(|(n, _)| is_within(path, n))
            });
        let mut words = Vec::new();
        for (name, reload) in &self.functions {
            let section: Box<dyn std::any::Any> = match *name {
                "pcf" => Box::new(config.pcf.clone()),
                "udm" => Box::new(config.udm.clone()),
                _ => continue,
            };
            let done = reload(section);
            if let Some(done) = done.filter(|_| applied.iter().any(|path| is_within(path, name))) {
                words.push(format!("{name}: {done}"));
            }
        }
        // Changes that need a restart are reported until there is one.
        self.running.retain(|path, _| !is_reloaded(path));
        self.running.extend(written.into_iter().filter(|(path, _)| is_reloaded(path)));
        Ok(Reloaded { applied: words, restart })
    }

    fn concerns(&self, path: &str) -> bool {
        let Some(function) = self.function else { return true };
        is_within(path, function) || SHARED.iter().any(|section| is_within(path, section))
    }
}

/// The paths whose values differ. Of a list only the list is named.
fn changed(one: &Leaves, other: &Leaves) -> Vec<String> {
    let paths = one.keys().chain(other.keys().filter(|path| !one.contains_key(*path)));
    let mut changed: Vec<String> =
        paths.filter(|path| one.get(*path) != other.get(*path)).cloned().collect();
    changed.sort();
    changed
}

/// The values of a text. A list is one value.
fn leaves(text: &str) -> Leaves {
    let mut leaves = Leaves::new();
    if let Ok(value) = from_yaml::<Value>(text) {
        collect(&value, "", &mut leaves);
    }
    leaves
}

fn collect(value: &Value, path: &str, into: &mut Leaves) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(member, &path, into);
            }
        }
        Value::Null => {}
        other => {
            into.insert(path.into(), other.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn applied_changes_and_those_that_need_a_restart_are_distinguished() {
        let file = std::env::temp_dir().join(format!("martlet-reload-{}.yaml", std::process::id()));
        let write = |text: &str| std::fs::write(&file, text).unwrap();
        write("amf: { name: one }\n");
        let apply: Reload = Arc::new(|_| Some("policies".into()));
        let mut reloader = Reloader::new(Some(file.clone()), vec![("pcf", apply)], None);
        let mut smf = Reloader::new(Some(file.clone()), Vec::new(), Some("smf"));
        let nothing = "configuration reloaded; applied: nothing; restart needed for: nothing";
        assert_eq!(reloader.reload().unwrap().to_string(), nothing);
        write("amf: { name: two }\npcf: { default_5qi: 8, max_am_policies: 9 }\n");
        let expected = "configuration reloaded; applied: pcf: policies; restart needed for: \
                        amf.name, pcf.max_am_policies";
        assert_eq!(reloader.reload().unwrap().to_string(), expected);
        // Another function has nothing to do with it.
        assert_eq!(smf.reload().unwrap().to_string(), nothing);
        // It is reported until there is a restart, and an invalid file changes nothing.
        let again = "configuration reloaded; applied: nothing; restart needed for: amf.name, \
                     pcf.max_am_policies";
        assert_eq!(reloader.reload().unwrap().to_string(), again);
        write("amf: { nmae: two }\n");
        assert!(reloader.reload().unwrap_err().to_string().contains("did you mean name?"));
        // What is no function's own concerns it, too.
        write("strict: true\nsecurity: { fork: false }\nchf: { enabled: true }\n");
        let shared = "configuration reloaded; applied: nothing; restart needed for: chf.enabled, \
                      security.fork, strict";
        assert_eq!(smf.reload().unwrap().to_string(), shared);
        let _ = std::fs::remove_file(&file);
    }
}

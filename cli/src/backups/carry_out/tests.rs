//! Restores that are interrupted, fail, or are not what was staged.
use super::*;
use crate::backups::{acknowledge, control_folder, copy, preview, stage, state, withdraw};
use martlet_store::{DatabaseUrl, Secret, Store, Subscriber, inspection};
use std::os::unix::fs::{MetadataExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const OLD: &str = "imsi-001010000000001";
const NEW: &str = "imsi-001010000000002";

struct Site {
    folder: PathBuf,
    config: Config,
}

impl Site {
    fn new(name: &str) -> Self {
        let name = format!("martlet-restore-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("martlet.yaml");
        std::fs::write(&file, "chf: { enabled: true }\n").unwrap();
        let config = Config::load(Some(&file)).unwrap();
        Site { folder, config }
    }

    fn add(&self, supi: &str) {
        let store = Store::open_at(&self.config.database(), None).unwrap();
        let subscriber = Subscriber::new(supi, Secret([1; 16]), Secret([2; 16]), "internet");
        store.add(&[subscriber], false).unwrap();
    }

    /// The subscribers, whose keys open with the key that is there.
    fn supis(&self) -> Vec<String> {
        let store = Store::open_at(&self.config.database(), None).unwrap();
        store.list("", 10).unwrap().into_iter().map(|one| one.supi).collect()
    }

    /// The database of a function.
    fn contexts(&self, function: &str) -> PathBuf {
        self.folder.join(format!("martlet.{function}.db"))
    }

    fn put_context(&self, function: &str, value: &str) {
        let url = DatabaseUrl::File(self.contexts(function));
        let store = Store::open_at(&url, Some(&self.folder.join("martlet.db.key"))).unwrap();
        store.put_context("", "test", "key", value).unwrap();
    }

    fn context(&self, function: &str) -> Option<String> {
        inspection::read_context(&self.contexts(function), "test", "key").ok().flatten()
    }

    fn backup(&self) -> PathBuf {
        self.folder.join("backup")
    }

    fn control(&self) -> PathBuf {
        control_folder(&self.config).unwrap()
    }

    /// A backup with another key, an AMF and no CHF, and a present state with all three.
    fn with_backup(name: &str) -> Self {
        let site = Site::new(name);
        site.add(OLD);
        site.put_context("amf", "old");
        copy(&site.config, None, &site.backup(), Some("eva")).unwrap();
        for entry in std::fs::read_dir(&site.folder).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with("martlet.") && name.contains(".db") && entry.path().is_file() {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        site.add(NEW);
        site.put_context("amf", "new");
        site.put_context("chf", "new");
        // A journal that SQLite would write into the database beside it.
        std::fs::write(site.folder.join("martlet.smf.db"), "").unwrap();
        std::fs::write(site.folder.join("martlet.smf.db-journal"), "of the old database").unwrap();
        site
    }

    fn is_old(&self) -> bool {
        let amf = self.context("amf");
        let is_old = self.supis() == [OLD] && amf.as_deref() == Some("old");
        is_old && !self.contexts("chf").exists() && !self.contexts("smf").exists()
    }

    fn is_new(&self) -> bool {
        let value = |function| self.context(function);
        let is_new = self.supis() == [NEW] && value("amf").as_deref() == Some("new");
        let journal = self.folder.join("martlet.smf.db-journal");
        is_new && value("chf").as_deref() == Some("new") && journal.exists()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The number of moves of the restore of [`Site::with_backup`].
fn moves(name: &str) -> usize {
    let site = Site::with_backup(name);
    stage(&site.config, &site.backup(), "eva").unwrap();
    let mut moves = 0;
    let mut count = || {
        moves += 1;
        Ok(())
    };
    let last = carry_out_with(&site.config, &mut count).unwrap().unwrap();
    assert_eq!(last.error, None);
    assert!(site.is_old());
    moves
}

#[test]
fn a_backup_that_fails_leaves_no_copies() {
    let site = Site::new("failed-backup");
    site.add(OLD);
    let damaged = site.contexts("smf");
    std::fs::write(&damaged, "no database at all, but a text of some length").unwrap();
    let failed = copy(&site.config, None, &site.backup(), None);
    assert!(matches!(failed, Err(BackupError::Io { .. })), "{failed:?}");
    assert!(!site.backup().exists(), "copies are left");
    std::fs::remove_file(&damaged).unwrap();
    copy(&site.config, None, &site.backup(), None).unwrap();
}

#[test]
fn a_restore_replaces_all_files_and_keeps_the_replaced_ones_as_a_backup() {
    let site = Site::with_backup("whole");
    let seen = preview(&site.config, &site.backup()).unwrap();
    let subscribers = seen.subscribers;
    assert_eq!((subscribers.now, subscribers.in_backup), (Some(1), 1));
    assert_eq!((subscribers.lost, subscribers.back), (Some(1), Some(1)));
    assert_eq!(seen.files, ["subscribers.db", "amf.db", "operator.key"]);
    assert_eq!(seen.emptied, ["smf.db", "chf.db"]);
    assert!(site.is_new(), "a preview changes nothing");
    stage(&site.config, &site.backup(), "eva").unwrap();
    assert!(site.is_new(), "staging changes nothing");
    // The backup may be away meanwhile.
    std::fs::rename(site.backup(), site.folder.join("away")).unwrap();
    let again = stage(&site.config, &site.folder.join("away"), "ida").unwrap_err();
    assert!(matches!(again, BackupError::Staged(_)), "{again}");
    let last = carry_out(&site.config).unwrap().unwrap();
    assert!(site.is_old(), "{last:?}");
    assert_eq!(state(&site.config).unwrap().last, Some(last.clone()));
    assert_eq!(state(&site.config).unwrap().staged, None);
    assert!(!site.control().join(COPIES).exists());
    assert!(carry_out(&site.config).unwrap().is_none(), "it is carried out once");

    let replaced = PathBuf::from(last.replaced.unwrap());
    stage(&site.config, &replaced, "eva").unwrap();
    carry_out(&site.config).unwrap().unwrap();
    assert_eq!(site.supis(), [NEW]);
    assert_eq!(site.context("chf").as_deref(), Some("new"));
}

#[test]
fn a_restore_that_is_killed_at_any_move_is_completed_by_the_next_start() {
    for n in 0..moves("killed") {
        let site = Site::with_backup(&format!("killed-{n}"));
        stage(&site.config, &site.backup(), "eva").unwrap();
        let mut left = n;
        let mut end = || {
            left = left.checked_sub(1).expect("killed");
            Ok(())
        };
        let killed = AssertUnwindSafe(|| carry_out_with(&site.config, &mut end));
        assert!(catch_unwind(killed).is_err(), "{n}");
        let last = carry_out(&site.config).unwrap().unwrap();
        assert_eq!(last.error, None, "{n}");
        assert!(site.is_old(), "killed before move {n}");
    }
}

#[test]
fn a_restore_that_fails_at_any_move_leaves_the_old_files() {
    for n in 0..moves("failed") {
        let site = Site::with_backup(&format!("failed-{n}"));
        stage(&site.config, &site.backup(), "eva").unwrap();
        let mut left = n;
        let mut fail = || {
            let failed = || BackupError::io(Path::new("/dev/full"), "injected");
            left = left.checked_sub(1).ok_or_else(failed)?;
            Ok(())
        };
        let last = carry_out_with(&site.config, &mut fail).unwrap().unwrap();
        assert!(last.error.as_deref().unwrap().contains("injected"), "{last:?}");
        assert!(site.is_new(), "failed at move {n}");
        let left: Vec<_> = std::fs::read_dir(site.control()).unwrap().flatten().collect();
        let mut names: Vec<_> = left.iter().map(|entry| entry.file_name()).collect();
        names.sort();
        assert_eq!(names, ["backups.json", LAST], "{n}");
        assert!(carry_out(&site.config).unwrap().is_none(), "it is not tried again");
    }
}

/// A restore of copies that were damaged.
fn fail(site: &Site) -> LastRestore {
    stage(&site.config, &site.backup(), "eva").unwrap();
    std::fs::write(site.control().join(COPIES).join("amf.db"), "damaged").unwrap();
    carry_out(&site.config).unwrap().unwrap()
}

#[test]
fn a_failed_restore_is_acknowledged_by_a_user_and_by_the_withdrawal_of_another() {
    let site = Site::with_backup("acknowledged");
    acknowledge(&site.config, "ida").unwrap();
    assert_eq!(state(&site.config).unwrap().last, None, "nothing to acknowledge");
    let acknowledged = || state(&site.config).unwrap().last.unwrap().acknowledged_by;
    let last = fail(&site);
    assert!(last.error.unwrap().contains("amf.db"));
    assert!(last.remedy.unwrap().contains("backup"));
    assert_eq!(acknowledged(), None);
    acknowledge(&site.config, "ida").unwrap();
    acknowledge(&site.config, "eva").unwrap();
    assert_eq!(acknowledged().as_deref(), Some("ida"), "the first one stays");
    fail(&site);
    assert_eq!(acknowledged(), None, "another failure");
    stage(&site.config, &site.backup(), "eva").unwrap();
    assert_eq!(acknowledged(), None);
    withdraw(&site.config, "eva").unwrap().unwrap();
    assert_eq!(acknowledged().as_deref(), Some("eva"));
    stage(&site.config, &site.backup(), "eva").unwrap();
    carry_out(&site.config).unwrap().unwrap();
    acknowledge(&site.config, "ida").unwrap();
    assert_eq!(acknowledged(), None, "it did not fail");
}

#[test]
fn the_replaced_files_of_the_last_three_restores_are_retained() {
    let site = Site::with_backup("retained");
    stage(&site.config, &site.backup(), "eva").unwrap();
    let folder = |name: &str| site.control().join(format!("{REPLACED}{name}"));
    // One of a clock that was ahead, and one with a file of the operator's.
    let earlier = ["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04", "2099-01-01"];
    for name in earlier {
        control(&site).created(&format!("{REPLACED}{name}")).unwrap();
        for file in [SUBSCRIBERS, "subscribers.db-wal", "chf.db", KEY, MANIFEST] {
            std::fs::write(folder(name).join(file), "old").unwrap();
        }
    }
    std::fs::write(folder("2020-01-01").join("notes"), "mine").unwrap();
    let last = carry_out(&site.config).unwrap().unwrap();
    assert!(site.is_old(), "{last:?}");
    assert!(Path::new(&last.replaced.unwrap()).is_dir());
    let retained = earlier.map(|name| folder(name).exists());
    assert_eq!(retained, [true, false, false, true, true]);
    assert_eq!(std::fs::read_dir(folder("2020-01-01")).unwrap().count(), 1, "the notes");
    assert!(folder("2020-01-04").join(SUBSCRIBERS).exists());
}

fn control(site: &Site) -> Folder {
    open_control(&site.config, false).unwrap().unwrap()
}

#[test]
fn a_withdrawn_restore_is_not_carried_out() {
    let site = Site::with_backup("withdrawn");
    assert!(withdraw(&site.config, "eva").unwrap().is_none());
    stage(&site.config, &site.backup(), "eva").unwrap();
    assert_eq!(withdraw(&site.config, "eva").unwrap().unwrap().by, "eva");
    assert!(carry_out(&site.config).unwrap().is_none());
    assert!(site.is_new());
}

#[test]
fn a_database_in_use_is_not_replaced() {
    let site = Site::with_backup("in-use");
    stage(&site.config, &site.backup(), "eva").unwrap();
    // Locks of this process conflict with each other only if they are of open files.
    let program = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); \
                   c.execute('select count(*) from subscriber').fetchone(); print('open'); \
                   sys.stdout.flush(); sys.stdin.read()";
    let mut user = std::process::Command::new("python3")
        .args(["-c", program])
        .arg(site.folder.join("martlet.db"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 4];
    std::io::Read::read_exact(user.stdout.as_mut().unwrap(), &mut line).unwrap();
    assert_eq!(in_use(&site.config).unwrap(), Some(site.folder.join("martlet.db")));
    assert!(carry_out(&site.config).unwrap().is_none());
    assert!(state(&site.config).unwrap().staged.is_some(), "it stays staged");
    drop(user.stdin.take());
    user.wait().unwrap();
    assert!(carry_out(&site.config).unwrap().is_some());
    assert!(site.is_old());
}

/// Code inside the API writes the control folder as it likes: nothing else is read or written.
#[test]
fn attack_a_staged_restore_with_links_or_other_names_touches_no_other_file() {
    let secret = std::env::temp_dir().join(format!("martlet-secret-{}", std::process::id()));
    std::fs::write(&secret, "of root").unwrap();
    let attack = |name: &str, plant: &dyn Fn(&Path)| {
        let site = Site::with_backup(name);
        stage(&site.config, &site.backup(), "eva").unwrap();
        plant(&site.control());
        match carry_out(&site.config) {
            Ok(outcome) => assert!(outcome.is_none_or(|last| last.error.is_some()), "{name}"),
            Err(error) => assert!(matches!(error, BackupError::HalfDone(_)), "{name}: {error}"),
        }
        assert!(site.is_new(), "{name}");
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "of root", "{name}");
        assert_eq!(std::fs::metadata(&secret).unwrap().nlink(), 1, "{name}");
    };
    let copy = |control: &Path| control.join(COPIES).join(SUBSCRIBERS);
    attack("link", &|control| {
        std::fs::remove_file(copy(control)).unwrap();
        symlink(&secret, copy(control)).unwrap();
    });
    attack("length", &|control| std::fs::write(copy(control), "another").unwrap());
    attack("folder", &|control| {
        std::fs::rename(control.join(COPIES), control.join("other")).unwrap();
        symlink(control.join("other"), control.join(COPIES)).unwrap();
    });
    attack("control", &|control| {
        let other = control.with_extension("other");
        std::fs::rename(control, &other).unwrap();
        symlink(&other, control).unwrap();
    });
    attack("request", &|control| {
        let text = std::fs::read_to_string(control.join(STAGED)).unwrap();
        let text = text.replace("amf.db", "../../../../etc/passwd");
        std::fs::write(control.join(STAGED), text).unwrap();
    });
    attack("begun", &|control| {
        let staged: serde_json::Value =
            serde_json::from_slice(&std::fs::read(control.join(STAGED)).unwrap()).unwrap();
        std::fs::create_dir_all(control.with_extension("other")).unwrap();
        let begun = serde_json::json!({"staged": staged, "replaced": "../martlet.db.other"});
        std::fs::write(control.join(CARRYING_OUT), begun.to_string()).unwrap();
    });
    attack("words", &|control| std::fs::write(control.join(STAGED), "{}").unwrap());
    attack("writable", &|control| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(control, mode).unwrap();
    });
    std::fs::remove_file(&secret).unwrap();
}

#[test]
fn attack_a_control_folder_of_another_user_is_left_alone() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("SKIPPED: files are given to others by root only");
    }
    let site = Site::with_backup("owner");
    stage(&site.config, &site.backup(), "eva").unwrap();
    std::os::unix::fs::chown(site.control(), Some(54_321), None).unwrap();
    assert!(carry_out(&site.config).unwrap().is_none());
    assert!(site.is_new());
}

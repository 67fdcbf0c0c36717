//! The store on a real file, also with two who have it open.
use martlet_store::*;
use std::path::PathBuf;
use std::sync::Arc;

struct Folder(PathBuf);
impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("martlet-store-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn open(&self) -> Store {
        Store::open(&self.0.join("martlet.db")).unwrap()
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SUPI: &str = "imsi-001010000000001";

fn subscriber() -> Subscriber {
    Subscriber::new(SUPI, Secret([1; 16]), Secret([2; 16]), "internet")
}

#[test]
fn what_is_added_is_there_after_opening_again() {
    let folder = Folder::new("again");
    folder.open().add(&[subscriber()], false).unwrap();
    let store = folder.open();
    assert_eq!(*store.subscriber(SUPI).unwrap().unwrap(), subscriber());
    assert_eq!(store.count().unwrap(), 1);
    assert!(matches!(store.add(&[subscriber()], false), Err(StoreError::Exists(_))));
    store.add(&[Subscriber { msisdn: Some("491700000000".into()), ..subscriber() }], true).unwrap();
    assert_eq!(store.supi_of("msisdn-491700000000").unwrap().as_deref(), Some(SUPI));
}

#[test]
fn bulk_is_all_or_nothing() {
    let folder = Folder::new("bulk");
    let store = folder.open();
    let many: Vec<_> = (0..500).map(|n| subscriber().nth(n).unwrap()).collect();
    store.add(&many, false).unwrap();
    let others: Vec<_> = (499..600).map(|n| subscriber().nth(n).unwrap()).rev().collect();
    assert!(store.add(&others, false).is_err());
    assert_eq!(store.count().unwrap(), 500);
    assert_eq!(store.list("imsi-001010000000498", 10).unwrap().len(), 2);
}

#[test]
fn what_another_changes_is_seen_at_once() {
    let folder = Folder::new("others");
    let (core, tool) = (folder.open(), folder.open());
    tool.add(&[subscriber()], false).unwrap();
    assert!(core.subscriber(SUPI).unwrap().is_some());
    let changed = Subscriber { ambr_uplink: "1 Mbps".into(), ..subscriber() };
    tool.add(std::slice::from_ref(&changed), true).unwrap();
    assert_eq!(*core.subscriber(SUPI).unwrap().unwrap(), changed);
    assert!(tool.remove(SUPI).unwrap());
    assert!(core.subscriber(SUPI).unwrap().is_none());
    assert!(!core.remove(SUPI).unwrap());
}

#[test]
fn no_two_get_the_same_sequence_number() {
    let folder = Folder::new("sqn");
    folder.open().add(&[subscriber()], false).unwrap();
    let stores: Vec<_> = (0..4).map(|_| Arc::new(folder.open())).collect();
    let threads: Vec<_> = stores
        .into_iter()
        .map(|store| {
            std::thread::spawn(move || {
                let mut got = Vec::new();
                while got.len() < 50 {
                    let from = store.subscriber(SUPI).unwrap().unwrap().sqn;
                    if store.move_sqn(SUPI, from, from + 32).unwrap() {
                        got.push(from + 32);
                    }
                }
                got
            })
        })
        .collect();
    let mut all: Vec<u64> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
    all.sort_unstable();
    assert_eq!(all, (1..=200).map(|n| n * 32).collect::<Vec<u64>>());
}

#[test]
fn contexts_come_and_go_with_their_subscriber() {
    let folder = Folder::new("contexts");
    let store = folder.open();
    store.add(&[subscriber()], false).unwrap();
    assert!(store.put_context(SUPI, "smf", "1", "{}").unwrap());
    assert!(!store.put_context(SUPI, "smf", "1", "[]").unwrap());
    assert!(store.put_context(SUPI, "smf", "2", "{}").unwrap());
    assert_eq!(store.context(SUPI, "smf", "1").unwrap().as_deref(), Some("[]"));
    assert_eq!(store.contexts(SUPI, "smf").unwrap().len(), 2);
    assert!(store.remove_context(SUPI, "smf", "2").unwrap());
    assert!(!store.remove_context(SUPI, "smf", "2").unwrap());
    store.remove(SUPI).unwrap();
    assert!(store.contexts(SUPI, "smf").unwrap().is_empty());
}

#[test]
fn a_file_of_a_later_version_and_one_that_is_none_are_refused_with_the_reason() {
    let folder = Folder::new("versions");
    drop(folder.open());
    let path = folder.0.join("martlet.db");
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let refused = |path: &std::path::Path| Store::open(path).err().unwrap().to_string();
    assert!(refused(&path).contains("99"));
    let garbage = folder.0.join("garbage.db");
    std::fs::write(&garbage, vec![0x55; 8192]).unwrap();
    assert!(refused(&garbage).contains("database"));
    assert!(refused(&folder.0.join("no/such/folder.db")).contains("folder"));
}

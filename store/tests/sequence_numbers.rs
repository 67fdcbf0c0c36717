//! Sequence numbers from a PostgreSQL server that several UDRs share (TS 33.102, 6.3.5 and annex
//! C): each is handed out once, and a USIM accepts them. A subscriber that was removed gets none.
#[path = "sequence_numbers/response_loss.rs"]
mod response_loss;

use martlet_security::sqn::{self, Accepted};
use martlet_store::testing::{TestPostgres, TestReplica};
use martlet_store::*;
use response_loss::Relay;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Time limit of a look at changes.
const LIMIT: Duration = Duration::from_secs(30);
const SUPI: &str = "imsi-001010000000001";

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let future = async { tokio::time::timeout(Duration::from_secs(60), future).await };
    runtime.block_on(future).expect("it ends within a minute")
}

fn store(server: &TestPostgres) -> (Arc<Store>, DatabaseUrl) {
    let key = server.folder().join("operator.key");
    let url = DatabaseUrl::parse(&server.url());
    (Arc::new(Store::open_at(&url, Some(&key)).unwrap()), url)
}

/// Runs what blocks, which must not run within the runtime of the test.
fn blocking<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}

/// Runs SQL as another program does.
fn execute(server: &TestPostgres, sql: &str) {
    blocking(|| {
        let mut client = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
        client.batch_execute(sql).unwrap();
    });
}

/// A UDR that has just started.
async fn udr(server: &TestPostgres) -> SubscriberData {
    let (store, url) = blocking(|| store(server));
    let data = SubscriberData::new(store, &url, 4, Duration::from_millis(5)).unwrap();
    data.follow(Duration::ZERO, LIMIT).await.unwrap();
    data
}

fn with_subscriber(name: &str) -> Option<TestPostgres> {
    let server = TestPostgres::start(name).unwrap()?;
    let subscriber = Subscriber::new(SUPI, Secret([1; 16]), Secret([2; 16]), "internet");
    store(&server).0.add(&[subscriber], false).unwrap();
    Some(server)
}

/// What the UDM does for a vector: with `sqn_ms`, after a synchronisation failure.
async fn number(udr: &SubscriberData, sqn_ms: Option<u64>) -> u64 {
    for _ in 0..8 {
        let last = udr.for_authentication(SUPI).await.unwrap().unwrap().sqn;
        let next = sqn::next(sqn_ms.map_or(last, |sqn_ms| sqn::resynchronised(last, sqn_ms)));
        if udr.advance_sqn(SUPI, last, next).await.unwrap() {
            return next;
        }
    }
    panic!("too many conflicts")
}

/// A UE that registers through UDRs, with the history of its numbers.
struct Ue {
    usim: Accepted,
    seen: HashSet<u64>,
    synchronisations: usize,
}

impl Ue {
    fn at(sqn: u64) -> Ue {
        Ue { usim: Accepted::at(sqn), seen: HashSet::new(), synchronisations: 0 }
    }

    async fn authenticate(&mut self, udr: &SubscriberData) {
        let first = number(udr, None).await;
        assert!(self.seen.insert(first), "{first:x} was handed out before");
        if self.usim.accept(first) {
            return;
        }
        self.synchronisations += 1;
        let second = number(udr, Some(self.usim.highest())).await;
        assert!(self.seen.insert(second), "{second:x} was handed out before");
        assert!(self.usim.accept(second), "{second:x} after a resynchronisation");
    }
}

fn durable(server: &TestPostgres) -> u64 {
    blocking(|| store(server).0.subscriber(SUPI).unwrap().unwrap().sqn)
}

#[test]
fn two_udrs_in_any_order_repeat_no_number_and_cause_no_synchronisation_failure() {
    let Some(server) = with_subscriber("sqn-two") else { return };
    run(async {
        let (one, other) = (udr(&server).await, udr(&server).await);
        let mut ue = Ue::at(0);
        for round in 0..150u32 {
            // In turn, then by runs of different lengths.
            let first = if round < 20 { round % 2 == 0 } else { round * round % 7 < 3 };
            ue.authenticate(if first { &one } else { &other }).await;
        }
        // One UDR stays behind while the other one takes more than eight blocks.
        for _ in 0..320 {
            ue.authenticate(&one).await;
        }
        for _ in 0..40 {
            ue.authenticate(&other).await;
        }
        assert_eq!(ue.synchronisations, 0);
    });
}

#[test]
fn a_number_is_durable_before_it_is_handed_out_and_not_repeated_by_a_restarted_udr() {
    let Some(server) = with_subscriber("sqn-restart") else { return };
    run(async {
        let mut ue = Ue::at(0);
        for _ in 0..6 {
            // Dropped without a flush, as by a kill.
            let udr = udr(&server).await;
            for _ in 0..11 {
                ue.authenticate(&udr).await;
                let highest = ue.seen.iter().max().copied();
                assert!(highest <= Some(durable(&server)), "{highest:x?}");
            }
        }
        assert_eq!((ue.seen.len(), ue.synchronisations), (66, 0));
    });
}

#[test]
fn a_resynchronised_usim_is_served_by_both_udrs() {
    let Some(server) = with_subscriber("sqn-resynchronised") else { return };
    run(async {
        let (one, other) = (udr(&server).await, udr(&server).await);
        // The USIM is ahead, as after a database was restored; both UDRs have lower blocks.
        let mut ue = Ue::at(90_000 << 5 | 17);
        number(&other, None).await;
        for _ in 0..5 {
            ue.authenticate(&one).await;
            ue.authenticate(&other).await;
        }
        // At most one for each UDR, whose block is dropped by it.
        assert!((1..=2).contains(&ue.synchronisations), "{}", ue.synchronisations);
        // The database is so far ahead that the USIM accepts no number.
        let mut behind = Ue::at(3);
        let far = 1 << 45;
        assert!(one.advance_sqn(SUPI, durable(&server), far).await.unwrap());
        number(&other, None).await;
        for _ in 0..5 {
            behind.authenticate(&one).await;
            behind.authenticate(&other).await;
        }
        assert!((1..=2).contains(&behind.synchronisations), "{}", behind.synchronisations);
        assert!(durable(&server) < far, "the database follows the USIM");
    });
}

#[test]
fn a_replaced_subscriber_gets_no_number_of_its_predecessors_block() {
    let Some(server) = with_subscriber("sqn-replaced") else { return };
    run(async {
        let udr = udr(&server).await;
        number(&udr, None).await;
        // Once to a higher number, once to a lower one. The UDR looks at no change meanwhile.
        for sqn in [7_000 << 5, 9 << 5] {
            blocking(|| {
                let mut new = Subscriber::new(SUPI, Secret([3; 16]), Secret([4; 16]), "internet");
                new.sqn = sqn;
                store(&server).0.add(&[new], true).unwrap();
            });
            let next = number(&udr, None).await;
            assert!((sqn..sqn + (1 << 12)).contains(&next), "{next:x}");
            number(&udr, None).await;
        }
    });
}

#[test]
fn no_number_is_handed_out_when_its_block_is_not_committed() {
    let Some(mut server) = with_subscriber("sqn-outage") else { return };
    run(async {
        let udr = udr(&server).await;
        let mut ue = Ue::at(0);
        ue.authenticate(&udr).await;
        // A transaction that holds the row: a block cannot be committed.
        let url = server.url();
        let mut holder = std::thread::spawn(move || {
            let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
            client.batch_execute("BEGIN; UPDATE subscriber SET gpsi = gpsi").unwrap();
            client
        })
        .join()
        .unwrap();
        let before = durable(&server);
        // The rest of the committed block is handed out.
        for _ in 0..31 {
            ue.authenticate(&udr).await;
        }
        assert_eq!(ue.seen.iter().max().copied(), Some(before));
        let waits = udr.for_authentication(SUPI);
        let waits = tokio::time::timeout(Duration::from_millis(300), waits).await;
        assert!(waits.is_err(), "a number of a block that is not committed");
        server.kill();
        let refused = tokio::time::timeout(Duration::from_secs(30), udr.for_authentication(SUPI));
        assert!(refused.await.expect("it ends").is_err(), "the server is away");
        std::thread::spawn(move || {
            let _ = holder.batch_execute("ROLLBACK");
        })
        .join()
        .unwrap();
    });
}

#[test]
fn a_removed_subscriber_gets_no_vector_and_a_changed_one_the_new_key() {
    let Some(server) = with_subscriber("sqn-removed") else { return };
    run(async {
        // Neither looks at changes: each has a block, and the subscriber in its cache.
        let all = [udr(&server).await, udr(&server).await];
        for udr in &all {
            number(udr, None).await;
        }
        blocking(|| {
            let change = |subscriber: &mut Subscriber| {
                subscriber.key = Secret([9; 16]);
                Ok::<_, StoreError>(())
            };
            store(&server).0.change(SUPI, change).unwrap();
        });
        for udr in &all {
            let changed = udr.for_authentication(SUPI).await.unwrap().unwrap();
            assert_eq!(changed.key, Secret([9; 16]));
        }
        blocking(|| assert!(store(&server).0.remove(SUPI).unwrap()));
        for udr in &all {
            for _ in 0..2 {
                assert!(udr.for_authentication(SUPI).await.unwrap().is_none());
            }
        }
    });
}

#[test]
fn a_subscriber_that_another_process_removed_from_an_sqlite_file_gets_no_vector() {
    let folder = std::env::temp_dir().join(format!("martlet-sqn-removed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("martlet.db");
    let own = Arc::new(Store::open(&file).unwrap());
    let subscriber = || Subscriber::new(SUPI, Secret([1; 16]), Secret([2; 16]), "internet");
    own.add(&[subscriber()], false).unwrap();
    let interval = Duration::from_millis(5);
    let url = DatabaseUrl::File(file.clone());
    let udr = SubscriberData::new(own.clone(), &url, 4, interval).unwrap();
    run(async {
        let grouping = own.group_commits(interval, |error| panic!("{error}"));
        let test = async {
            tokio::task::yield_now().await;
            for _ in 0..20 {
                number(&udr, None).await;
                // A group is open while the other process waits to write.
                udr.put(SUPI, "kind", "", "value".into(), Urgency::Soon).await.unwrap();
                let file = file.clone();
                let remove = move || Store::open(&file).unwrap().remove(SUPI).unwrap();
                assert!(tokio::task::spawn_blocking(remove).await.unwrap());
                assert!(udr.for_authentication(SUPI).await.unwrap().is_none());
                own.add(&[subscriber()], false).unwrap();
            }
        };
        tokio::select! { () = grouping => {}, () = test => {} }
    });
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn no_number_is_handed_out_when_a_commit_fails_on_a_full_disk() {
    let Some(server) = with_subscriber("sqn-commit") else { return };
    run(async {
        let udr = udr(&server).await;
        let mut ue = Ue::at(0);
        ue.authenticate(&udr).await;
        // The statement succeeds, and its COMMIT fails with SQLSTATE disk_full.
        execute(
            &server,
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE \
             EXCEPTION 'no room' USING ERRCODE = '53100'; END $$; CREATE CONSTRAINT TRIGGER refuse \
             AFTER UPDATE ON subscriber DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE \
             FUNCTION refuse()",
        );
        let before = durable(&server);
        for _ in 0..31 {
            ue.authenticate(&udr).await;
        }
        for _ in 0..3 {
            let error = udr.for_authentication(SUPI).await.unwrap_err();
            assert!(error.is_full(), "{error}");
        }
        assert_eq!((durable(&server), ue.seen.iter().max().copied()), (before, Some(before)));
        execute(&server, "DROP TRIGGER refuse ON subscriber");
        for _ in 0..40 {
            ue.authenticate(&udr).await;
        }
        assert_eq!((ue.seen.len(), ue.synchronisations), (72, 0));
    });
}

#[test]
fn a_block_whose_commit_has_an_unknown_outcome_is_skipped() {
    let Some(server) = with_subscriber("sqn-unknown") else { return };
    const OTHER: &str = "imsi-001010000000002";
    blocking(|| {
        let other = Subscriber::new(OTHER, Secret([1; 16]), Secret([2; 16]), "internet");
        store(&server).0.add(&[other], false).unwrap();
    });
    let relay = Relay::to(server.folder());
    run(async {
        let (store, _) = blocking(|| store(&server));
        let url = DatabaseUrl::parse(&relay.url());
        let udr = SubscriberData::new(store, &url, 1, Duration::from_millis(5)).unwrap();
        // The connection prepares the statement.
        assert!(udr.for_authentication(OTHER).await.unwrap().is_some());
        let (mut ue, before) = (Ue::at(0), durable(&server));
        relay.lose_next_response();
        ue.authenticate(&udr).await;
        assert_eq!(relay.lost(), 1);
        // The block of the lost response and the one of the repeated statement.
        assert_eq!((durable(&server) >> 5) - (before >> 5), 128);
        for _ in 0..40 {
            ue.authenticate(&udr).await;
        }
        assert_eq!((ue.seen.len(), ue.synchronisations), (41, 0));
    });
}

#[test]
fn a_failover_to_a_replica_repeats_no_number() {
    let Some(mut primary) = with_subscriber("sqn-failover") else { return };
    let mut replica = TestReplica::of(&primary).unwrap();
    let url = format!("{}&statement_timeout=20000", primary.url_with(&replica));
    run(async {
        let (store, _) = blocking(|| store(&primary));
        let url = DatabaseUrl::parse(&url);
        let udr = |store: Arc<Store>| SubscriberData::new(store, &url, 4, Duration::ZERO).unwrap();
        let (one, other) = (udr(store.clone()), udr(store));
        let mut ue = Ue::at(0);
        for _ in 0..20 {
            ue.authenticate(&one).await;
            ue.authenticate(&other).await;
        }
        blocking(|| replica.wait_until_replayed(&primary).unwrap());
        primary.kill();
        blocking(|| replica.promote().unwrap());
        for _ in 0..40 {
            ue.authenticate(&one).await;
            ue.authenticate(&other).await;
        }
        assert_eq!((ue.seen.len(), ue.synchronisations), (120, 0));
    });
}

#[test]
fn a_restored_row_repeats_no_number_of_a_running_udr() {
    let Some(server) = with_subscriber("sqn-restored") else { return };
    run(async {
        let udr = udr(&server).await;
        let mut ue = Ue::at(0);
        ue.authenticate(&udr).await;
        execute(&server, "CREATE TABLE saved AS SELECT * FROM subscriber");
        for _ in 0..60 {
            ue.authenticate(&udr).await;
        }
        let restore = "UPDATE subscriber SET sqn = saved.sqn FROM saved";
        execute(&server, restore);
        for _ in 0..60 {
            ue.authenticate(&udr).await;
        }
        assert_eq!((ue.seen.len(), ue.synchronisations), (121, 0));
        // A UDR that starts after it cannot know the numbers: the USIM synchronises once.
        execute(&server, restore);
        let started = self::udr(&server).await;
        let first = number(&started, None).await;
        assert!(!ue.usim.accept(first), "{first:x}");
        let second = number(&started, Some(ue.usim.highest())).await;
        assert!(ue.usim.accept(second) && !ue.seen.contains(&second), "{second:x}");
        ue.seen.insert(second);
        for _ in 0..40 {
            ue.authenticate(&started).await;
        }
        assert_eq!(ue.synchronisations, 0);
    });
}

//! Asynchronous access to subscribers on a PostgreSQL server: statements, commits, caches,
//! failover to a streaming replica.
use martlet_store::testing::{TestPostgres, TestReplica};
use martlet_store::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time limit of a look at changes.
const LIMIT: Duration = Duration::from_secs(30);

fn subscriber(n: u32) -> Subscriber {
    let supi = format!("imsi-{:015}", 1_010_000_000_000u64 + u64::from(n));
    Subscriber::new(&supi, Secret([1; 16]), Secret([2; 16]), "internet")
}

fn supi(n: u32) -> String {
    subscriber(n).supi
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let future = async { tokio::time::timeout(Duration::from_secs(60), future).await };
    runtime.block_on(future).expect("it ends within a minute")
}

/// A store and the asynchronous access to it.
fn open(server: &TestPostgres, url: &str) -> (Arc<Store>, SubscriberData) {
    let key = server.folder().join("operator.key");
    let url = DatabaseUrl::parse(url);
    let store = Arc::new(Store::open_at(&url, Some(&key)).unwrap());
    let data = SubscriberData::new(store.clone(), &url, 4, Duration::from_millis(5)).unwrap();
    (store, data)
}

/// Statements of subscriber data and commits of a server, so far.
fn statements(server: &TestPostgres) -> (i64, i64) {
    // The client must not run within a runtime, as the caller may.
    std::thread::scope(|scope| scope.spawn(|| read_statements(server)).join().unwrap())
}

fn read_statements(server: &TestPostgres) -> (i64, i64) {
    let mut client = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
    let sql = "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements WHERE query ~ \
               'subscriber|context' AND query !~ 'pg_stat'";
    let calls = client.query_one(sql, &[]).unwrap().get(0);
    // Each statement outside of a transaction that writes is a commit.
    let sql = "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements WHERE query ~ \
               'UPDATE subscriber|INSERT INTO context|DELETE FROM context' AND query !~ 'pg_stat'";
    (calls, client.query_one(sql, &[]).unwrap().get(0))
}

fn with_statistics(name: &str) -> Option<TestPostgres> {
    let settings =
        |_: &std::path::Path| Ok(vec!["shared_preload_libraries=pg_stat_statements".into()]);
    let server = TestPostgres::start_with(name, settings).unwrap()?;
    let mut client = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
    client.batch_execute("CREATE EXTENSION pg_stat_statements").unwrap();
    Some(server)
}

/// What UDM and PCF request for a registration and a session.
async fn registration(data: &SubscriberData, supi: &str) {
    let of = data.for_authentication(supi).await.unwrap().unwrap();
    let next = of.sqn + 33;
    assert!(data.advance_sqn(supi, of.sqn, next).await.unwrap());
    assert!(data.put(supi, "authentication-status", "", "{}".into(), Urgency::Soon).await.unwrap());
    assert_eq!(data.context(supi, "amf-3gpp-access", "").await.unwrap(), None);
    assert!(
        data.put(supi, "amf-3gpp-access", "", "{\"amf\":1}".into(), Urgency::Soon).await.unwrap()
    );
    assert!(data.subscriber(supi).await.unwrap().is_some());
    assert!(data.contexts(supi, "sdm-subscription").await.unwrap().is_empty());
    assert!(data.put(supi, "sdm-subscription", "1", "{}".into(), Urgency::Soon).await.unwrap());
    assert!(data.put(supi, "smf-registration", "5", "{}".into(), Urgency::Soon).await.unwrap());
}

async fn deregistration(data: &SubscriberData, supi: &str) {
    for (kind, key) in [
        ("authentication-status", ""),
        ("amf-3gpp-access", ""),
        ("sdm-subscription", "1"),
        ("smf-registration", "5"),
    ] {
        assert!(data.remove(supi, kind, key).await.unwrap(), "{kind}");
    }
    data.flush().await.unwrap();
}

#[test]
fn a_registration_costs_two_statements_and_one_commit_and_many_share_it() {
    let Some(server) = with_statistics("statements") else { return };
    let (store, data) = open(&server, &server.url());
    let all: Vec<_> = (0..65).map(subscriber).collect();
    store.add(&all, false).unwrap();
    run(async {
        data.follow(Duration::ZERO, LIMIT).await.unwrap();
        let before = statements(&server);
        registration(&data, &supi(64)).await;
        data.flush().await.unwrap();
        let mut last = statements(&server);
        assert_eq!((last.0 - before.0, last.1 - before.1), (2, 2), "the first one alone");
        // More than a block of sequence numbers.
        for round in 1..100 {
            deregistration(&data, &supi(64)).await;
            let before = statements(&server);
            registration(&data, &supi(64)).await;
            data.flush().await.unwrap();
            last = statements(&server);
            let (calls, commits) = (last.0 - before.0, last.1 - before.1);
            assert!(calls <= 2 && commits == 1, "{round}: {calls} statements, {commits} commits");
        }
        let after = last;
        // 64 at the same time.
        let data = &data;
        let mut pending = Vec::new();
        for n in 0..64 {
            pending.push(Box::pin(async move { registration(data, &supi(n)).await }));
        }
        futures_of(pending).await;
        data.flush().await.unwrap();
        let end = statements(&server);
        let (calls, commits) = (end.0 - after.0, end.1 - after.1);
        println!("64 registrations: {calls} statements, {commits} commits");
        assert!(calls <= 32 && commits <= 32, "{calls} statements, {commits} commits");
    });
}

#[test]
fn a_first_registration_has_one_commit_when_blocks_are_committed_ahead() {
    let Some(server) = with_statistics("ahead") else { return };
    let (store, data) = open(&server, &server.url());
    store.add(&(0..300).map(subscriber).collect::<Vec<_>>(), false).unwrap();
    let (tool, _) = open(&server, &server.url());
    let without_block = || {
        std::thread::scope(|scope| {
            let read = || {
                let mut client = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
                let sql = "SELECT count(*) FROM subscriber WHERE sqn = 0";
                client.query_one(sql, &[]).unwrap().get::<_, i64>(0)
            };
            scope.spawn(read).join().unwrap()
        })
    };
    let until_all_have_one = async || {
        while without_block() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // The UDR gets the answer.
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    run(async {
        let test = async {
            data.follow(Duration::ZERO, LIMIT).await.unwrap();
            until_all_have_one().await;
            // Subscribers that are added later.
            std::thread::spawn(move || {
                let added: Vec<_> = (300..310).map(subscriber).collect();
                tool.add(&added, false).unwrap()
            })
            .join()
            .unwrap();
            assert_eq!(without_block(), 10);
            data.follow(Duration::ZERO, LIMIT).await.unwrap();
            until_all_have_one().await;
            for n in [0, 299, 305] {
                let before = statements(&server);
                registration(&data, &supi(n)).await;
                data.flush().await.unwrap();
                let after = statements(&server);
                assert_eq!((after.0 - before.0, after.1 - before.1), (2, 1), "subscriber {n}");
            }
        };
        tokio::select! { () = data.lease_ahead() => {}, () = test => {} }
    });
}

/// Runs futures at the same time.
async fn futures_of<F: Future>(mut all: Vec<std::pin::Pin<Box<F>>>) -> Vec<F::Output> {
    let mut outputs = Vec::new();
    std::future::poll_fn(|context| {
        all.retain_mut(|future| match future.as_mut().poll(context) {
            std::task::Poll::Ready(output) => {
                outputs.push(output);
                false
            }
            std::task::Poll::Pending => true,
        });
        match all.is_empty() {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    outputs
}

#[test]
fn a_change_by_another_process_is_notified_and_invalidates_the_cache() {
    let Some(server) = TestPostgres::start("notify").unwrap() else { return };
    let (store, data) = open(&server, &server.url());
    store.add(&[subscriber(1)], false).unwrap();
    let (tool, _) = open(&server, &server.url());
    run(async {
        tokio::select! {
            () = data.listen() => unreachable!(),
            () = async {
                // Polls alone would take a minute.
                let minute = Duration::from_secs(60);
                data.follow(Duration::ZERO, LIMIT).await.unwrap();
                data.follow(minute, LIMIT).await.unwrap();
                assert_eq!(data.subscriber(&supi(1)).await.unwrap().unwrap().msisdn, None);
                let changed = Subscriber { msisdn: Some("49170".into()), ..subscriber(1) };
                std::thread::spawn(move || tool.add(&[changed], true).unwrap()).join().unwrap();
                let begun = Instant::now();
                assert!(data.follow(minute, LIMIT).await.unwrap(), "a notification");
                let found = data.subscriber(&supi(1)).await.unwrap().unwrap();
                assert_eq!(found.msisdn.as_deref(), Some("49170"));
                println!("notified after {:?}", begun.elapsed());
            } => {}
        }
    });
}

#[test]
fn contexts_are_read_before_they_are_written_and_removed_ones_are_absent() {
    let Some(server) = TestPostgres::start("contexts").unwrap() else { return };
    let (store, data) = open(&server, &server.url());
    store.add(&[subscriber(1)], false).unwrap();
    run(async {
        assert!(data.put(&supi(1), "kind", "1", "a".into(), Urgency::Soon).await.unwrap());
        assert!(
            !data.put(&supi(1), "kind", "1", "b".into(), Urgency::Soon).await.unwrap(),
            "not new"
        );
        assert_eq!(data.context(&supi(1), "kind", "1").await.unwrap().as_deref(), Some("b"));
        data.flush().await.unwrap();
        assert!(data.remove(&supi(1), "kind", "1").await.unwrap());
        assert!(!data.remove(&supi(1), "kind", "1").await.unwrap());
        assert!(data.contexts(&supi(1), "kind").await.unwrap().is_empty());
        assert!(data.subscriber("imsi-1\0").await.unwrap().is_none());
        data.flush().await.unwrap();
    });
    assert_eq!(store.contexts(&supi(1), "kind").unwrap(), []);
}

/// One of two processes could not write for a while: its retries replace nothing that the other one
/// wrote after it had accepted its own values.
#[test]
fn late_writes_replace_no_later_values_of_another_process() {
    let Some(server) = TestPostgres::start("late").unwrap() else { return };
    let run_sql = |sql: &str| {
        let connect = || postgres::Client::connect(&server.url(), postgres::NoTls);
        let run = || connect().and_then(|mut client| client.batch_execute(sql));
        std::thread::scope(|scope| scope.spawn(run).join().unwrap()).unwrap();
    };
    let (store, here) = open(&server, &server.url());
    store.add(&[subscriber(0)], false).unwrap();
    run_sql(
        "CREATE ROLE other LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO other; GRANT USAGE \
         ON SCHEMA public TO other",
    );
    let (_other, there) = open(&server, &server.url().replace("martlet@", "other@"));
    let supi = supi(0);
    let put = async |data: &SubscriberData, kind: &str, value: &str| {
        data.put(&supi, kind, "", value.into(), Urgency::Soon).await
    };
    run(async {
        for kind in ["later-there", "later-here", "removed-here", "removed-there"] {
            put(&there, kind, "0").await.unwrap();
        }
        there.flush().await.unwrap();
        run_sql("REVOKE INSERT, UPDATE, DELETE ON context FROM other");
        // What is accepted before the first failure is acknowledged: both at once.
        let (later, removed) =
            tokio::join!(put(&there, "later-here", "1"), put(&there, "removed-here", "1"));
        later.and(removed).unwrap();
        assert!(there.flush().await.is_err());
        assert!(here.remove(&supi, "removed-there", "").await.unwrap());
        put(&here, "later-here", "2").await.unwrap();
        put(&here, "later-there", "2").await.unwrap();
        here.flush().await.unwrap();
        // These fail, and are written all the same once they can be.
        assert!(put(&there, "later-there", "3").await.is_err());
        assert!(there.remove(&supi, "removed-here", "").await.is_err());
        run_sql("GRANT ALL ON context TO other");
        let mut is_written = false;
        while !is_written {
            is_written = there.flush().await.is_ok();
        }
        // Two values in a row of one process.
        put(&there, "in-order", "1").await.unwrap();
        put(&there, "in-order", "2").await.unwrap();
        there.flush().await.unwrap();
    });
    let of = |kind: &str| store.context(&supi, kind, "").unwrap();
    assert_eq!(of("later-here").as_deref(), Some("2"), "the acknowledged value was older");
    assert_eq!(of("later-there").as_deref(), Some("3"));
    assert_eq!((of("removed-here"), of("removed-there")), (None, None));
    assert_eq!(of("in-order").as_deref(), Some("2"));
    // Nothing that was not written is read.
    let read = run(there.context(&supi, "later-here", "")).unwrap();
    assert_eq!(read.as_deref(), Some("2"));
}

#[test]
fn prepared_statements_survive_a_failover_to_a_streaming_replica() {
    let Some(mut primary) = TestPostgres::start("primary").unwrap() else { return };
    let mut replica = TestReplica::of(&primary).unwrap();
    // The replica first: the server that accepts writes is used without a parameter, too.
    let both = primary.url_with(&replica);
    let hosts = both.split(['@', '/']).find_map(|part| part.split_once(',')).unwrap();
    let hosts = format!("{},{}", hosts.1, hosts.0);
    let url = format!("postgresql://martlet@{hosts}/postgres?statement_timeout=20000");
    let (store, data) = open(&primary, &url);
    store.add(&[subscriber(1), subscriber(2)], false).unwrap();
    run(async {
        registration(&data, &supi(1)).await;
        data.flush().await.unwrap();
        replica.wait_until_replayed(&primary).unwrap();
        primary.kill();
        // A request that meets the outage waits for the new primary.
        let begun = Instant::now();
        let promote = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            replica.promote().unwrap();
            (replica, Instant::now())
        });
        registration(&data, &supi(2)).await;
        let served = Instant::now();
        data.flush().await.unwrap();
        let (_replica, promoted) = promote.join().unwrap();
        let stall = served.saturating_duration_since(promoted);
        println!("served {:?} after the kill, {stall:?} after the promotion", begun.elapsed());
        assert!(stall < Duration::from_secs(1), "{stall:?}");
        for n in [1, 2] {
            let held = data.context(&supi(n), "amf-3gpp-access", "").await.unwrap();
            assert!(held.is_some(), "subscriber {n}");
        }
    });
}

//! Members of a set act on contexts and take them over from each other while PostgreSQL is paused,
//! killed, read-only and at last failed over to a synchronous replica. From the history of all
//! members no two of them held a context at the same time: `make chaos-sets` for longer.
use martlet_context_store::{ContextStore, ContextStoreConfig, PeerContexts, SetContexts};
use martlet_store::testing::{TestPostgres, TestReplica};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const LEASE_MS: u32 = 200;
const MEMBERS: usize = 3;
const CONTEXTS: u32 = 6;

/// What a member did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Acted on a context that it owned by its lease.
    Acted,
    /// Took a context over.
    TookOver,
}

/// An operation on a context; it took effect between its begin and its end.
#[derive(Debug, Clone)]
struct Operation {
    context: u32,
    member: usize,
    kind: Kind,
    begun: Instant,
    ended: Instant,
}

/// Pseudo-random numbers (xorshift) from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// The first operation that contradicts one owner at a time: a member acted on a context that
/// another one had taken over before, without taking it over again. Ownership is a register that
/// takeovers write and acts read, and each is one operation, so this is linearisability.
fn contradiction(history: &[Operation]) -> Option<(Operation, Operation)> {
    let takeovers: Vec<&Operation> =
        history.iter().filter(|operation| operation.kind == Kind::TookOver).collect();
    for act in history.iter().filter(|operation| operation.kind == Kind::Acted) {
        let of_context = || takeovers.iter().filter(|takeover| takeover.context == act.context);
        // Those that were over when the act began.
        let before = of_context().filter(|takeover| takeover.ended <= act.begun);
        let Some(last) = before.max_by_key(|takeover| takeover.ended) else { continue };
        let may_own = of_context().any(|takeover| {
            takeover.member == act.member
                && takeover.ended >= last.begun
                && takeover.begun <= act.ended
        });
        if !may_own {
            return Some(((*last).clone(), act.clone()));
        }
    }
    None
}

#[test]
fn the_checker_finds_an_act_after_a_takeover_by_another_member() {
    let at = Instant::now();
    let operation = |member, kind, from: u64, to: u64| Operation {
        context: 1,
        member,
        kind,
        begun: at + Duration::from_millis(from),
        ended: at + Duration::from_millis(to),
    };
    let taken = operation(1, Kind::TookOver, 10, 20);
    // Overlapping operations may have had either order.
    for fine in [operation(0, Kind::Acted, 15, 30), operation(1, Kind::Acted, 30, 31)] {
        assert!(contradiction(&[taken.clone(), fine]).is_none());
    }
    let late = operation(0, Kind::Acted, 25, 30);
    assert!(contradiction(&[taken.clone(), late.clone()]).is_some());
    let back = operation(0, Kind::TookOver, 21, 24);
    assert!(contradiction(&[taken, back, late]).is_none());
}

fn owner(member: usize) -> String {
    format!("amf-chaos-{member}")
}

/// What the members share.
struct Shared {
    config: ContextStoreConfig,
    ends: AtomicBool,
    history: Mutex<Vec<Operation>>,
}

impl Shared {
    fn record(&self, context: u32, member: usize, kind: Kind, begun: Instant) {
        let ended = Instant::now();
        self.history.lock().unwrap().push(Operation { context, member, kind, begun, ended });
    }
}

/// A member: acts on what it holds, rests now and then, and takes contexts over.
fn live(shared: &Shared, member: usize, mut random: Random) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (store, _) = ContextStore::open(&shared.config, &owner(member)).unwrap();
    let set = SetContexts::open(&shared.config, Some(&owner(member))).unwrap();
    let mut held: BTreeSet<u32> = BTreeSet::new();
    if member == 0 {
        (0..CONTEXTS).for_each(|id| store.put(id.to_string(), id.to_be_bytes().to_vec()));
        assert!(store.flush(Duration::from_secs(10)));
        held.extend(0..CONTEXTS);
    }
    while !shared.ends.load(Ordering::Relaxed) {
        for id in held.clone() {
            let begun = Instant::now();
            let limit = Duration::from_millis(50);
            let owns = async { tokio::time::timeout(limit, store.is_owner(id)).await };
            match runtime.block_on(owns) {
                Ok(true) => {
                    shared.record(id, member, Kind::Acted, begun);
                    store.put(id.to_string(), id.to_be_bytes().to_vec());
                }
                Ok(false) => drop(held.remove(&id)),
                // Without the database it may not act.
                Err(_) => break,
            }
        }
        match random.below(40) {
            // Longer than its lease, as a process that is suspended.
            0 => std::thread::sleep(Duration::from_millis(u64::from(LEASE_MS) * 2)),
            1..4 => {
                let other = (member + 1 + random.below(MEMBERS as u64 - 1) as usize) % MEMBERS;
                take_over(shared, member, &set.peer(&owner(other)), &store, &mut held);
            }
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn take_over(
    shared: &Shared,
    member: usize,
    peer: &PeerContexts,
    store: &ContextStore,
    held: &mut BTreeSet<u32>,
) {
    let ids: Vec<String> = (0..CONTEXTS).map(|id| id.to_string()).collect();
    let begun = Instant::now();
    // What a failed attempt has taken over is returned by a later one.
    let Ok(taken) = peer.take_over_all(&ids) else { return };
    for (id, value) in taken {
        let Ok(number) = id.parse() else { continue };
        shared.record(number, member, Kind::TookOver, begun);
        store.regain(&id);
        store.put(id, value);
        held.insert(number);
    }
}

/// Runs a statement at the server.
fn run(url: &str, sql: &str) -> Option<Vec<postgres::SimpleQueryMessage>> {
    let mut client = postgres::Client::connect(url, postgres::NoTls).ok()?;
    client.simple_query(sql).ok()
}

/// Disturbs the server until the time is over.
fn disturb(server: &mut TestPostgres, random: &mut Random, until: Instant) -> Vec<&'static str> {
    let mut done = Vec::new();
    while Instant::now() < until {
        std::thread::sleep(Duration::from_millis(300 + random.below(700)));
        let short = Duration::from_millis(100 + random.below(900));
        match random.below(3) {
            0 => {
                done.push("paused");
                server.signal("-STOP").unwrap();
                std::thread::sleep(short);
                server.signal("-CONT").unwrap();
            }
            1 => {
                done.push("killed");
                server.kill();
                std::thread::sleep(short);
                server.restart().unwrap();
            }
            _ => {
                done.push("read-only");
                let set = |value: &str| {
                    let sql = format!("ALTER SYSTEM SET default_transaction_read_only = {value}");
                    let begin = "SET default_transaction_read_only = off";
                    let mut client = postgres::Client::connect(&server.url(), postgres::NoTls)?;
                    client.batch_execute(begin)?;
                    client.batch_execute(&sql)?;
                    client.batch_execute("SELECT pg_reload_conf()")
                };
                set("on").unwrap();
                std::thread::sleep(short);
                set("off").unwrap();
            }
        }
    }
    done
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn no_two_members_hold_a_context_while_the_database_fails() {
    // A replica returns soon after the primary does, so that commits do not wait for it.
    let settings = |_: &std::path::Path| Ok(vec!["wal_retrieve_retry_interval=100ms".into()]);
    let Some(mut server) = TestPostgres::start_with("leases", settings).unwrap() else { return };
    let (seconds, seed) =
        (number("MARTLET_CHAOS_SECONDS", 6), number("MARTLET_CHAOS_SEED", 1).max(1));
    println!("MARTLET_CHAOS_SECONDS={seconds} MARTLET_CHAOS_SEED={seed}");
    let mut replica = TestReplica::of(&server).unwrap();
    // A commit is on both servers when it returns, so that a failover loses none.
    run(&server.url(), "ALTER SYSTEM SET synchronous_standby_names = '*'").unwrap();
    run(&server.url(), "SELECT pg_reload_conf()").unwrap();
    let url = server.url_with(&replica);
    let config = ContextStoreConfig {
        database: format!("{url}&statement_timeout=1000&connect_timeout=1"),
        key_file: server.folder().join("operator.key").display().to_string(),
        lease_ms: LEASE_MS,
        ..ContextStoreConfig::default()
    };
    let shared =
        Arc::new(Shared { config, ends: AtomicBool::new(false), history: Mutex::default() });
    // The tables are made once.
    drop(SetContexts::open(&shared.config, None).unwrap());
    let mut random = Random(seed);
    let members: Vec<_> = (0..MEMBERS)
        .map(|member| {
            let (shared, random) = (shared.clone(), Random(random.below(u64::MAX - 1) + 1));
            std::thread::spawn(move || live(&shared, member, random))
        })
        .collect();
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut done = disturb(&mut server, &mut random, until);
    // The primary is gone for good.
    server.kill();
    std::thread::sleep(Duration::from_millis(300));
    replica.promote().unwrap();
    let promoted = Instant::now();
    done.push("failed over");
    std::thread::sleep(Duration::from_secs(2));
    shared.ends.store(true, Ordering::Relaxed);
    members.into_iter().for_each(|member| member.join().unwrap());
    let history = shared.history.lock().unwrap().clone();
    let count = |kind| history.iter().filter(|operation| operation.kind == kind).count();
    println!("{} acts, {} takeovers: {done:?}", count(Kind::Acted), count(Kind::TookOver));
    if let Some((takeover, act)) = contradiction(&history) {
        panic!("{act:?} after {takeover:?}");
    }
    assert!(count(Kind::Acted) > 100 && count(Kind::TookOver) > 0, "nothing happened");
    let first = history
        .iter()
        .filter(|o| o.kind == Kind::Acted && o.begun > promoted)
        .min_by_key(|o| o.ended);
    let stall = first.expect("an act after the failover").ended - promoted;
    println!("first act {stall:?} after the failover");
    let sql = "SELECT count(*) FROM (SELECT id FROM state WHERE owner LIKE 'amf-chaos-%' GROUP BY \
               id HAVING count(*) > 1) twice";
    let rows = run(&replica.server().url(), sql).unwrap();
    let twice = rows.iter().find_map(|message| match message {
        postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_string),
        _ => None,
    });
    assert_eq!(twice.as_deref(), Some("0"), "contexts with two records");
}

/// The rate of takeovers, for a set whose member fails with many sessions.
#[test]
fn a_thousand_contexts_are_taken_over_within_a_second() {
    const MANY: u32 = 2000;
    let Some(server) = TestPostgres::start("takeover-rate").unwrap() else { return };
    let config = ContextStoreConfig {
        database: server.url(),
        key_file: server.folder().join("operator.key").display().to_string(),
        lease_ms: LEASE_MS,
        ..ContextStoreConfig::default()
    };
    let (store, _) = ContextStore::open(&config, "smf-1-1").unwrap();
    (0..MANY).for_each(|id| store.put(id.to_string(), vec![7; 2000]));
    assert!(store.flush(Duration::from_secs(30)));
    drop(store);
    let set = SetContexts::open(&config, Some("smf-1-2")).unwrap();
    assert_eq!(set.members("smf-1-", "1").unwrap().len(), 1);
    assert_eq!(set.owner_of("smf-1-", "7").unwrap().as_deref(), Some("smf-1-1"));
    let peer = set.peer("smf-1-1");
    let ids: Vec<String> = (0..MANY).map(|id| id.to_string()).collect();
    let begun = Instant::now();
    let taken: usize = ids.chunks(256).map(|ids| peer.take_over_all(ids).unwrap().len()).sum();
    let took = begun.elapsed();
    assert_eq!(taken, MANY as usize);
    // They are the other member's in the same transaction.
    assert_eq!(set.peer("smf-1-2").contexts().unwrap().len(), MANY as usize);
    println!("{taken} contexts of 2,000 bytes taken over in {took:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

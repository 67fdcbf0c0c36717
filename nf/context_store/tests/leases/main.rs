//! Members of a set, each a process with a wall clock of its own, act on contexts and take them
//! over from each other while faults happen: PostgreSQL is paused, killed, read-only and at last
//! failed over to a synchronous replica; its clock and those of the members are set; members are
//! suspended, killed and cut off from the database. From the history of all members no two of them
//! held a context at the same time: `make chaos-sets` for longer.
mod history;
mod member;
#[path = "../../../../cli/tests/processes/relay.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod relay;

use history::{Kind, contradiction, now};
use martlet_context_store::{ContextStore, ContextStoreConfig, SetContexts};
use martlet_store::testing::{TestPostgres, TestReplica};
use member::{CONTEXTS, LEASE_MS, MEMBERS, Member, owner};
use nix::sys::signal::Signal::{SIGCONT, SIGSTOP};
use relay::Relay;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What happened to a context so long before and after a contradiction is printed.
const AROUND: Duration = Duration::from_secs(2);

/// Pseudo-random numbers (xorshift) from a seed.
pub struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// The seed of another generator.
    fn seed(&mut self) -> u64 {
        self.below(u64::MAX - 1) + 1
    }

    /// A time of a fault.
    fn short(&mut self) -> Duration {
        Duration::from_millis(100 + self.below(900))
    }

    /// Seconds by which a clock is ahead or behind: small and large ones.
    fn clock(&mut self) -> i64 {
        let max = [2, 30, 300, 100_000][self.below(4) as usize];
        self.below(2 * max + 1) as i64 - max as i64
    }
}

/// Runs a statement at the server.
fn run(url: &str, sql: &str) -> Option<Vec<postgres::SimpleQueryMessage>> {
    let mut client = postgres::Client::connect(url, postgres::NoTls).ok()?;
    client.simple_query(sql).ok()
}

/// The first value of the first row.
fn first_value(url: &str, sql: &str) -> Option<String> {
    run(url, sql)?.iter().find_map(|message| match message {
        postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_string),
        _ => None,
    })
}

/// The clock of a server as its sessions read it: the machine's and what a file in its data folder
/// says, so that each server has a clock of its own.
const SERVER_CLOCK: &str = "CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz VOLATILE \
     LANGUAGE sql AS $$ SELECT pg_catalog.clock_timestamp() + \
     pg_catalog.pg_read_file('clock_offset')::interval $$; \
     ALTER ROLE martlet SET search_path = public, pg_catalog";

fn set_server_clock(folder: &Path, seconds: i64) {
    // Two threads set clocks.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    // A reader finds the old file or the new one.
    let file = folder.join("data/clock_offset");
    let new = file.with_extension("new");
    std::fs::write(&new, format!("{seconds} seconds")).expect("the clock of the server");
    std::fs::rename(&new, &file).expect("the clock of the server");
}

/// Disturbs the server until the time is over.
fn disturb_server(
    server: &mut TestPostgres,
    random: &mut Random,
    until: Instant,
) -> Vec<&'static str> {
    let mut done = Vec::new();
    while Instant::now() < until {
        std::thread::sleep(Duration::from_millis(300 + random.below(700)));
        let short = random.short();
        match random.below(5) {
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
            2 => {
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
            _ => {
                done.push("server's clock set");
                set_server_clock(server.folder(), random.clock());
            }
        }
    }
    done
}

/// Disturbs the members until the end.
fn disturb_members(
    members: &mut [Member],
    relays: &[[Relay; 2]],
    servers: [&Path; 2],
    random: &mut Random,
    ends: &AtomicBool,
) -> Vec<&'static str> {
    let mut done = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100 + random.below(500)));
        let short = random.short();
        let fault = random.below(7);
        // Leases that end too early are found where the owner cannot renew them.
        let n = match fault {
            5.. => members[0].last_owner(),
            _ => random.below(MEMBERS as u64) as usize,
        };
        let member = &mut members[n];
        match fault {
            0 => {
                done.push("suspended");
                member.signal(SIGSTOP);
                std::thread::sleep(short);
                member.signal(SIGCONT);
            }
            1 => {
                done.push("killed");
                member.restart(random.seed());
            }
            2 => {
                done.push("cut off");
                relays[n].iter().for_each(Relay::cut);
                std::thread::sleep(short);
                relays[n].iter().for_each(|relay| relay.restore().unwrap());
            }
            3 => {
                done.push("cut off without an answer");
                relays[n].iter().for_each(|relay| relay.stall(true));
                std::thread::sleep(short);
                relays[n].iter().for_each(|relay| relay.stall(false));
            }
            4 if member.has_clock => {
                done.push("clock set");
                member.set_clock(random.clock());
            }
            4 => {}
            _ => {
                done.push("cut off while the server's clock is set");
                relays[n].iter().for_each(|relay| relay.stall(true));
                std::thread::sleep(Duration::from_millis(50));
                let seconds = random.clock();
                servers.into_iter().for_each(|server| set_server_clock(server, seconds));
                std::thread::sleep(Duration::from_millis(LEASE_MS.into()));
                relays[n].iter().for_each(|relay| relay.stall(false));
            }
        }
    }
    done
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn no_two_members_hold_a_context_while_the_database_and_members_fail() {
    // A replica returns soon after the primary does, so that commits do not wait for it.
    let settings = |_: &Path| Ok(vec!["wal_retrieve_retry_interval=100ms".into()]);
    let Some(mut server) = TestPostgres::start_with("leases", settings).unwrap() else { return };
    let (seconds, seed) =
        (number("MARTLET_CHAOS_SECONDS", 6), number("MARTLET_CHAOS_SEED", 1).max(1));
    println!("MARTLET_CHAOS_SECONDS={seconds} MARTLET_CHAOS_SEED={seed}");
    let mut random = Random(seed);
    set_server_clock(server.folder(), 3600);
    run(&server.url(), SERVER_CLOCK).expect("the server's clock");
    let ahead = "SELECT clock_timestamp() - pg_catalog.clock_timestamp() > '59 minutes'";
    assert_eq!(first_value(&server.url(), ahead).as_deref(), Some("t"), "the server's clock");
    set_server_clock(server.folder(), 0);
    let mut replica = TestReplica::of(&server).unwrap();
    let other = replica.server().folder().to_path_buf();
    set_server_clock(&other, random.clock());
    // A commit is on both servers when it returns, so that a failover loses none.
    run(&server.url(), "ALTER SYSTEM SET synchronous_standby_names = '*'").unwrap();
    run(&server.url(), "SELECT pg_reload_conf()").unwrap();
    let primary = server.folder().to_path_buf();
    let folder = primary.join("members");
    std::fs::create_dir_all(&folder).unwrap();

    // The tables and contexts are made once, and are those of the first member.
    let config = member::config(&server.url(), &folder);
    let (store, _) = ContextStore::open(&config, &owner(0)).unwrap();
    (0..CONTEXTS).for_each(|id| store.put(id.to_string(), id.to_be_bytes().to_vec()));
    assert!(store.flush(Duration::from_secs(10)));
    drop(store);
    let relays: Vec<[Relay; 2]> = (0..MEMBERS)
        .map(|n| {
            let relay = |name: &str, to: &TestPostgres| {
                Relay::to(to, &folder.join(format!("{name}{n}"))).unwrap()
            };
            [relay("a", &server), relay("b", replica.server())]
        })
        .collect();
    let url = |relays: &[Relay; 2]| {
        let hosts = relays.each_ref().map(Relay::host).join(",");
        let options = "target_session_attrs=read-write&statement_timeout=1000&connect_timeout=1";
        format!("postgresql://martlet@{hosts}/postgres?{options}")
    };
    let mut members: Vec<Member> =
        (0..MEMBERS).map(|n| Member::start(n, &folder, &url(&relays[n]), random.seed())).collect();
    if !members[0].has_clock {
        eprintln!("SKIPPED: clocks of members: install the package libfaketime");
    }
    let (ends, mut of_members) = (AtomicBool::new(false), Random(random.seed()));
    let until = Instant::now() + Duration::from_secs(seconds);
    let (mut done, of_members, promoted) = std::thread::scope(|scope| {
        let disturb =
            || disturb_members(&mut members, &relays, [&primary, &other], &mut of_members, &ends);
        let disturbing = scope.spawn(disturb);
        let done = disturb_server(&mut server, &mut random, until);
        // The primary is gone for good.
        server.kill();
        // At once: leases that the primary stored last longer than its absence.
        replica.promote().unwrap();
        let promoted = now();
        std::thread::sleep(Duration::from_secs(3));
        ends.store(true, Ordering::Relaxed);
        (done, disturbing.join().unwrap(), promoted)
    });
    done.push("failed over");
    // Without faults.
    std::thread::sleep(Duration::from_secs(1));
    let mut ended: Vec<usize> = Vec::new();
    for member in &mut members {
        ended.extend((!member.is_running()).then_some(member.number));
    }
    drop(members);
    let logs = |n: &usize| std::fs::read_to_string(folder.join(format!("log-{n}")));
    assert!(ended.is_empty(), "members ended: {:?}", ended.iter().map(logs).collect::<Vec<_>>());
    let history = history::read(&folder, MEMBERS);
    let count = |kind| history.iter().filter(|operation| operation.kind == kind).count();
    println!("{} acts, {} takeovers: {done:?}", count(Kind::Acted), count(Kind::TookOver));
    println!("members: {of_members:?}");
    if let Some((takeover, act)) = contradiction(&history) {
        let around = takeover.begun.saturating_sub(AROUND)..act.ended + AROUND;
        let mut near: Vec<_> = history
            .iter()
            .filter(|it| it.context == act.context && around.contains(&it.ended))
            .collect();
        near.sort_by_key(|operation| operation.begun);
        near.iter().for_each(|operation| println!("{operation:?}"));
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
    let twice = first_value(&replica.server().url(), sql);
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
    // An unoptimised build on a busy machine gets more time.
    let longest = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 2 });
    assert!(took < longest, "{took:?}");
}

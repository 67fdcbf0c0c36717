//! Statements and commits at PostgreSQL for registrations and PDU sessions, as the server counts
//! them, and connections of an idle core.
use crate::nf_sets::{LIMIT, internet, two_smfs};
use crate::outages::logged;
use crate::relay::Relay;
use crate::{Site, deregister_all, gnb, ue};
use anyhow::{Context, Result, ensure};
use martlet_ran::Ue;
use martlet_store::testing::TestPostgres;
use martlet_tests::in_namespace_within;
use std::time::{Duration, Instant};

/// A server that counts statements.
fn server(name: &str) -> Result<Option<TestPostgres>> {
    let settings =
        |_: &std::path::Path| Ok(vec!["shared_preload_libraries=pg_stat_statements".to_string()]);
    let Some(server) = TestPostgres::start_with(name, settings)? else { return Ok(None) };
    numbers(&server, "CREATE EXTENSION pg_stat_statements; SELECT 1")?;
    Ok(Some(server))
}

/// The first column of a query's last statement.
fn numbers(server: &TestPostgres, sql: &str) -> Result<Vec<String>> {
    let (url, sql) = (server.url(), sql.to_string());
    // The client must not run within the test's runtime.
    let ask = std::thread::spawn(move || -> Result<Vec<String>> {
        let mut client = postgres::Client::connect(&url, postgres::NoTls)?;
        let rows = client.simple_query(&sql)?;
        let of = |message: &postgres::SimpleQueryMessage| match message {
            postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_string),
            _ => None,
        };
        Ok(rows.iter().filter_map(of).collect())
    });
    ask.join().ok().context("the query ended")?
}

fn number(server: &TestPostgres, sql: &str) -> Result<i64> {
    Ok(numbers(server, sql)?.last().context("a number")?.parse()?)
}

/// Statements of subscriber data, and those that commit something.
fn subscriber_statements(server: &TestPostgres) -> Result<(i64, i64)> {
    let calls = |pattern: &str| {
        number(
            server,
            &format!(
                "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query ~ '{pattern}' \
                 AND query !~ 'pg_stat|supi, kind, key, value. VALUES|kind = |max.number'"
            ),
        )
    };
    Ok((
        calls("subscriber|INTO context|FROM context")?,
        calls("UPDATE subscriber|INTO context|DELETE FROM context")?,
    ))
}

async fn of_registrations(site: &Site, server: &TestPostgres) -> Result<()> {
    let core = site.start(&["--split", "--sbi", "http"])?;
    let gnb = gnb().await?;
    let rest = Duration::from_millis(1200);
    // The first ones warm caches of discovery.
    let warm = ue(&gnb, 1)?;
    warm.register().await?;
    warm.establish_pdu_session(internet()).await?;
    tokio::time::sleep(rest).await;
    let mut last = subscriber_statements(server)?;
    let mut since = |what: &str| -> Result<(i64, i64)> {
        let now = subscriber_statements(server)?;
        let (statements, commits) = (now.0 - last.0, now.1 - last.1);
        last = now;
        println!("{what}: {statements} statements, {commits} commits");
        Ok((statements, commits))
    };
    let alone = (2..5).map(|n| ue(&gnb, n)).collect::<Result<Vec<Ue>>>()?;
    let (mut registrations, mut sessions) = (Vec::new(), Vec::new());
    for ue in &alone {
        ue.register().await?;
        tokio::time::sleep(rest).await;
        registrations.push(since("one registration")?);
        ue.establish_pdu_session(internet()).await?;
        tokio::time::sleep(rest).await;
        sessions.push(since("its session")?);
    }
    for (statements, commits) in registrations {
        ensure!(statements <= 3 && commits <= 1, "{statements} statements, {commits} commits");
    }
    for (statements, commits) in sessions {
        ensure!(statements <= 3 && commits <= 1, "{statements} and {commits} for a session");
    }
    // Those at the same time share commits.
    let ues = (5..37).map(|n| ue(&gnb, n)).collect::<Result<Vec<Ue>>>()?;
    let outcomes = futures_util::future::join_all(ues.iter().map(Ue::register)).await;
    outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    tokio::time::sleep(rest).await;
    let (statements, commits) = since("32 registrations at the same time")?;
    ensure!(statements <= 3 * 32 && commits <= 32, "{statements} and {commits}");
    let sessions =
        futures_util::future::join_all(ues.iter().map(|ue| ue.establish_pdu_session(internet())));
    sessions.await.into_iter().collect::<Result<Vec<_>, _>>()?;
    tokio::time::sleep(rest).await;
    let (statements, commits) = since("their sessions")?;
    ensure!(statements <= 3 * 32 && commits <= 32, "{statements} and {commits}");
    let all: Vec<&Ue> = ues.iter().chain(&alone).chain([&warm]).collect();
    deregister_all(&core, &all).await?;
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn a_registration_costs_at_most_three_statements_and_one_commit() {
    in_namespace_within(LIMIT, || async {
        let Some(server) = server("statements")? else { return Ok(()) };
        let site = Site::on("statements", Some(&server.url()))?;
        // The writes of a registration share a statement also on a busy machine. An optimised
        // core on a quiet one needs the default of 5.
        let ms = std::env::var("MARTLET_FLUSH_INTERVAL_MS").unwrap_or_else(|_| "500".into());
        let config = std::fs::read_to_string(site.config())?;
        let config = config.replace("udr: {", &format!("udr: {{ flush_interval_ms: {ms},"));
        std::fs::write(site.config(), config)?;
        site.subscribe(3, 100)?;
        of_registrations(&site, &server).await
    });
}

#[test]
fn idle_members_of_an_smf_set_open_no_connections_and_poll_once_a_second() {
    in_namespace_within(LIMIT, || async {
        let Some(mut server) = server("idle-set")? else { return Ok(()) };
        let site = Site::on("idle-set", Some(&server.url()))?;
        let set = two_smfs(&site).await?;
        // Those of the core's start have ended.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let sessions = "SELECT sessions FROM pg_stat_database WHERE datname = 'postgres'";
        let looks = "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query ~ \
                     'FROM member m LEFT JOIN state'";
        let migrations = "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query ~ \
                          'martlet_schema'";
        let read = || {
            Ok::<_, anyhow::Error>((
                number(&server, sessions)?,
                number(&server, looks)?,
                number(&server, migrations)?,
            ))
        };
        let (before, begun) = (read()?, Instant::now());
        tokio::time::sleep(Duration::from_secs(5)).await;
        let (after, seconds) = (read()?, begun.elapsed().as_secs_f64());
        // The test itself opens a connection for each number.
        let opened = after.0 - before.0 - 3;
        let looked = after.1 - before.1;
        println!(
            "in {seconds:.1} s: {opened} connections opened, {looked} looks at the set by two \
             members"
        );
        ensure!(opened <= 1, "{opened} connections");
        let rate = looked as f64 / seconds;
        ensure!((0.8..=2.8).contains(&rate), "{looked} looks in {seconds:.1} s");
        ensure!(after.2 == before.2, "a migration");
        // A set that cannot be read is an outage of its own.
        for (down, logs) in [(true, (1, 0)), (false, (1, 1))] {
            if down {
                server.stop()
            } else {
                server.restart()?
            }
            let give_up = Instant::now() + Duration::from_secs(60);
            while logged(&site, "smf", "set")? != logs {
                ensure!(Instant::now() < give_up, "{:?}", logged(&site, "smf", "set")?);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        drop(set.other);
        set.core.stop()
    });
}

/// The quickest of registrations one after the other, with this delay to the database in each
/// direction. Other load of the machine only adds to a time.
async fn quickest_registration(server: &TestPostgres, ms: u64) -> Result<Duration> {
    let name = format!("latency-{ms}");
    let relay_folder = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
    let delay = Duration::from_millis(ms);
    let relay = Relay::with_delay(server, &relay_folder.join("relay"), delay)?;
    let site = Site::on(&name, Some(&server.url()))?;
    // Adding subscribers needs no delay.
    let direct = std::fs::read_to_string(site.config())?;
    std::fs::write(site.config(), direct.replace(&server.url(), &relay.url()))?;
    let core = site.start(&["--split", "--sbi", "http"])?;
    let gnb = gnb().await?;
    let mut all = Vec::new();
    for round in 0..13 {
        let ue = ue(&gnb, 1 + round % 2)?;
        let begun = Instant::now();
        ue.register().await?;
        all.push(begun.elapsed());
        ue.deregister().await?;
    }
    gnb.shutdown().await;
    core.stop()?;
    all.into_iter().min().context("no registration")
}

#[test]
fn a_registration_waits_for_one_round_trip_to_the_database() {
    in_namespace_within(LIMIT, || async {
        let Some(server) = server("latency")? else { return Ok(()) };
        let mut quickest = Vec::new();
        for ms in [0, 1, 5] {
            let time = quickest_registration(&server, ms).await?;
            println!("{} ms to the database and back: quickest registration {time:?}", 2 * ms);
            quickest.push(time);
            // The next site has a key of its own.
            let tables = ["subscriber", "context", "state", "member", "taken"];
            let clear = tables.map(|table| format!("DELETE FROM {table};")).concat();
            numbers(&server, &format!("{clear} SELECT 1"))?;
        }
        // Three round trips of 10 ms would be more, whatever else the machine does.
        let more = quickest[2].saturating_sub(quickest[0]);
        ensure!(more < Duration::from_millis(30), "{more:?} for 10 ms to the database");
        Ok(())
    });
}

//! Processes and managers that are killed at random moments. Thirty kills by default; `make soak`,
//! or `MARTLET_KILLS=1000 cargo test -p martlet-sbi-fabric --test process_deaths`, runs more.
mod support;

use martlet_fabric::*;
use martlet_sbi::*;
use rand::Rng;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[test]
fn child() {
    child_main();
}

/// Number of servers to kill. The manager is killed a fifth as often.
fn kills() -> u32 {
    std::env::var("MARTLET_KILLS").map_or(30, |kills| kills.parse().unwrap())
}

/// Mappings of channels, and descriptors, of this process.
fn resources() -> (usize, usize) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mappings = maps.lines().filter(|line| line.contains("memfd:martlet-fabric")).count();
    (mappings, std::fs::read_dir("/proc/self/fd").unwrap().count())
}

#[derive(Default)]
struct Tally {
    answered: Cell<u32>,
    failed: Cell<u32>,
    over: Cell<bool>,
}

impl Tally {
    fn count<T>(&self, started: Instant, outcome: Result<T, Problem>) -> Option<T> {
        // A call that runs into its timeout was lost without being detected.
        assert!(started.elapsed() < Duration::from_secs(15), "a call hung");
        match outcome {
            Ok(value) => {
                self.answered.set(self.answered.get() + 1);
                Some(value)
            }
            Err(problem) => {
                assert!(
                    problem.transport.is_some() && problem.cause() == "TARGET_NF_NOT_REACHABLE",
                    "{problem}"
                );
                self.failed.set(self.failed.get() + 1);
                None
            }
        }
    }
}

async fn call(far: EchoClient, tally: Rc<Tally>, length: usize) {
    let note = Note { text: "n".repeat(length) };
    while !tally.over.get() {
        let started = Instant::now();
        let outcome = far.echo("1", note.clone().into()).await;
        if let Some(answer) = tally.count(started, outcome) {
            assert!(answer.body.json == note);
        } else {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn connect(fabric: Fabric, to: std::net::SocketAddr, tally: Rc<Tally>, whole: Rc<Cell<u32>>) {
    let sent: Vec<u8> = (0..200_000).map(|n| (n * 7) as u8).collect();
    while !tally.over.get() {
        let started = Instant::now();
        let exchange = async {
            let (mut from, mut to) = tokio::io::split(fabric.connect(to).await?);
            let write = async {
                to.write_all(&sent).await?;
                to.shutdown().await
            };
            let mut got = Vec::new();
            let (write, read) = tokio::join!(write, from.read_to_end(&mut got));
            write.and(read)?;
            std::io::Result::Ok(got)
        };
        match exchange.await {
            Ok(got) => {
                assert!(got == sent, "premature end of the stream");
                whole.set(whole.get() + 1);
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
        assert!(started.elapsed() < Duration::from_secs(15), "a connection hung");
    }
}

#[tokio::test]
async fn killed_processes_affect_only_their_own_calls() {
    let dir = TestDir::new("soak");
    let mut manager = ServerProcess::manager(&dir);
    let (binding, bindings) = join(dir.config("test"));
    let fabric = binding.fabric().clone();
    let near = serve(&binding, &bindings, "near:1");
    let steady = ServerProcess::start(&dir, "steady:1");
    let steady_client = client(&bindings, "steady:1");
    until("the steady server is up", async || steady_client.pid().await.is_ok()).await;
    let before = resources();

    let (listen, blocking) = ("127.0.0.1:50999", "127.0.0.1:50998");
    let local = tokio::task::LocalSet::new();
    local
        .run_until(async {
            let tally = Rc::new(Tally::default());
            let mut tasks = Vec::new();
            for length in [10, 1600, 20_000, 300_000] {
                tasks.push(tokio::task::spawn_local(call(
                    client(&bindings, "far:1"),
                    tally.clone(),
                    length,
                )));
            }
            let whole = [listen, blocking].map(|to| {
                let whole = Rc::new(Cell::new(0));
                let talk =
                    connect(fabric.clone(), to.parse().unwrap(), tally.clone(), whole.clone());
                tasks.push(tokio::task::spawn_local(talk));
                whole
            });
            let steady_tally = Rc::new(Tally::default());
            let steady_task =
                tokio::task::spawn_local(call(steady_client.clone(), steady_tally.clone(), 5000));

            let far = client(&bindings, "far:1");
            for kill in 0..kills() {
                let extra = [
                    ("MARTLET_FABRIC_HAMMER", "near:1"),
                    ("MARTLET_FABRIC_LISTEN", listen),
                    ("MARTLET_FABRIC_BLOCKING", blocking),
                ];
                let mut victim = ServerProcess::start_with(&dir, "far:1", &extra);
                // Kill every fourth one while it joins.
                if kill % 4 != 3 {
                    let pid = victim.0.id().to_string();
                    until("the next server is up", async || {
                        far.pid().await.is_ok_and(|at| at.text == pid)
                    })
                    .await;
                }
                let moment = rand::rng().random_range(0..8000);
                tokio::time::sleep(Duration::from_micros(moment)).await;
                victim.kill();
                // Kill and restart the manager every fifth time.
                if kill % 5 == 2 {
                    manager.kill();
                    tokio::time::sleep(Duration::from_micros(rand::rng().random_range(0..50_000)))
                        .await;
                    manager = ServerProcess::manager(&dir);
                }
            }
            // The last server is not killed, so both kinds of streams complete.
            let extra = [("MARTLET_FABRIC_LISTEN", listen), ("MARTLET_FABRIC_BLOCKING", blocking)];
            let last = ServerProcess::start_with(&dir, "far:1", &extra);
            whole.iter().for_each(|whole| whole.set(0));
            until("streams complete", async || whole.iter().all(|whole| whole.get() > 0)).await;
            drop(last);
            tally.over.set(true);
            for task in tasks {
                task.await.unwrap();
            }
            steady_tally.over.set(true);
            steady_task.await.unwrap();
            assert!(tally.answered.get() > kills(), "{} answered", tally.answered.get());
            assert!(tally.failed.get() > 0);
            assert_eq!(
                steady_tally.failed.get(),
                0,
                "a killed process affected calls to another one"
            );
            eprintln!(
                "{} calls answered, {} failed as reported",
                tally.answered.get(),
                tally.failed.get()
            );
        })
        .await;

    // All resources of the killed processes are released: memory, descriptors, running requests.
    until("all resources are released", async || resources() == before).await;
    let hanging = async || client(&bindings, "near:1").hanging().await.unwrap().text;
    until("no request is running", async || hanging().await == "0").await;
    until("all buffers are returned", async || fabric.buffers_lent() == 0).await;
    until("all buffers are returned to the peer", async || {
        steady_client.lent().await.unwrap().text == "0"
    })
    .await;
    assert_eq!(steady_client.pid().await.unwrap().text, steady.0.id().to_string());
    drop(near);
}

//! A network namespace for each test: tests share neither addresses nor interfaces.
use anyhow::Result;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::future::Future;
use std::process::Command;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// Default time limit of a test.
const LIMIT: Duration = Duration::from_secs(300);

/// Tests of this program that run at the same time. One that [measures](in_namespace_alone) runs
/// without others.
static RUNNING: RwLock<()> = RwLock::new(());

/// Runs a test on a new thread with its own Tokio runtime, in a new network namespace. The loopback
/// interface is up. The namespace ends with the thread. Without the privilege to create a namespace
/// the test prints that it is skipped.
pub fn in_namespace<T, F>(test: T)
where
    T: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result<()>>,
{
    in_namespace_within(LIMIT, test);
}

/// [`in_namespace`] with another time limit.
pub fn in_namespace_within<T, F>(limit: Duration, test: T)
where
    T: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result<()>>,
{
    let running = RUNNING.read().unwrap_or_else(PoisonError::into_inner);
    let outcome = run(limit, test);
    drop(running);
    passes(outcome);
}

/// [`in_namespace_within`] for a test that compares durations: it waits for the tests of this
/// program that run, and others wait for it, so that they do not take the CPUs at one side of the
/// comparison only.
pub fn in_namespace_alone<T, F>(limit: Duration, test: T)
where
    T: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result<()>>,
{
    let alone = RUNNING.write().unwrap_or_else(PoisonError::into_inner);
    let outcome = run(limit, test);
    drop(alone);
    passes(outcome);
}

/// Panics on the thread of the test if it has failed.
fn passes(outcome: std::thread::Result<Result<()>>) {
    match outcome {
        Ok(outcome) => outcome.unwrap_or_else(|error| panic!("{error:?}")),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn run<T, F>(limit: Duration, test: T) -> std::thread::Result<Result<()>>
where
    T: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result<()>>,
{
    let _ = tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_env("MARTLET_LOG"))
        .with_test_writer()
        .try_init();
    // The thread has the name of the test, which `skip` prints.
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    let builder = std::thread::Builder::new().name(name);
    let thread = builder.spawn(move || -> Result<()> {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            crate::skip(&format!(
                "cannot create a network namespace ({error}); run the tests as root"
            ));
            return Ok(());
        }
        // A child process inherits the namespace of the thread that starts it.
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
        anyhow::ensure!(up.success(), "cannot set the loopback interface up");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            tokio::time::timeout(limit, test())
                .await
                .unwrap_or_else(|_| anyhow::bail!("the test exceeded its limit of {limit:?}"))
        })
    });
    thread.expect("start a thread").join()
}

/// Runs a function on a thread of its own in the network namespace with this name. A socket that it
/// opens stays in that namespace.
///
/// # Errors
/// The namespace cannot be entered, or the function fails.
pub fn within_netns<T: Send + 'static>(
    name: &str,
    function: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let namespace = File::open(format!("/run/netns/{name}"))?;
    let thread = std::thread::spawn(move || -> Result<T> {
        setns(namespace, CloneFlags::CLONE_NEWNET)?;
        function()
    });
    thread.join().map_err(|_| anyhow::anyhow!("the thread in the namespace panicked"))?
}

/// Runs a function on a thread of its own in the namespace of the program's start. A process
/// that it starts keeps no namespace of a test.
///
/// # Errors
/// The namespace cannot be entered, or the function fails.
pub(crate) fn outside<T: Send + 'static>(
    function: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let thread = std::thread::spawn(move || -> Result<T> {
        // Of the first thread, which no test runs on.
        let own = std::fs::read_link("/proc/thread-self/ns/net")?;
        if own != std::fs::read_link("/proc/self/ns/net")? {
            setns(File::open("/proc/self/ns/net")?, CloneFlags::CLONE_NEWNET)?;
        }
        function()
    });
    thread.join().map_err(|_| anyhow::anyhow!("the thread outside namespaces panicked"))?
}

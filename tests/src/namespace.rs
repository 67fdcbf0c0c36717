//! A network namespace for one test, so that tests share neither addresses nor interfaces.
use nix::sched::{CloneFlags, unshare};
use std::future::Future;
use std::process::Command;
use std::time::Duration;

/// How long a test may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a test on a thread of its own, in a new network namespace with its loopback up, on a
/// runtime of its own. Without the right to make a namespace the test is skipped, visibly. The
/// namespace goes away with the thread.
pub fn in_namespace<T, F>(test: T)
where
    T: FnOnce() -> F + Send + 'static,
    F: Future<Output = anyhow::Result<()>>,
{
    in_namespace_within(LIMIT, test);
}

/// [`in_namespace`] for a test that may take longer.
pub fn in_namespace_within<T, F>(limit: Duration, test: T)
where
    T: FnOnce() -> F + Send + 'static,
    F: Future<Output = anyhow::Result<()>>,
{
    let _ = tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_env("MARTLET_LOG"))
        .with_test_writer()
        .try_init();
    let thread = std::thread::spawn(move || -> anyhow::Result<()> {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            eprintln!(
                "SKIPPED: a network namespace cannot be made ({error}); run the tests as root"
            );
            return Ok(());
        }
        // A child inherits the namespace of the thread that starts it.
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
        anyhow::ensure!(up.success(), "the loopback interface did not come up");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            tokio::time::timeout(limit, test())
                .await
                .unwrap_or_else(|_| anyhow::bail!("the test took over {limit:?}"))
        })
    });
    match thread.join() {
        Ok(outcome) => outcome.unwrap_or_else(|error| panic!("{error:?}")),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

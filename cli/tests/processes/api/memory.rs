//! Memory that the API takes at rest and after sign-ins.
use super::*;
use martlet_lab::CoreProcess;
use martlet_tests::in_namespace;

/// A hash of a password takes 19 MiB; the process does not keep them.
#[test]
fn memory_of_password_hashes_is_returned() {
    in_namespace(|| async {
        let site = api_site("api-memory")?;
        let core = site.start(&[])?;
        let resident = || -> Result<u64> {
            let status = std::fs::read_to_string(format!("/proc/{}/status", core.id()))?;
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
            let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
            Ok(kilobytes.context("RssAnon")?.parse()?)
        };
        let password = first_password(&site)?;
        let before = resident()?;
        for _ in 0..4 {
            Caller::tcp().sign_in("admin", &password)?;
        }
        let after = resident()?;
        ensure!(after < before + 10_000, "{before} kB before, {after} kB after four sign-ins");
        core.stop()
    });
}

/// The API of a core without viewers takes at most 6 MB of resident memory: connections, a
/// thread and an open database. Code that a poll brings in goes again.
#[test]
fn an_api_at_rest_takes_little_memory() {
    in_namespace(|| async {
        let resident = |core: &CoreProcess| -> Result<i64> {
            let status = std::fs::read_to_string(format!("/proc/{}/status", core.id()))?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
            Ok(kilobytes.context("VmRSS")?.parse()?)
        };
        let without = Site::new("api-rest-off")?;
        let config = std::fs::read_to_string(without.config())?;
        let off = config.replace("oam: {", "oam: { api: { enabled: false },");
        std::fs::write(without.config(), off)?;
        let with = api_site("api-rest")?;
        let core = without.start(&[])?;
        // Both are read after the code of the start was unmapped.
        tokio::time::sleep(Duration::from_secs(6)).await;
        let before = resident(&core)?;
        core.stop()?;
        let core = with.start(&[])?;
        let give_up = Instant::now() + Duration::from_secs(60);
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let after = resident(&core)?;
            if after <= before + 6_000 {
                break;
            }
            let what = format!("{before} kB without the API, {after} kB with it");
            ensure!(Instant::now() < give_up, what);
        }
        core.stop()
    });
}

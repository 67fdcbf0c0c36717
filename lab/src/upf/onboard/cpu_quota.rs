//! A share of one CPU for a thread and the threads that it starts: CPU bandwidth of a cgroup, of
//! either version. It stands for the computing power of a slower board.
use anyhow::{Context, Result};
use nix::unistd::gettid;
use std::fs;
use std::path::{Path, PathBuf};

/// The shortest period, in microseconds. A thread that has used its share waits for its end, so it
/// is shorter than what a queue of frames lasts.
const PERIOD_US: f64 = 10_000.0;
/// The least time that the kernel grants in a period.
const GRANT_US: f64 = 1_000.0;

/// A group of threads with a share of a CPU. The calling thread is in it until this is dropped.
#[derive(Debug)]
pub struct CpuQuota {
    group: PathBuf,
    parent: PathBuf,
    is_unified: bool,
}

/// Where the group of this process is in a hierarchy: the mount point, and the path below it.
fn group_of(mounts: &str, groups: &str) -> Option<(PathBuf, bool)> {
    let path = |point: &str, below: &str| {
        let whole = Path::new(point).join(below.trim_start_matches('/'));
        // In a container the path may be that of the host.
        if whole.is_dir() { whole } else { point.into() }
    };
    let mut unified = None;
    for mount in mounts.lines() {
        let mut fields = mount.split(' ').skip(1);
        let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        let below = |is_it: &dyn Fn(&str) -> bool| {
            groups.lines().find_map(|line| {
                let (_, rest) = line.split_once(':')?;
                let (controllers, path) = rest.split_once(':')?;
                is_it(controllers).then_some(path)
            })
        };
        if kind == "cgroup" && options.split(',').any(|option| option == "cpu") {
            let below = below(&|controllers| controllers.split(',').any(|it| it == "cpu"))?;
            return Some((path(point, below), false));
        }
        if kind == "cgroup2" {
            unified = Some((path(point, below(&|controllers| controllers.is_empty())?), true));
        }
    }
    unified
}

/// Period and quota in microseconds for a share of a CPU.
fn bandwidth(share: f64) -> (u64, u64) {
    let period = (GRANT_US / share).clamp(PERIOD_US, 1e6);
    (period as u64, (period * share).max(GRANT_US) as u64)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {text:?} to {}", path.display()))
}

impl CpuQuota {
    /// Makes a group with a share of one CPU, from 0 to 1, and moves the calling thread into it.
    ///
    /// # Errors
    /// The kernel has no CPU bandwidth control, or this process may not make groups.
    pub fn enter(share: f64) -> Result<CpuQuota> {
        let (mounts, groups) =
            (fs::read_to_string("/proc/mounts")?, fs::read_to_string("/proc/self/cgroup")?);
        let (parent, is_unified) =
            group_of(&mounts, &groups).context("no cgroup controller `cpu` is mounted")?;
        let group = parent.join(format!("martlet-lab-{}", gettid()));
        // One that a killed run left is empty.
        fs::create_dir_all(&group).with_context(|| format!("cannot make {}", group.display()))?;
        // From here on it is removed on drop.
        let quota = CpuQuota { group, parent, is_unified };
        if is_unified {
            write(&quota.group.join("cgroup.type"), "threaded")?;
            write(&quota.parent.join("cgroup.subtree_control"), "+cpu")?;
        }
        quota.set(share)?;
        quota.move_to(&quota.group)?;
        Ok(quota)
    }

    /// Changes the share.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn set(&self, share: f64) -> Result<()> {
        let (period, quota) = bandwidth(share);
        let file = |name: &str| self.group.join(name);
        match (self.is_unified, share >= 1.0) {
            (true, true) => write(&file("cpu.max"), "max"),
            (true, false) => write(&file("cpu.max"), &format!("{quota} {period}")),
            (false, true) => write(&file("cpu.cfs_quota_us"), "-1"),
            (false, false) => {
                // The old quota might exceed the new period.
                write(&file("cpu.cfs_quota_us"), "-1")?;
                write(&file("cpu.cfs_period_us"), &period.to_string())?;
                write(&file("cpu.cfs_quota_us"), &quota.to_string())
            }
        }
    }

    fn move_to(&self, group: &Path) -> Result<()> {
        let file = if self.is_unified { "cgroup.threads" } else { "tasks" };
        write(&group.join(file), &gettid().to_string())
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        let moved = self.move_to(&self.parent);
        let removed = moved.and_then(|()| Ok(fs::remove_dir(&self.group)?));
        if let Err(error) = removed {
            tracing::warn!(group = %self.group.display(), %error, "cgroup not removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_group_of_a_process_is_found_in_either_version() {
        let one = "cgroup /none/cpu cgroup rw,relatime,cpu,cpuacct 0 0\n";
        let two = "cgroup2 /none/two cgroup2 rw,nosuid 0 0\n";
        let groups = "3:cpuset:/a\n1:cpu,cpuacct:/b\n0::/c\n";
        let found = |mounts: &str| {
            group_of(mounts, groups).map(|(path, unified)| (path.display().to_string(), unified))
        };
        assert_eq!(found(one), Some(("/none/cpu".into(), false)));
        assert_eq!(found(two), Some(("/none/two".into(), true)));
        assert_eq!(found(&format!("{two}{one}")), Some(("/none/cpu".into(), false)));
        assert_eq!(found("proc /proc proc rw 0 0\n"), None);
    }

    #[test]
    fn a_share_is_granted_in_periods_of_at_least_a_millisecond_of_cpu_time() {
        assert_eq!(bandwidth(0.5), (10_000, 5_000));
        assert_eq!(bandwidth(0.1), (10_000, 1_000));
        assert_eq!(bandwidth(0.02), (50_000, 1_000));
    }

    /// A thread and its child get the share together. Less is possible on a busy machine.
    #[test]
    fn threads_of_the_group_get_no_more_than_their_share() {
        let Ok(quota) = CpuQuota::enter(0.2) else {
            return println!("SKIPPED: no CPU bandwidth control here, or no right to use it");
        };
        let folder = quota.group.clone();
        let busy = || {
            let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
            let used = || Duration::from(nix::time::clock_gettime(clock).unwrap());
            let (before, start) = (used(), Instant::now());
            while start.elapsed() < Duration::from_millis(500) {
                std::hint::black_box((0..1000u64).sum::<u64>());
            }
            (used() - before).as_secs_f64() / start.elapsed().as_secs_f64()
        };
        let both = std::thread::scope(|scope| {
            let child = scope.spawn(busy);
            busy() + child.join().unwrap()
        });
        assert!(both < 0.3, "{both}");
        drop(quota);
        assert!(!folder.exists());
    }
}

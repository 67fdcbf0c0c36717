//! No switch process outlives its parent.
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An address that the test with a number alone uses: that of another run would be marked, too, and
/// its port would be in use.
fn address(test: u16) -> String {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    // Process identities have 22 bits.
    format!("127.{}.{middle}.{low}:{}", 64 | (high & 0x3f), 20_000 + test)
}

/// Processes whose command line contains this text.
fn with(mark: &str) -> Vec<i32> {
    let of = |entry: std::io::Result<std::fs::DirEntry>| -> Option<i32> {
        let entry = entry.ok()?;
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let words = std::fs::read(entry.path().join("cmdline")).ok()?;
        words.split(|byte| *byte == 0).any(|word| word == mark.as_bytes()).then_some(pid)
    };
    std::fs::read_dir("/proc").expect("/proc").filter_map(of).collect()
}

/// A switch whose processes are identified by this address.
fn start(mark: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_martlet-switch"));
    command.args(["run", "--with-parent", "--memory", "360", "--listen", mark]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.process_group(0).spawn().expect("the switch")
}

fn until_ready(child: &mut Child) {
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    assert!(
        lines.map_while(Result::ok).any(|line| line.starts_with("ready ")),
        "the switch becomes ready"
    );
}

fn none_is_left(mark: &str, what: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    while !with(mark).is_empty() {
        assert!(Instant::now() < until, "{what}: {:?} still run", with(mark));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(pid: i32, signal: i32) {
    // SAFETY: a signal to a process that this test started.
    unsafe { libc::kill(pid, signal) };
}

#[test]
fn the_switch_ends_with_its_parent() {
    let mark = &address(1);
    // The other end of its pipe is closed, as when a core is killed: at once, while DPDK starts,
    // and while packets are forwarded.
    for wait in [0, 3, 20, 80, 300] {
        let mut child = start(mark);
        std::thread::sleep(Duration::from_millis(wait));
        drop(child.stdin.take());
        none_is_left_but(&mut child, mark, &format!("{wait} ms after its start"));
    }
    let mut child = start(mark);
    until_ready(&mut child);
    assert_eq!(with(mark).len(), 2, "the switch and its supervisor");
    drop(child.stdin.take());
    none_is_left_but(&mut child, mark, "at work");
}

#[test]
fn the_switch_ends_with_its_supervisor() {
    let mark = &address(2);
    for wait in [0, 3, 20, 80] {
        let mut child = start(mark);
        std::thread::sleep(Duration::from_millis(wait));
        // The pipe stays open: the kernel's parent death signal ends the switch.
        let pipe = child.stdin.take();
        kill(child.id() as i32, libc::SIGKILL);
        let _ = child.wait();
        none_is_left(mark, &format!("{wait} ms after its start"));
        drop(pipe);
    }
    for signal in [libc::SIGKILL, libc::SIGTERM] {
        let mut child = start(mark);
        until_ready(&mut child);
        let pipe = child.stdin.take();
        kill(child.id() as i32, signal);
        let _ = child.wait();
        none_is_left(mark, "at work");
        drop(pipe);
    }
}

/// Waits for the child as well, which would remain as a zombie.
fn none_is_left_but(child: &mut Child, mark: &str, what: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    while matches!(child.try_wait(), Ok(None)) {
        assert!(Instant::now() < until, "{what}: the switch does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    none_is_left(mark, what);
}

#[test]
fn a_killed_switch_is_restarted() {
    let mark = &address(3);
    let mut child = start(mark);
    until_ready(&mut child);
    std::thread::sleep(Duration::from_millis(1100));
    let own = child.id() as i32;
    let of_switch = || with(mark).into_iter().find(|pid| *pid != own);
    let first = of_switch().expect("a switch");
    kill(first, libc::SIGKILL);
    let until = Instant::now() + Duration::from_secs(60);
    while of_switch().is_none_or(|pid| pid == first) {
        assert!(Instant::now() < until, "the switch is restarted");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(child.stdin.take());
    none_is_left_but(&mut child, mark, "started again");
}

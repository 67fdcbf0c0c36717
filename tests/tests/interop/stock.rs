//! A program of another maker: built from its module, unchanged, and run beside the test.
use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to end.
const END: Duration = Duration::from_secs(10);
/// How long one may take that ends by itself.
const DAY: Duration = Duration::from_secs(60);
/// What Go says where there is no way to a module, or it is too old for one.
const NOT_HERE: [&str; 7] = [
    "dial tcp",
    "unrecognized import path",
    "403 Forbidden",
    "404 Not Found",
    "410 Gone",
    "requires go >= ",
    "TLS handshake",
];

fn go() -> Option<&'static str> {
    ["go", "/usr/local/go/bin/go"]
        .into_iter()
        .find(|go| Command::new(go).arg("version").output().is_ok())
}

/// A Go command in a folder of `tests/interop`, and where programs are put.
fn command(name: &str) -> Option<(Command, PathBuf)> {
    let Some(go) = go() else {
        eprintln!(
            "SKIPPED: there is no Go toolchain; deploy/install/packages.sh test installs one"
        );
        return None;
    };
    let folder = std::env::current_exe().ok()?.parent()?.to_path_buf();
    let mut command = Command::new(go);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("interop").join(name));
    command
        .env("GOTOOLCHAIN", "local")
        .env("GOFLAGS", "-buildvcs=false")
        .env("GOCACHE", folder.join("go-build"));
    Some((command, folder))
}

/// Runs a Go command: what it says, unless modules or the toolchain that they ask for are not to be
/// had.
fn ran(mut command: Command, what: &str) -> Option<String> {
    let output = command.output().expect("go runs");
    let said = String::from_utf8_lossy(&output.stderr);
    if let Some(why) = said.lines().find(|line| NOT_HERE.iter().any(|sign| line.contains(sign))) {
        eprintln!("SKIPPED: {what} cannot be built here: {why}");
        return None;
    }
    assert!(output.status.success(), "{said}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Builds a package of a module that `tests/interop/NAME/go.mod` names, and that its `go.sum`
/// pins.
pub fn built(name: &str, package: &str) -> Option<PathBuf> {
    let (mut build, folder) = command(name)?;
    let program = folder.join(name);
    // In a guest it takes minutes, and it was built outside.
    if std::env::var_os("MARTLET_TEST_BUILT").is_none() {
        build.args(["build", "-mod=readonly", "-o"]).arg(&program).arg(package);
        ran(build, package)?;
    }
    Some(program)
}

/// A copy of the module that `go.mod` names, in which programs of its own may write what its build
/// asks for.
pub fn copied(name: &str, module: &str) -> Option<PathBuf> {
    let (mut list, folder) = command(name)?;
    list.args(["mod", "download", module]);
    ran(list, module)?;
    let (mut list, _) = command(name)?;
    list.args(["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module]);
    let from = ran(list, module)?;
    let to = folder.join(format!("{name}-source"));
    if !to.exists() {
        let mut copy = Command::new("cp");
        let copied = copy
            .args(["-r", "--no-preserve=mode", from.trim()])
            .arg(&to)
            .status()
            .expect("cp runs");
        assert!(copied.success());
    }
    Some(to)
}

/// A Go command in a copy of a module.
pub fn go_in(copy: &Path, what: &str, change: impl FnOnce(&mut Command)) -> Option<String> {
    let mut command = Command::new(go()?);
    let cache = copy.with_file_name("go-build");
    command
        .current_dir(copy)
        .env("GOTOOLCHAIN", "local")
        .env("GOFLAGS", "-buildvcs=false")
        .env("GOCACHE", cache);
    change(&mut command);
    ran(command, what)
}

/// The program at work; it ends with the value.
pub struct Stock {
    child: Child,
    log: PathBuf,
}

impl Stock {
    /// Starts it in the folder, in the namespace of this thread.
    pub fn start<A: AsRef<OsStr>>(program: &Path, arguments: &[A], folder: &Path) -> Result<Stock> {
        let name = program.file_name().context("a program has a name")?.to_string_lossy();
        let path = folder.join(format!("{name}.log"));
        let log = std::fs::File::create(&path)?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        Ok(Stock { child: command.spawn()?, log: path })
    }

    /// What it has said.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until it has ended by itself: what it said, and whether all went well.
    pub async fn ended(mut self) -> Result<(String, bool)> {
        let until = Instant::now() + DAY;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok((self.said(), status.success()));
            }
            anyhow::ensure!(Instant::now() < until, "it does not end:\n{}", self.said());
            // What it asks for is in this thread.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Has it end in order, and waits for that.
    pub async fn end(mut self) -> Result<()> {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM)?;
        let until = Instant::now() + END;
        while self.child.try_wait()?.is_none() {
            anyhow::ensure!(Instant::now() < until, "it does not end:\n{}", self.said());
            // The functions that it takes leave of are in this thread.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

impl Drop for Stock {
    fn drop(&mut self) {
        // A test that has come to its end has had it end before.
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            eprintln!("{}:\n{}", self.log.display(), self.said());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

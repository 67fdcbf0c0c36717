//! A program of another vendor: built from its Go module and run beside the test.
use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a program may take to stop after SIGTERM.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a program may take that ends by itself.
const RUN_TIMEOUT: Duration = Duration::from_secs(60);
/// Messages of Go when a module cannot be downloaded or needs a newer toolchain.
const UNAVAILABLE: [&str; 7] = [
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

/// A Go command in a folder of `tests/interop`, and the folder for programs.
fn command(name: &str) -> Option<(Command, PathBuf)> {
    let Some(go) = go() else {
        martlet_tests::skip("no Go toolchain; deploy/install/packages.sh test installs one");
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

/// Runs a Go command and returns its output. `None`, with a message on standard error, if a module
/// or the toolchain that it needs is not available.
fn run_go(mut command: Command, what: &str) -> Option<String> {
    let output = command.output().expect("start go");
    let stderr = String::from_utf8_lossy(&output.stderr);
    if let Some(why) =
        stderr.lines().find(|line| UNAVAILABLE.iter().any(|sign| line.contains(sign)))
    {
        martlet_tests::skip(&format!("{what} cannot be built: {why}"));
        return None;
    }
    assert!(output.status.success(), "{stderr}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Builds a package of the module that `tests/interop/NAME/go.mod` names and `go.sum` pins.
pub fn build(name: &str, package: &str) -> Option<PathBuf> {
    build_changed(name, package, None)
}

/// The same, with text replaced in files of a module.
pub fn build_changed(name: &str, package: &str, change: Option<&Change>) -> Option<PathBuf> {
    // Tests of one program share its copy and its output.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut build, folder) = command(name)?;
    let program = folder.join(name);
    // A build in the guest would take minutes: it was built outside.
    if std::env::var_os("MARTLET_TEST_BUILT").is_none() {
        build.args(["build", "-mod=readonly", "-o"]).arg(&program);
        if let Some(change) = change {
            build.arg(format!("-modfile={}", change.module_file(name, &folder)?.display()));
        }
        build.arg(package);
        run_go(build, package)?;
    }
    Some(program)
}

/// Builds a package by another file than `go.mod`, `STEM.mod`. The program is `NAME-STEM`.
pub fn build_by(name: &str, stem: &str, package: &str) -> Option<PathBuf> {
    let (mut build, folder) = command(name)?;
    let program = folder.join(format!("{name}-{stem}"));
    build.args(["build", "-mod=readonly"]).arg(format!("-modfile={stem}.mod"));
    build.arg("-o").arg(&program).arg(package);
    run_go(build, package)?;
    Some(program)
}

/// What is changed in a module when a program is built.
pub struct Change {
    /// The module.
    pub module: &'static str,
    /// The changes of its files.
    pub edits: &'static [Edit],
}

/// Text that is replaced in files of a module.
pub struct Edit {
    /// Paths of the files in the module.
    pub files: &'static [&'static str],
    /// The text, which each of the files has.
    pub from: &'static str,
    /// What replaces it.
    pub to: &'static str,
}

impl Edit {
    fn apply(&self, copy: &Path) {
        for file in self.files {
            let file = copy.join(file);
            let source = std::fs::read_to_string(&file).expect("read a file of the module");
            if source.contains(self.to) {
                continue;
            }
            assert!(source.contains(self.from), "{file:?} has no {:?}", self.from);
            std::fs::write(&file, source.replace(self.from, self.to)).expect("write a file");
        }
    }
}

impl Change {
    /// Changes a copy of the module, and writes a `go.mod` that names it: Go refuses overlays of
    /// its cache.
    fn module_file(&self, name: &str, folder: &Path) -> Option<PathBuf> {
        let copy = copy(name, self.module)?;
        self.edits.iter().for_each(|edit| edit.apply(&copy));
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop").join(name);
        let module_file = folder.join(format!("{name}.mod"));
        let text = std::fs::read_to_string(own.join("go.mod")).expect("read go.mod");
        let replace = format!("\nreplace {} => {}\n", self.module, copy.display());
        std::fs::write(&module_file, text + &replace).expect("write a go.mod");
        std::fs::copy(own.join("go.sum"), folder.join(format!("{name}.sum"))).expect("copy go.sum");
        Some(module_file)
    }
}

/// The folder of a module's source.
fn module_folder(name: &str, module: &str) -> Option<PathBuf> {
    let (mut list, _) = command(name)?;
    list.args(["mod", "download", module]);
    run_go(list, module)?;
    let (mut list, _) = command(name)?;
    list.args(["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module]);
    Some(PathBuf::from(run_go(list, module)?.trim()))
}

/// A writable copy of the module that `go.mod` names, for modules whose build generates code.
pub fn copy(name: &str, module: &str) -> Option<PathBuf> {
    let (_, folder) = command(name)?;
    let from = module_folder(name, module)?;
    let to = folder.join(format!("{name}-source"));
    if !to.exists() {
        // A test that was stopped leaves no half of a copy under that name.
        let partial = folder.join(format!("{name}-source-{}", std::process::id()));
        let mut cp = Command::new("cp");
        let cp = cp.args(["-r", "--no-preserve=mode"]).arg(from).arg(&partial);
        assert!(cp.status().expect("start cp").success(), "cannot copy the module");
        std::fs::rename(&partial, &to).expect("name the copy");
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
    run_go(command, what)
}

/// A running program. Dropping this value kills it; unless it has stopped as expected, its output
/// is printed.
pub struct ExternalProgram {
    child: Child,
    log: PathBuf,
    finished: bool,
}

impl ExternalProgram {
    /// Starts a program in a folder, in the network namespace of this thread.
    pub fn start<A: AsRef<OsStr>>(
        program: &Path,
        arguments: &[A],
        folder: &Path,
    ) -> Result<ExternalProgram> {
        let name = program.file_name().context("the program has no name")?.to_string_lossy();
        let path = folder.join(format!("{name}.log"));
        let log = std::fs::File::create(&path)?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        Ok(ExternalProgram { child: command.spawn()?, log: path, finished: false })
    }

    /// Its standard output and standard error.
    pub fn output(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until the output has a text. Fails at once, with the output, if the program ends.
    pub async fn until_output(&mut self, text: &str) -> Result<()> {
        let deadline = Instant::now() + RUN_TIMEOUT;
        while !self.output().contains(text) {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended with {status}:\n{}", self.log.display(), self.output());
            }
            ensure!(Instant::now() < deadline, "no {text:?} in the output:\n{}", self.output());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Waits until the program ends by itself. Returns its output and whether it succeeded.
    pub async fn wait(mut self) -> Result<(String, bool)> {
        let deadline = Instant::now() + RUN_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.finished = true;
                return Ok((self.output(), status.success()));
            }
            ensure!(Instant::now() < deadline, "the program does not end:\n{}", self.output());
            // The core that answers it runs on this thread.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends SIGTERM and waits until the program has ended.
    pub async fn stop(mut self) -> Result<()> {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM)?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < deadline, "the program does not stop:\n{}", self.output());
            // The functions from which it deregisters run on this thread.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.finished = true;
        Ok(())
    }
}

impl Drop for ExternalProgram {
    fn drop(&mut self) {
        if !self.finished {
            eprintln!("output of {}:\n{}", self.log.display(), self.output());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

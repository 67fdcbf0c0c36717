//! A PostgreSQL server of a test's own: in a temporary folder, on a unix socket alone, gone with
//! the test.
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that ends when it is dropped.
pub struct OwnPostgres {
    folder: PathBuf,
    programs: PathBuf,
    user: (u32, u32),
    server: Option<Child>,
}

/// The newest PostgreSQL of this machine; its programs are not on the path.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
    let mut all: Vec<PathBuf> = versions
        .map(|version| version.path().join("bin"))
        .filter(|bin| bin.join("initdb").exists())
        .collect();
    all.sort();
    all.pop()
}

/// The user that the package makes: the server does not run as root.
fn user() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let fields: Vec<&str> =
        users.lines().find(|line| line.starts_with("postgres:"))?.split(':').collect();
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

impl OwnPostgres {
    /// Starts a server; `None`, with the reason on standard error, where this machine has none, or
    /// it must not change its user.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(name: &str) -> std::io::Result<Option<OwnPostgres>> {
        let (Some(programs), Some(user)) = (programs(), user()) else {
            eprintln!("SKIPPED: there is no PostgreSQL: install the package postgresql");
            return Ok(None);
        };
        let folder = std::env::temp_dir().join(format!("martlet-pg-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        if chown(&folder, Some(user.0), Some(user.1)).is_err() {
            std::fs::remove_dir_all(&folder)?;
            eprintln!("SKIPPED: only root may start a PostgreSQL as its own user");
            return Ok(None);
        }
        let mut made = OwnPostgres { folder, programs, user, server: None };
        let data = made.data();
        let mut initdb = made.command("initdb");
        initdb
            .args(["--no-sync", "-A", "trust", "-U", "martlet", "-E", "UTF8", "--locale=C", "-D"])
            .arg(&data);
        let output = initdb.output()?;
        if !output.status.success() {
            return Err(std::io::Error::other(
                String::from_utf8_lossy(&output.stderr).into_owned(),
            ));
        }
        made.restart()?;
        Ok(Some(made))
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.uid(self.user.0).gid(self.user.1).current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    /// Starts the server, or stops it first.
    pub fn restart(&mut self) -> std::io::Result<()> {
        self.stop();
        let (data, folder) = (self.data(), self.folder.clone());
        let mut server = self.command("postgres");
        server.arg("-D").arg(data).arg("-k").arg(folder).args([
            "-c",
            "listen_addresses=",
            "-c",
            "fsync=off",
        ]);
        self.server = Some(server.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        let give_up = Instant::now() + Duration::from_secs(30);
        let address = self.address();
        // In a thread of its own: the caller may be within a runtime.
        let answers = move || {
            let address = address.clone();
            let attempt = std::thread::spawn(move || crate::postgres::connect(&address).is_ok());
            attempt.join().unwrap_or(false)
        };
        while !answers() {
            if Instant::now() > give_up {
                return Err(std::io::Error::other("the server does not answer"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Stops the server.
    pub fn stop(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        let _ = Command::new("kill").args(["-INT", &server.id().to_string()]).status();
        let _ = server.wait();
    }

    /// Its address.
    pub fn address(&self) -> String {
        let host = self.folder.display().to_string().replace('/', "%2F");
        format!("postgresql://martlet@{host}/postgres")
    }

    /// A folder that is gone with the server.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for OwnPostgres {
    fn drop(&mut self) {
        self.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

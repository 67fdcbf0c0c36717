//! A PostgreSQL server for one test: data in a temporary folder, on a unix socket only, removed
//! with the test.
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that stops when it is dropped.
pub struct TestPostgres {
    folder: PathBuf,
    programs: PathBuf,
    user: (u32, u32),
    server: Option<Child>,
    /// Settings of the server, as `name=value`.
    settings: Vec<String>,
}

/// The programs of the newest installed PostgreSQL, which are not on the `PATH`.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
    let mut all: Vec<PathBuf> = versions
        .map(|version| version.path().join("bin"))
        .filter(|bin| bin.join("initdb").exists())
        .collect();
    all.sort();
    all.pop()
}

/// The user and group that the package creates: the server does not run as root.
fn user() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let fields: Vec<&str> =
        users.lines().find(|line| line.starts_with("postgres:"))?.split(':').collect();
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

impl TestPostgres {
    /// Starts a server. Returns `None`, with the reason on standard error, if PostgreSQL is not
    /// installed or this process cannot change its user.
    ///
    /// # Errors
    /// The server does not start.
    pub fn start(name: &str) -> std::io::Result<Option<TestPostgres>> {
        TestPostgres::start_with(name, |_| Ok(Vec::new()))
    }

    /// The same with settings (`name=value`). `prepare` gets the folder of the server, in which it
    /// can put files for it; they become the server's.
    ///
    /// # Errors
    /// The server does not start.
    pub fn start_with(
        name: &str,
        prepare: impl FnOnce(&Path) -> std::io::Result<Vec<String>>,
    ) -> std::io::Result<Option<TestPostgres>> {
        let (Some(programs), Some(user)) = (programs(), user()) else {
            eprintln!("SKIPPED: PostgreSQL is not installed: install the package postgresql");
            return Ok(None);
        };
        let folder = std::env::temp_dir().join(format!("martlet-pg-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        if chown(&folder, Some(user.0), Some(user.1)).is_err() {
            std::fs::remove_dir_all(&folder)?;
            eprintln!("SKIPPED: starting PostgreSQL as its own user needs root");
            return Ok(None);
        }
        let settings = prepare(&folder)?;
        for entry in std::fs::read_dir(&folder)? {
            chown(entry?.path(), Some(user.0), Some(user.1))?;
        }
        let mut postgres = TestPostgres { folder, programs, user, server: None, settings };
        let data = postgres.data();
        let mut initdb = postgres.command("initdb");
        initdb
            .args(["--no-sync", "-A", "trust", "-U", "martlet", "-E", "UTF8", "--locale=C", "-D"])
            .arg(&data);
        let output = initdb.output()?;
        if !output.status.success() {
            return Err(std::io::Error::other(
                String::from_utf8_lossy(&output.stderr).into_owned(),
            ));
        }
        postgres.restart()?;
        Ok(Some(postgres))
    }

    /// The rows of a query, one on each line, with `|` between columns.
    ///
    /// # Errors
    /// The server does not run, or refuses the query.
    pub fn query(&self, sql: &str) -> std::io::Result<String> {
        let mut psql = self.command("psql");
        psql.args(["-U", "martlet", "-d", "postgres", "-At", "-c", sql, "-h"]).arg(&self.folder);
        let output = psql.output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => {
                Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
            }
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.uid(self.user.0).gid(self.user.1).current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    /// Starts the server again, or for the first time.
    ///
    /// # Errors
    /// The server does not answer.
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
        for setting in &self.settings {
            server.args(["-c", setting]);
        }
        self.server = Some(server.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        let deadline = Instant::now() + Duration::from_secs(120);
        let url = self.url();
        // The client must not run within a runtime, as the caller may.
        let answers = move || {
            let url = url.clone();
            let attempt =
                std::thread::spawn(move || crate::connection::Client::connect(&url).is_ok());
            attempt.join().unwrap_or(false)
        };
        while !answers() {
            if Instant::now() > deadline {
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

    /// Sends a signal to the server and its processes: SIGSTOP for one that hangs.
    ///
    /// # Errors
    /// `kill` cannot be run.
    pub fn signal(&self, signal: &str) -> std::io::Result<()> {
        let Some(server) = &self.server else { return Ok(()) };
        let server = server.id().to_string();
        // Its processes are its children.
        let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children"))?;
        let mut kill = Command::new("kill");
        kill.arg(signal).arg(&server).args(children.split_whitespace()).status().map(drop)
    }

    /// The URL of its database.
    pub fn url(&self) -> String {
        let host = self.folder.display().to_string().replace('/', "%2F");
        let port = self.settings.iter().find_map(|setting| setting.strip_prefix("port="));
        let port = port.map_or(String::new(), |port| format!(":{port}"));
        format!("postgresql://martlet@{host}{port}/postgres")
    }

    /// The URL of its database at this server or at its replica, whichever accepts writes.
    pub fn url_with(&self, replica: &TestReplica) -> String {
        let host = |folder: &Path| folder.display().to_string().replace('/', "%2F");
        let hosts = format!("{},{}", host(&self.folder), host(&replica.server.folder));
        format!("postgresql://martlet@{hosts}/postgres?target_session_attrs=read-write")
    }

    /// Kills the server and its processes, as a power failure does.
    pub fn kill(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        // `-QUIT` ends all processes at once, without a checkpoint.
        let _ = Command::new("kill").args(["-QUIT", &server.id().to_string()]).status();
        let _ = server.wait();
    }

    /// A folder that is removed with the server.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// A streaming replica of a server.
pub struct TestReplica {
    server: TestPostgres,
}

impl TestReplica {
    /// Copies a running server and starts a replica of it.
    ///
    /// # Errors
    /// The copy fails, or the replica does not start.
    pub fn of(primary: &TestPostgres) -> std::io::Result<TestReplica> {
        let folder = primary.folder.with_extension("replica");
        std::fs::create_dir_all(&folder)?;
        chown(&folder, Some(primary.user.0), Some(primary.user.1))?;
        let server = TestPostgres {
            folder,
            programs: primary.programs.clone(),
            user: primary.user,
            server: None,
            settings: primary.settings.clone(),
        };
        let mut copy = server.command("pg_basebackup");
        copy.arg("-h").arg(&primary.folder).args(["-U", "martlet", "-R", "-X", "stream", "-c"]);
        copy.args(["fast", "--no-sync", "-D"]).arg(server.data());
        let output = copy.output()?;
        if !output.status.success() {
            return Err(std::io::Error::other(
                String::from_utf8_lossy(&output.stderr).into_owned(),
            ));
        }
        let mut replica = TestReplica { server };
        replica.server.restart()?;
        Ok(replica)
    }

    /// Waits until it has all that the primary has committed.
    ///
    /// # Errors
    /// A server does not answer, or the replica stays behind for ten seconds.
    pub fn wait_until_replayed(&self, primary: &TestPostgres) -> std::io::Result<()> {
        let url = primary.url();
        let sql = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= \
                   pg_current_wal_lsn()";
        let replayed = move || -> std::io::Result<bool> {
            let url = url.clone();
            let ask = std::thread::spawn(move || {
                let mut client = crate::connection::Client::connect(&url)?;
                Ok::<_, crate::StoreError>(client.query_one(sql, &[])?.get::<_, i64>(0) > 0)
            });
            let outcome = ask.join().map_err(|_| std::io::Error::other("the query ended"))?;
            outcome.map_err(std::io::Error::other)
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !replayed()? {
            if Instant::now() > deadline {
                return Err(std::io::Error::other("the replica is behind"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Makes it a primary.
    ///
    /// # Errors
    /// `pg_ctl` fails.
    pub fn promote(&mut self) -> std::io::Result<()> {
        let mut promote = self.server.command("pg_ctl");
        let output = promote.arg("promote").arg("-D").arg(self.server.data()).output()?;
        match output.status.success() {
            true => Ok(()),
            false => {
                Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
            }
        }
    }

    /// The server.
    pub fn server(&mut self) -> &mut TestPostgres {
        &mut self.server
    }
}

impl Drop for TestPostgres {
    fn drop(&mut self) {
        self.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

//! The switch process, which the UPF starts and ends.
use martlet_upf_config::{SwitchConfig, SwitchRun};
use martlet_upf_datapath::SwitchError;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit for a graceful end.
const TIMEOUT: Duration = Duration::from_secs(2);
const NAME: &str = "martlet-switch";

/// A running switch process, restarted when it fails. It ends when this is dropped, and with this
/// process.
pub(super) struct Process {
    command: Command,
    child: Child,
    started: Instant,
}

/// The program next to this one, or one folder up, where tests of a build have it; else from the
/// PATH.
fn program(run: &SwitchRun) -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let adjacent =
        own.ancestors().skip(1).take(2).map(|folder| folder.join(NAME)).find(|path| path.is_file());
    run.program.clone().or(adjacent).unwrap_or_else(|| NAME.into())
}

fn spawn(command: &mut Command) -> Result<Child, SwitchError> {
    command.spawn().map_err(|source| SwitchError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })
}

impl Process {
    pub fn start(run: &SwitchRun, config: &SwitchConfig) -> Result<Process, SwitchError> {
        let program = program(run);
        martlet_switch_control::build::check(&program)
            .map_err(|error| SwitchError::Build(error.into()))?;
        let mut command = Command::new(program);
        command.args([
            "run",
            "--with-parent",
            "--listen",
            &config.address.to_string(),
            "--device",
            &config.device.to_string(),
        ]);
        if let Some(token) = &config.token_file {
            command.arg("--token").arg(token);
        }
        command.args(["--access", &run.access, "--native-n3", &run.native_n3]);
        command.args(["--core", &run.core, "--native-n6", &run.native_n6]);
        command.args(["--engine", config.engine.name()]);
        if let Some(state) = &run.state {
            command.arg("--state").arg(state);
        }
        if let Some(spin) = run.spin_us {
            command.args(["--spin-us", &spin.to_string()]);
        }
        // The switch ends at the end of this pipe, and so does not outlive us.
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let child = spawn(&mut command)?;
        Ok(Process { command, child, started: Instant::now() })
    }

    /// Restarts the process if it has ended.
    pub fn keep_alive(&mut self) {
        if let Ok(Some(status)) = self.child.try_wait()
            && self.started.elapsed() > Duration::from_secs(1)
        {
            tracing::error!(%status, "switch process ended: restarting");
            self.started = Instant::now();
            match spawn(&mut self.command) {
                Ok(child) => self.child = child,
                Err(error) => tracing::error!("{error}"),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
        let until = Instant::now() + TIMEOUT;
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

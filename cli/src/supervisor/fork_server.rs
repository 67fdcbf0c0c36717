//! A process that forks the processes of functions.
//!
//! The loader of a program that is executed writes addresses into its tables of pointers, which are
//! megabytes. These pages then belong to one process, though all have the same content but for the
//! address of the program. A forked process shares them with its parent.
//!
//! ```text
//! supervisor -> fork server   fork, before it has a second thread
//! supervisor -> fork server   name of a function
//! fork server -> helper       fork
//! helper -> function          fork; the helper ends, and the supervisor becomes the parent
//! function -> supervisor      its process ID
//! ```
//!
//! The fork server has the supervisor's rights, and reads nothing but these names. Functions then
//! have the same layout of addresses, which is another one at each start of the core. Where it
//! cannot be used, functions are executed.
#![allow(unsafe_code)]
use nix::errno::Errno;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, setsockopt};
use nix::sys::socket::{socketpair, sockopt::ReceiveTimeout};
use nix::sys::time::TimeVal;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid, setpgid};
use rand::rngs::ThreadRng;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Time for a function to have its own process.
const LIMIT: Duration = Duration::from_secs(2);
/// Signals for the core as a whole, which are the supervisor's to handle.
const OF_THE_CORE: [Signal; 3] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];

/// What this process is after [`start`].
pub enum Role {
    /// The supervisor; `None` if there is no fork server.
    Supervisor(Option<ForkServer>),
    /// The process of a function.
    Function(String),
}

/// The supervisor's side.
#[derive(Debug)]
pub struct ForkServer {
    /// Its process.
    pub pid: Pid,
    socket: OwnedFd,
}

/// Starts the fork server, if this process has one thread. Returns in the supervisor, and later in
/// the process of each function.
///
/// # Errors
/// The kernel refused a step.
pub fn start() -> io::Result<Role> {
    // The other threads would not exist after the fork, with what they have locked.
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Ok(Role::Supervisor(None));
    }
    if let Err(error) = nix::sys::prctl::set_child_subreaper(true) {
        tracing::warn!(%error, "no fork server: functions are executed, and need more memory");
        return Ok(Role::Supervisor(None));
    }
    let (family, kind) = (AddressFamily::Unix, SockType::SeqPacket);
    let (socket, of_server) = socketpair(family, kind, None, SockFlag::SOCK_CLOEXEC)?;
    let supervisor = getpid();
    // SAFETY: this process has one thread.
    match unsafe { fork() }? {
        ForkResult::Parent { child: pid } => {
            let limit = TimeVal::new(LIMIT.as_secs() as i64, 0);
            setsockopt(&socket, ReceiveTimeout, &limit)?;
            Ok(Role::Supervisor(Some(ForkServer { pid, socket })))
        }
        ForkResult::Child => {
            drop(socket);
            handle_signals_of_the_core(SigHandler::SigIgn)?;
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            set_command_line(&["fork-server"]);
            serve(of_server, supervisor)
        }
    }
}

impl ForkServer {
    /// Starts the process of a function, a child of this process.
    ///
    /// # Errors
    /// The fork server has ended, does not answer, or cannot fork.
    pub fn spawn(&self, name: &str) -> io::Result<Pid> {
        send(self.socket.as_raw_fd(), name.as_bytes(), MsgFlags::MSG_NOSIGNAL)?;
        let (mut answer, asked) = ([0; 4], Instant::now());
        let length = loop {
            match recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty()) {
                // A receive with a time limit is interrupted also where handlers restart system
                // calls (signal(7)), and the function exists by then.
                Err(Errno::EINTR) if asked.elapsed() < LIMIT => {}
                other => break other?,
            }
        };
        match length {
            4 => match i32::from_ne_bytes(answer) {
                pid if pid > 0 => Ok(Pid::from_raw(pid)),
                errno => Err(io::Error::from_raw_os_error(-errno)),
            },
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Forks until the supervisor ends. Returns in the processes of functions.
fn serve(socket: OwnedFd, supervisor: Pid) -> io::Result<Role> {
    loop {
        let mut name = [0; 64];
        let length = match recv(socket.as_raw_fd(), &mut name, MsgFlags::empty()) {
            Ok(0) => std::process::exit(0),
            Err(Errno::EINTR) => continue,
            other => other?,
        };
        let name = String::from_utf8_lossy(&name[..length]).into_owned();
        match fork_alone() {
            Ok(ForkResult::Parent { child }) => waitpid(child, None).map(drop)?,
            Ok(ForkResult::Child) => match fork_alone() {
                Ok(ForkResult::Child) => return become_function(&socket, supervisor, name),
                Ok(ForkResult::Parent { .. }) => end(),
                Err(error) => {
                    let _ = answer(&socket, -(error as i32));
                    end()
                }
            },
            Err(error) => answer(&socket, -(error as i32))?,
        }
    }
}

/// Forks the fork server or one of its children.
fn fork_alone() -> nix::Result<ForkResult> {
    // SAFETY: the fork server has one thread, and so have those that it forks.
    unsafe { fork() }
}

fn handle_signals_of_the_core(handler: SigHandler) -> nix::Result<()> {
    for one in OF_THE_CORE {
        // SAFETY: no function of this program becomes the handler.
        unsafe { signal(one, handler) }?;
    }
    Ok(())
}

/// Ends a process without what the program registered for its end.
fn end() -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(0) }
}

fn answer(socket: &OwnedFd, number: i32) -> Result<(), Errno> {
    send(socket.as_raw_fd(), &number.to_ne_bytes(), MsgFlags::MSG_NOSIGNAL).map(drop)
}

/// Makes this process as if it had been executed by the supervisor.
fn become_function(socket: &OwnedFd, supervisor: Pid, name: String) -> io::Result<Role> {
    let begun = Instant::now();
    while getppid() != supervisor && begun.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_micros(20));
    }
    handle_signals_of_the_core(SigHandler::SigDfl)?;
    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    // The supervisor has made its memory private, and the start of a function reads /proc/self.
    nix::sys::prctl::set_dumpable(true)?;
    set_command_line(&["nf", &name]);
    // A generator that was used before the fork would give all functions the same numbers.
    ThreadRng::default().reseed().map_err(io::Error::other)?;
    answer(socket, getpid().as_raw())?;
    Ok(Role::Function(name))
}

/// Sets what ps(1) shows: the program and these arguments, which have to be shorter than those with
/// which the supervisor was started.
fn set_command_line(arguments: &[&str]) {
    let Some((start, end)) = command_line() else { return };
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let program = line.split(|byte| *byte == 0).next().unwrap_or_default();
    let words = std::iter::once(program).chain(arguments.iter().map(|word| word.as_bytes()));
    let mut line: Vec<u8> = words.flat_map(|word| word.iter().copied().chain([0])).collect();
    if line.len() > end - start {
        return;
    }
    line.resize(end - start, 0);
    // SAFETY: the kernel put the arguments there, on the stack above all frames, where they stay
    // writable. They were parsed before, and only this thread exists.
    unsafe {
        let area = std::ptr::with_exposed_provenance_mut::<u8>(start);
        std::ptr::copy_nonoverlapping(line.as_ptr(), area, line.len());
    }
}

/// Where the arguments of this process are: `arg_start` and `arg_end` of proc_pid_stat(5).
fn command_line() -> Option<(usize, usize)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses is field 2.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(48 - 3);
    let mut next = || fields.next()?.parse().ok();
    let (start, end): (usize, usize) = (next()?, next()?);
    (0 < start && start < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn on_signal(_: libc::c_int) {}

    #[test]
    fn a_signal_during_the_start_of_a_function_does_not_lose_the_function() {
        let (family, kind) = (AddressFamily::Unix, SockType::SeqPacket);
        let (socket, of_server) = socketpair(family, kind, None, SockFlag::SOCK_CLOEXEC).unwrap();
        setsockopt(&socket, ReceiveTimeout, &TimeVal::new(LIMIT.as_secs() as i64, 0)).unwrap();
        // SAFETY: the handler does nothing, and no other test uses the signal.
        unsafe { signal(Signal::SIGUSR2, SigHandler::Handler(on_signal)) }.unwrap();
        // SAFETY: no arguments.
        let supervisor = unsafe { libc::pthread_self() };
        let server = std::thread::spawn(move || {
            let mut name = [0; 64];
            let length = recv(of_server.as_raw_fd(), &mut name, MsgFlags::empty()).unwrap();
            assert_eq!(&name[..length], b"amf");
            for _ in 0..3 {
                std::thread::sleep(Duration::from_millis(50));
                // SAFETY: the thread waits for this one.
                unsafe { libc::pthread_kill(supervisor, libc::SIGUSR2) };
            }
            answer(&of_server, 4711).unwrap();
        });
        let fork_server = ForkServer { pid: getpid(), socket };
        let spawned = fork_server.spawn("amf");
        server.join().unwrap();
        assert_eq!(spawned.unwrap(), Pid::from_raw(4711));
    }
}

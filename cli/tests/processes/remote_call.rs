//! System calls by another process, as an attacker makes them who runs code inside it: ptrace(2)
//! stops the process at a system call, and makes it repeat the instruction with other registers.
#![cfg(target_arch = "x86_64")]
use anyhow::{Result, bail, ensure};
use std::io::{Error, Seek, SeekFrom, Write};

/// Code inside a process.
pub struct Attacker {
    pid: libc::pid_t,
    registers: libc::user_regs_struct,
    is_dead: bool,
}

/// How many signals of its own a process may get during a call.
const SIGNALS: usize = 100;

impl Attacker {
    /// Gets control of the main thread of a process, which waits in a system call.
    pub fn inside(pid: u32) -> Result<Attacker> {
        let pid = pid as libc::pid_t;
        ptrace(libc::PTRACE_SEIZE, pid, 0)?;
        ptrace(libc::PTRACE_INTERRUPT, pid, 0)?;
        wait(pid)?;
        let mut attacker = Attacker { pid, registers: registers(pid)?, is_dead: false };
        // Code of the `syscall` instruction is before the instruction pointer.
        let mut code = [0; 2];
        let memory = std::fs::File::open(format!("/proc/{pid}/mem"))?;
        std::os::unix::fs::FileExt::read_exact_at(&memory, &mut code, attacker.registers.rip - 2)?;
        if code != [0x0f, 0x05] {
            attacker.detach();
            bail!("the process does not wait in a system call: {code:02x?}");
        }
        Ok(attacker)
    }

    /// Makes a system call. Returns what the kernel returns, -errno on failure.
    pub fn call(&mut self, number: libc::c_long, arguments: [u64; 6]) -> Result<i64> {
        let mut registers = self.registers;
        registers.rip -= 2;
        registers.rax = number as u64;
        registers.orig_rax = u64::MAX;
        [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9] =
            arguments;
        ptrace(libc::PTRACE_SETREGS, self.pid, (&raw const registers) as usize)?;
        for _ in 0..SIGNALS {
            ptrace(libc::PTRACE_SINGLESTEP, self.pid, 0)?;
            let status = wait(self.pid)?;
            if !libc::WIFSTOPPED(status) {
                self.is_dead = true;
                bail!("the process ended, status {status:x}");
            }
            let after = self::registers(self.pid)?;
            if libc::WSTOPSIG(status) == libc::SIGTRAP && after.rip == self.registers.rip {
                return Ok(after.rax as i64);
            }
        }
        bail!("the call did not return")
    }

    /// Opens a file, and closes it again.
    pub fn open(&mut self, path: &str, flags: libc::c_int) -> Result<i64> {
        let at = self.write(path)?;
        let arguments = [libc::AT_FDCWD as i64 as u64, at, flags as u64, 0o600, 0, 0];
        let opened = self.call(libc::SYS_openat, arguments)?;
        if opened >= 0 {
            self.call(libc::SYS_close, [opened as u64, 0, 0, 0, 0, 0])?;
        }
        Ok(opened)
    }

    /// Removes a file.
    pub fn unlink(&mut self, path: &str) -> Result<i64> {
        let at = self.write(path)?;
        self.call(libc::SYS_unlink, [at, 0, 0, 0, 0, 0])
    }

    /// Writes a string into the memory of the process. Returns its address.
    fn write(&mut self, text: &str) -> Result<u64> {
        // Below the stack and its red zone.
        let at = (self.registers.rsp - 8192) & !15;
        let mut memory =
            std::fs::OpenOptions::new().write(true).open(format!("/proc/{}/mem", self.pid))?;
        memory.seek(SeekFrom::Start(at))?;
        memory.write_all(text.as_bytes())?;
        memory.write_all(&[0])?;
        Ok(at)
    }

    fn detach(&mut self) {
        if !self.is_dead {
            // The interrupted call starts again.
            let registers = self.registers;
            let _ = ptrace(libc::PTRACE_SETREGS, self.pid, (&raw const registers) as usize);
            let _ = ptrace(libc::PTRACE_DETACH, self.pid, 0);
            self.is_dead = true;
        }
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        self.detach();
    }
}

fn ptrace(request: libc::c_uint, pid: libc::pid_t, data: usize) -> Result<()> {
    // SAFETY: requests of this file take no address, and as data a number or a pointer to a
    // structure of registers that outlives the call.
    let result = unsafe { libc::ptrace(request, pid, 0usize, data) };
    ensure!(result >= 0, "ptrace {request}: {}", Error::last_os_error());
    Ok(())
}

fn registers(pid: libc::pid_t) -> Result<libc::user_regs_struct> {
    // SAFETY: integers, for which zero is a value.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    ptrace(libc::PTRACE_GETREGS, pid, (&raw mut registers) as usize)?;
    Ok(registers)
}

fn wait(pid: libc::pid_t) -> Result<libc::c_int> {
    let mut status = 0;
    // SAFETY: the status is written within the call.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
    ensure!(waited == pid, "waitpid: {}", Error::last_os_error());
    Ok(status)
}

//! Unmaps code that only the start of a process needed, such as the parsers of configuration and
//! arguments. It would count as resident memory in each of ten processes.
#![allow(unsafe_code)]
use std::sync::OnceLock;
use std::time::Duration;

/// Time until a function has registered with the NRF and discovered its peers.
const START_TIME: Duration = Duration::from_secs(2);

/// Trims this process once, after its start.
pub fn after_start() {
    tokio::spawn(async {
        tokio::time::sleep(START_TIME).await;
        match code().map(|code| unmap(CODE.get_or_init(|| code))) {
            Ok(bytes) => tracing::debug!(bytes, "unmapped code of the start"),
            Err(error) => tracing::debug!(%error, "code of the start stays mapped"),
        }
        // The last read of /proc/self: from now on no process of the same user may read it.
        if let Err(error) = nix::sys::prctl::set_dumpable(false) {
            tracing::warn!(%error, "other processes of this user can read the memory of this one");
        }
    });
}

/// Blocks of this size and more get mappings of their own.
#[cfg(target_env = "gnu")]
const MAPPED_BLOCK: libc::c_int = 4 << 20;

/// Makes the C library return large blocks to the kernel when they are freed. A hash of a password
/// has one of 19 MiB. Once such a block was freed, the C library would take the next ones from the
/// heap of the thread, and keep them there.
pub fn return_large_blocks() {
    // SAFETY: sets a parameter of the allocator, which takes its lock for it.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BLOCK);
    }
}

/// Mappings of the program's own code, found once: later, a process may not read `/proc/self`.
static CODE: OnceLock<Vec<(usize, usize)>> = OnceLock::new();

/// Trims this process once more, after work that is seldom done, such as a poll for alarms.
pub fn again() {
    if let Some(code) = CODE.get() {
        unmap(code);
    }
}

/// Returns freed memory of the start to the kernel: the description of an API is a megabyte of
/// small values, which is made once and dropped.
pub fn return_freed_memory() {
    // SAFETY: the allocator takes its locks for it, and only pages without live blocks are
    // released.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The mappings of the program's own code.
fn code() -> std::io::Result<Vec<(usize, usize)>> {
    let program = std::fs::read_link("/proc/self/exe")?;
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let program = program.to_str().unwrap_or_default();
    Ok(maps.lines().filter_map(|line| code_of(line, program)).collect())
}

/// Unmaps code and returns the number of bytes. Code that is called later is mapped again from the
/// page cache, with a minor fault for some pages each.
fn unmap(code: &[(usize, usize)]) -> usize {
    let mut bytes = 0;
    for (start, end) in code {
        let (first, length) = (*start as *mut libc::c_void, end - start);
        // SAFETY: the range is a whole mapping of this process, as the kernel lists it. It is a
        // private, executable, read-only mapping of a file, so its pages are unmodified and can be
        // read from the file again. The program unmaps none of its mappings.
        let done = unsafe { libc::madvise(first, length, libc::MADV_DONTNEED) };
        if done == 0 {
            bytes += end - start;
        }
    }
    bytes
}

/// The address range of a line of `/proc/self/maps` (proc_pid_maps(5)), if it is code of the
/// program. Relocated data is excluded: it is not executable.
fn code_of(line: &str, program: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (range, permissions) = (fields.next()?, fields.next()?);
    let path = fields.nth(3)?;
    let (start, end) = range.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    (permissions == "r-xp" && path == program).then_some((address(start)?, address(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_the_program_is_unmapped() {
        let line = |permissions: &str, path: &str| {
            code_of(
                &format!("1000-3000 {permissions} 00a0 fe:00 123                        {path}"),
                "/bin/martlet",
            )
        };
        assert_eq!(line("r-xp", "/bin/martlet"), Some((0x1000, 0x3000)));
        for (permissions, path) in [
            ("r--p", "/bin/martlet"),
            ("rw-p", "/bin/martlet"),
            ("r-xp", "/lib/libc.so.6"),
            ("r-xp", ""),
        ] {
            assert_eq!(line(permissions, path), None, "{permissions} {path}");
        }
    }

    #[test]
    fn a_trimmed_process_runs_on_with_less_mapped_code() {
        let mapped = || {
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let program = std::fs::read_link("/proc/self/exe").unwrap().display().to_string();
            let (mut ours, mut kilobytes) = (false, 0);
            for line in maps.lines() {
                match line.strip_prefix("Rss:") {
                    Some(rss) if ours => {
                        kilobytes += rss.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
                    }
                    _ if line.contains(" r-xp ") => ours = line.ends_with(&program),
                    _ if line.contains("-") && line.contains(" 00:00 ") => ours = false,
                    _ => {}
                }
            }
            kilobytes
        };
        // Runs code that is not needed afterwards.
        let _ = martlet::config::Config::load(None).unwrap();
        let before = mapped();
        assert!(unmap(&code().unwrap()) > 0);
        let after = mapped();
        assert!(after < before, "{before} KB, then {after} KB");
    }
}

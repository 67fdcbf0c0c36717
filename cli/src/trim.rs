//! Returns memory that only the start of a process needed, such as the code, the heap and the stack
//! of the parsers of configuration and arguments. It would count as resident in each of ten
//! processes.
#![allow(unsafe_code)]
use std::sync::OnceLock;
use std::time::Duration;

/// Time until a function has registered with the NRF and discovered its peers.
const START_TIME: Duration = Duration::from_secs(2);

/// Trims this process once, after its start.
pub fn after_start() {
    tokio::spawn(async {
        tokio::time::sleep(START_TIME).await;
        return_freed_memory();
        match std::fs::read_to_string("/proc/self/maps") {
            Ok(maps) => {
                let stack = return_stack(&maps);
                let code = unmap(CODE.get_or_init(|| code(&maps)));
                tracing::debug!(code, stack, "unmapped code and stack of the start");
            }
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

/// Returns freed memory of the start to the kernel: half of the heap was that of the parsers, and
/// the description of an API is a megabyte of small values, which is made once and dropped.
pub fn return_freed_memory() {
    // SAFETY: the allocator takes its locks for it, and only pages without live blocks are
    // released.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Bytes below the frame of the caller that stay: those of the functions that it calls here.
const STACK_IN_USE: usize = 32 << 10;

/// Unmaps the pages of this thread's stack that nothing uses now, and returns their number of
/// bytes. `maps` are the mappings of this process.
// Inlined, its variable could be far above the end of the caller's frame.
#[inline(never)]
fn return_stack(maps: &str) -> usize {
    let frame = 0u8;
    let here = std::ptr::from_ref(&frame) as usize;
    // SAFETY: reads a constant of the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // The kernel extends the length to whole pages, which have 64 KB on some arm64 machines.
    let page = usize::try_from(page).unwrap_or(64 << 10);
    let Some((start, end)) = unused_stack(maps, here, page) else { return 0 };
    // SAFETY: the range is the lower part of the mapping that has this frame. That is the stack of
    // this thread, which grows down and has a gap or a guard page below, so no other data is in
    // the mapping. The range ends below all frames: what is there was left by functions that have
    // returned, and reads as zero when a later call uses it.
    let done =
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
    if done == 0 { end - start } else { 0 }
}

/// The part of the mapping with the address `here` that is further below it than
/// [`STACK_IN_USE`], in whole pages.
fn unused_stack(maps: &str, here: usize, page: usize) -> Option<(usize, usize)> {
    let (start, _) =
        maps.lines().filter_map(range_of).find(|(start, end)| (*start..*end).contains(&here))?;
    let end = here.checked_sub(STACK_IN_USE)? / page * page;
    (start < end).then_some((start, end))
}

/// The mappings of the program's own code.
fn code(maps: &str) -> Vec<(usize, usize)> {
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let program = program.to_str().unwrap_or_default();
    maps.lines().filter_map(|line| code_of(line, program)).collect()
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
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (permissions, path) = (fields.next()?, fields.nth(3)?);
    if permissions == "r-xp" && path == program { range_of(line) } else { None }
}

/// The address range of a line of `/proc/self/maps`.
fn range_of(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some((address(start)?, address(end)?))
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
        assert!(unmap(&code(&std::fs::read_to_string("/proc/self/maps").unwrap())) > 0);
        let after = mapped();
        assert!(after < before, "{before} KB, then {after} KB");
    }

    /// Writes a frame of 400 KB.
    #[inline(never)]
    fn use_much_stack() -> usize {
        let frame = std::hint::black_box([1u8; 400 << 10]);
        frame.iter().map(|byte| usize::from(*byte)).sum()
    }

    /// Resident kilobytes of the mapping that has an address.
    fn resident(here: usize) -> u64 {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps.lines().skip_while(|line| {
            range_of(line).is_none_or(|(start, end)| !(start..end).contains(&here))
        });
        let rss = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
        rss.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn stack_of_functions_that_have_returned_is_unmapped() {
        let local = 0x5eed_u64;
        let here = std::ptr::from_ref(&local) as usize;
        assert_eq!(use_much_stack(), 400 << 10);
        let before = resident(here);
        let bytes = return_stack(&std::fs::read_to_string("/proc/self/maps").unwrap());
        let after = resident(here);
        assert!(bytes >= 350 << 10 && after + 300 < before, "{bytes}; {before} KB, {after} KB");
        // Frames in use are as before, and the stack can be used again.
        assert_eq!((std::hint::black_box(local), use_much_stack()), (0x5eed, 400 << 10));
        assert_eq!(unused_stack("1000-9000 rw-p 0 00:00 0\n", 0x8fff, 4096), None);
        let (start, end) = (0x10_0000, 0x1f_0000);
        let line = "100000-200000 rw-p 00000000 00:00 0   [stack]\n";
        assert_eq!(unused_stack(line, end + STACK_IN_USE + 8, 4096), Some((start, end)));
        let large = unused_stack(line, end + STACK_IN_USE - 8, 0x1_0000);
        assert_eq!(large, Some((start, end - 0x1_0000)));
    }
}

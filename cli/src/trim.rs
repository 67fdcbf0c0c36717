//! Gives back what only the start of a process needed: code that reads configurations and arguments
//! stays mapped otherwise, and counts for each of ten processes.
#![allow(unsafe_code)]
use std::time::Duration;

/// By then a function has registered, and found the others that it needs at once.
const SETTLED: Duration = Duration::from_secs(2);

/// Trims this process once, when it has settled.
pub fn once_settled() {
    tokio::spawn(async {
        tokio::time::sleep(SETTLED).await;
        match unmap_code() {
            Ok(octets) => tracing::debug!(octets, "the code that the start needed is let go"),
            Err(error) => tracing::debug!(%error, "the code that the start needed stays mapped"),
        }
    });
}

/// Unmaps the program's own code; what is called next is mapped again by a minor fault each, from
/// the page cache.
fn unmap_code() -> std::io::Result<usize> {
    let program = std::fs::read_link("/proc/self/exe")?;
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let mut octets = 0;
    for (start, end) in maps.lines().filter_map(|line| code_of(line, program.to_str()?)) {
        // SAFETY: the range is a whole mapping of this process, as the kernel lists it. It is
        // executable, private, not writable and of a file: nothing was changed in it, so
        // that the file has all that a later access needs.
        let done =
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
        if done != 0 {
            return Err(std::io::Error::last_os_error());
        }
        octets += end - start;
    }
    Ok(octets)
}

/// The range of a line of `/proc/self/maps` that is code of the program (proc_pid_maps(5)).
/// Relocated data, which look alike but for the letter `x`, are never among them.
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
    fn only_the_programs_own_code_is_let_go() {
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
    fn a_trimmed_process_goes_on_and_has_less_mapped() {
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
        // Code that nothing needs any more.
        let _ = martlet::config::Config::load(None).unwrap();
        let before = mapped();
        assert!(unmap_code().unwrap() > 0);
        let after = mapped();
        assert!(after < before, "{before} KB, then {after} KB");
    }
}

//! Reduces the resident memory of the process.

use std::io::{BufRead, BufReader};

/// Size of the mappings into which files of the program are split. On a page fault the kernel maps
/// up to sixteen cached pages around it, but only within one mapping; most of those pages are never
/// used.
const MAPPING_SIZE: usize = 8192;

/// Configures the C library's allocator to use one arena and to return freed memory to the kernel.
pub fn use_one_arena() {
    // SAFETY: only sets parameters of the allocator, before other threads exist.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 * 1024);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 * 1024);
    }
}

/// Releases memory that only the start or a handshake needed: unmodified pages of the program and
/// its libraries, which are read again from their files when used, and freed memory of the
/// allocator.
pub fn trim() {
    if let Ok(maps) = std::fs::File::open("/proc/self/smaps") {
        // Read by line, since the file is long.
        trim_files(BufReader::new(maps).lines().map_while(Result::ok));
    }
    // SAFETY: releases free memory only.
    unsafe { libc::malloc_trim(0) };
}

fn trim_files(maps: impl Iterator<Item = String>) {
    let (mut mapping, mut anonymous) = (None, true);
    for line in maps {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            // A read-only mapping of a file.
            [range, rights, _, _, _, file] if range.contains('-') => {
                let plain =
                    file.starts_with('/') && rights.starts_with('r') && !rights.contains('w');
                let number = |text: &str| usize::from_str_radix(text, 16).ok();
                let ends =
                    range.split_once('-').and_then(|(from, to)| Some((number(from)?, number(to)?)));
                (mapping, anonymous) = (ends.filter(|_| plain), true);
            }
            [range, ..] if range.contains('-') => mapping = None,
            ["Anonymous:", size, _] => anonymous = *size != "0",
            // The last line of a mapping. Mappings with anonymous pages were written before they
            // became read-only (relocations).
            ["VmFlags:", ..] if !anonymous => {
                if let Some((start, end)) = mapping {
                    // SAFETY: all pages of the mapping equal its file, from which they are read
                    // again.
                    unsafe {
                        libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED)
                    };
                    split_mapping(start, end);
                }
            }
            _ => {}
        }
    }
}

/// Splits a file mapping into mappings of [`MAPPING_SIZE`] bytes by setting MADV_DONTDUMP, which is
/// irrelevant for such a mapping, on every second piece. The address decides which, so that
/// repeated calls have the same result.
fn split_mapping(start: usize, end: usize) {
    let first = start.next_multiple_of(MAPPING_SIZE);
    let seconds = (first..end).step_by(MAPPING_SIZE).filter(|at| (at / MAPPING_SIZE) % 2 == 1);
    for at in seconds {
        // SAFETY: affects core dumps only. The call may fail at the limit of mappings, which is
        // harmless.
        unsafe {
            libc::madvise(at as *mut libc::c_void, MAPPING_SIZE.min(end - at), libc::MADV_DONTDUMP)
        };
    }
}

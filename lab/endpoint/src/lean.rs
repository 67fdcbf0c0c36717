//! Little memory: one arena, and nothing of the program resident that it does not use.

use std::io::{BufRead, BufReader};

/// Octets of the pieces in which the program and its libraries are mapped: the kernel maps all
/// pages around one that is used that are in memory anyway, up to sixteen, but of the same mapping
/// alone, and nearly all of them are of functions that are never called.
const PIECE: usize = 8192;

/// Memory that is freed goes back, and there is one arena for it.
pub fn one_arena() {
    // SAFETY: it sets numbers of the allocator of the C library, before there is another thread.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 * 1024);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 * 1024);
    }
}

/// Lets go of what only the start, or a handshake, had need of: pages of the program and its
/// libraries that are as they are in their files come back from there when they are used again;
/// memory that was freed goes back to the kernel.
pub fn let_go() {
    if let Ok(maps) = std::fs::File::open("/proc/self/smaps") {
        // Line by line: in pieces there is much of it.
        let_go_of_files(BufReader::new(maps).lines().map_while(Result::ok));
    }
    // SAFETY: it frees what nobody holds.
    unsafe { libc::malloc_trim(0) };
}

fn let_go_of_files(maps: impl Iterator<Item = String>) {
    let (mut mapping, mut anonymous) = (None, true);
    for line in maps {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            // Read from a file, and not writable.
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
            // The last line of a mapping; what was written before it was made read-only
            // (relocations) has anonymous pages.
            ["VmFlags:", ..] if !anonymous => {
                if let Some((start, end)) = mapping {
                    // SAFETY: every page of the mapping is as it is in its file, from where it
                    // comes again when it is used.
                    unsafe {
                        libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED)
                    };
                    in_pieces(start, end);
                }
            }
            _ => {}
        }
    }
}

/// Makes mappings of [`PIECE`] octets out of one that is read from a file: by a property that such
/// a mapping has no use for, which every second piece is given. Which those are, the address says,
/// so that it comes to the same when it is done again.
fn in_pieces(start: usize, end: usize) {
    let first = start.next_multiple_of(PIECE);
    let seconds = (first..end).step_by(PIECE).filter(|at| (at / PIECE) % 2 == 1);
    for at in seconds {
        // SAFETY: it changes nothing but what a core dump has in it. That a machine has no room for
        // more mappings is no matter.
        unsafe { libc::madvise(at as *mut libc::c_void, PIECE.min(end - at), libc::MADV_DONTDUMP) };
    }
}

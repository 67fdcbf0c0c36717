//! The scheduling policy of threads.
use crate::RealtimeError;

/// Sets SCHED_FIFO with priority 1 for every thread of this process.
pub(super) fn fifo() -> Result<(), RealtimeError> {
    let threads = std::fs::read_dir("/proc/self/task").map_err(RealtimeError::Threads)?;
    let ids = threads
        .flatten()
        .filter_map(|thread| thread.file_name().to_str()?.parse::<libc::pid_t>().ok());
    let priority = libc::sched_param { sched_priority: 1 };
    for id in ids {
        // SAFETY: the call only reads the structure, which outlives it.
        let set = unsafe { libc::sched_setscheduler(id, libc::SCHED_FIFO, &priority) };
        let error = std::io::Error::last_os_error();
        // The thread may have ended meanwhile.
        if set != 0 && error.raw_os_error() != Some(libc::ESRCH) {
            return Err(RealtimeError::SetScheduling(error));
        }
    }
    Ok(())
}

/// Policies and priorities of a process's threads (proc(5), `stat`, fields 40 and 41), without
/// repetition.
pub(super) fn of_process(process: &str) -> String {
    let threads =
        std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let stats =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    let mut all: Vec<String> = stats.map(|stat| of(&stat)).collect();
    all.sort();
    all.dedup();
    all.join(" and ")
}

fn of(stat: &str) -> String {
    // The name in parentheses may contain blanks; field 3 follows it.
    let behind = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3).copied().unwrap_or("?");
    let policy = match number(41) {
        "0" => "SCHED_OTHER",
        "1" => "SCHED_FIFO",
        "2" => "SCHED_RR",
        "3" => "SCHED_BATCH",
        other => return format!("policy {other}"),
    };
    format!("{policy}, priority {}", number(40))
}

//! The policy by which the kernel gives threads a processor.

/// Gives every thread of this process SCHED_FIFO with priority 1.
pub(super) fn fifo() -> Result<(), String> {
    let threads =
        std::fs::read_dir("/proc/self/task").map_err(|e| format!("/proc/self/task: {e}"))?;
    let ids = threads
        .flatten()
        .filter_map(|thread| thread.file_name().to_str()?.parse::<libc::pid_t>().ok());
    let priority = libc::sched_param { sched_priority: 1 };
    for id in ids {
        // SAFETY: it reads the structure, which lives as long as the call, and nothing else of
        // ours.
        let set = unsafe { libc::sched_setscheduler(id, libc::SCHED_FIFO, &priority) };
        let error = std::io::Error::last_os_error();
        // A thread that has ended meanwhile needs none.
        if set != 0 && error.raw_os_error() != Some(libc::ESRCH) {
            return Err(format!(
                "SCHED_FIFO was refused: {error}; run as root, or grant CAP_SYS_NICE"
            ));
        }
    }
    Ok(())
}

/// Policy and priority of a process (proc(5), `stat`, fields 40 and 41); several, where its threads
/// differ.
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
    // The name in parentheses may have blanks; the third field follows it.
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

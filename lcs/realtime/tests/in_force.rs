//! What is asked for is in force, or said not to be. A program of its own, since it changes its
//! process.

use martlet_lcs_realtime::{Conditions, Wanted, enter};

#[test]
fn what_is_asked_for_is_in_force_or_the_error_says_what_to_do() {
    match enter(Wanted::ALL) {
        Ok(now) => {
            assert_eq!(now.scheduling, "SCHED_FIFO, priority 1");
            assert!(now.memory.ends_with("locked") && now.memory != "not locked", "{now}");
            assert!(
                ["performance", "this machine has none"].contains(&now.governor.as_str()),
                "{now}"
            );
            // Threads that come later have it, too.
            let there =
                std::thread::spawn(|| std::fs::read_to_string("/proc/thread-self/stat")).join();
            let stat = there.expect("a thread").expect("its state");
            let behind: Vec<&str> =
                stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
            // The policy is field 41; the first behind the name is field 3.
            assert_eq!(behind[41 - 3], "1", "{stat}");
            assert_eq!(Conditions::now().scheduling, "SCHED_FIFO, priority 1");
        }
        Err(why) => {
            println!("SKIPPED: no right to real-time properties: {why}");
            assert!(why.contains("root"), "{why}");
        }
    }
}

//! Requested properties are in force, or the error reports what is missing. A test program of its
//! own, since it changes its process.

use martlet_lcs_realtime::{Conditions, Wanted, enter};

#[test]
fn requested_properties_are_in_force_or_the_error_explains() {
    match enter(Wanted::ALL) {
        Ok(now) => {
            assert_eq!(now.scheduling, "SCHED_FIFO, priority 1");
            assert!(now.memory.ends_with("locked") && now.memory != "not locked", "{now}");
            assert!(
                ["performance", "none on this machine"].contains(&now.governor.as_str()),
                "{now}"
            );
            // Later threads inherit the policy.
            let there =
                std::thread::spawn(|| std::fs::read_to_string("/proc/thread-self/stat")).join();
            let stat = there.expect("a thread").expect("its state");
            let behind: Vec<&str> =
                stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
            // The policy is field 41; the first field after the name is field 3.
            assert_eq!(behind[41 - 3], "1", "{stat}");
            assert_eq!(Conditions::now().scheduling, "SCHED_FIFO, priority 1");
        }
        Err(why) => {
            println!("SKIPPED: no permission for real-time properties: {why}");
            assert!(why.to_string().contains("root"), "{why}");
        }
    }
}

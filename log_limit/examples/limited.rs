//! A server that is sent a thousand bad messages writes one line, and says how many it left out.
//!
//! ```sh
//! cargo run --example limited
//! ```
use std::net::IpAddr;
use std::thread::sleep;
use std::time::Duration;

fn main() {
    let peer: IpAddr = [192, 0, 2, 7].into();
    for second in 1..=2 {
        for _ in 0..1000 {
            // Count each message in a metric here.
            if let Some(suppressed) = martlet_log_limit::line("bad_message", peer) {
                println!("second {second}: bad message from {peer}, {suppressed} lines left out");
            }
        }
        sleep(Duration::from_secs(1));
    }
}

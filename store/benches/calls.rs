//! What calls of the store cost, on a real file: `cargo bench -p martlet-store`.
use martlet_store::{Secret, Store, Subscriber};
use std::time::{Duration, Instant};

const SUBSCRIBERS: u64 = 10_000;
const ROUNDS: u64 = 20_000;

fn main() {
    let folder = std::env::temp_dir().join(format!("martlet-store-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    let store = Store::open(&folder.join("martlet.db")).expect("a new file");
    let first =
        Subscriber::new("imsi-001010000000001", Secret([1; 16]), Secret([2; 16]), "internet");
    let all: Vec<_> = (0..SUBSCRIBERS).filter_map(|n| first.nth(n)).collect();
    let started = Instant::now();
    store.add(&all, false).expect("room");
    println!("add {SUBSCRIBERS} at once: {:.1} ms", started.elapsed().as_secs_f64() * 1e3);

    let context = "x".repeat(600);
    println!("{:<34}{:>10}{:>10}{:>10}{:>10}  µs", "call", "median", "p99", "p99.9", "longest");
    measure("subscriber, read the first time", SUBSCRIBERS, |n| {
        store.subscriber(&all[n as usize].supi).expect("a subscriber");
    });
    measure("subscriber, again", ROUNDS, |n| {
        store.subscriber(&all[(n % SUBSCRIBERS) as usize].supi).expect("a subscriber");
    });
    measure("advance_sqn", ROUNDS, |n| {
        let (supi, from) = (&all[(n % SUBSCRIBERS) as usize].supi, n / SUBSCRIBERS);
        assert!(store.advance_sqn(supi, from, from + 1).expect("a write"));
    });
    measure("put_context, new", ROUNDS, |n| {
        let supi = &all[(n % SUBSCRIBERS) as usize].supi;
        assert!(
            store
                .put_context(supi, "smf", &(n / SUBSCRIBERS).to_string(), &context)
                .expect("a write")
        );
    });
    measure("put_context, again", ROUNDS, |n| {
        let supi = &all[(n % SUBSCRIBERS) as usize].supi;
        assert!(
            !store
                .put_context(supi, "smf", &(n / SUBSCRIBERS).to_string(), &context)
                .expect("a write")
        );
    });
    measure("context", ROUNDS, |n| {
        let supi = &all[(n % SUBSCRIBERS) as usize].supi;
        assert!(store.context(supi, "smf", "1").expect("a read").is_some());
    });
    measure("remove_context", ROUNDS, |n| {
        let supi = &all[(n % SUBSCRIBERS) as usize].supi;
        assert!(
            store.remove_context(supi, "smf", &(n / SUBSCRIBERS).to_string()).expect("a write")
        );
    });
    drop(store);
    let _ = std::fs::remove_dir_all(&folder);
}

fn measure(name: &str, rounds: u64, mut call: impl FnMut(u64)) {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|n| {
            let started = Instant::now();
            call(n);
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at =
        |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_nanos() as f64 / 1e3;
    println!("{name:<34}{:>10.1}{:>10.1}{:>10.1}{:>10.1}", at(0.5), at(0.99), at(0.999), at(1.0));
}

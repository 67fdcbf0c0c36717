//! Subscribers in JSON, as users import them.
#![no_main]

use martlet_store::Subscriber;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(subscriber) = serde_json::from_slice::<Subscriber>(data) {
        let _ = subscriber.check();
        let _ = subscriber.nth(1);
        serde_json::to_vec(&subscriber).expect("a decoded subscriber encodes");
    }
});

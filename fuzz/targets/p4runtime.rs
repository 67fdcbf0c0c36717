//! P4Runtime messages of controllers to the switch: write requests, and the entries in them by the
//! tables of our program.
#![no_main]

use martlet_p4c_swx::P4Info;
use martlet_switch_control::p4runtime::{convert, messages as m};
use prost::Message;
use std::sync::LazyLock;

static INFO: LazyLock<P4Info> = LazyLock::new(|| {
    martlet_p4c_swx::compile(martlet_switch_control::UPF).expect("our program compiles").info
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = m::ReadRequest::decode(data);
    let Ok(request) = m::WriteRequest::decode(data) else { return };
    for update in &request.updates {
        let Some(m::entity::Entity::Table(entry)) =
            update.entity.as_ref().and_then(|entity| entity.entity.as_ref())
        else {
            continue;
        };
        let _ = convert::entry(&INFO, entry, true);
        // What is accepted has one form, which is read as the same entry.
        if let Ok(read) = convert::entry(&INFO, entry, false) {
            let written = convert::entry_message(&INFO, &read);
            let again = convert::entry(&INFO, &written, false).expect("an accepted entry is read");
            assert_eq!(convert::entry_message(&INFO, &again), written);
        }
    }
});

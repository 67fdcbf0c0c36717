//! More registrations than the AMF accepts at a time (TS 24.501, 5.3.9).
use crate::bystander::Bystander;
use crate::registration::authentication::five_g_aka::from_hex;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_amf::Limit;
use martlet_tests::{RawGnb, TestCore, in_namespace};
use std::collections::BTreeMap;

/// Each REGISTRATION REQUEST is answered; those above the limits of concurrency and queue with #22
/// and T3346.
#[test]
fn excess_registrations_are_rejected_with_a_back_off_timer() {
    const MANY: u32 = 300;
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.concurrency.registration = Limit::Fixed(8);
            config.amf.concurrency.queue = 40;
            config.amf.concurrency.slot_timeout_ms = 5000;
            config.amf.timers.t3560_ms = 1000;
            config.amf.timers.nas_attempts = 1;
        })
        .await?;
        let bystander = Bystander::at(&core).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        for ran_id in 1..=MANY {
            // A SUCI of the null scheme for each subscriber.
            let digits: Vec<u8> =
                format!("{ran_id:010}").bytes().map(|digit| digit - b'0').collect();
            let mut request = from_hex("7e004179000d0100f1100000000000000000102e04f0f0f0f0");
            for (at, pair) in digits.chunks(2).enumerate() {
                request[14 + at] = pair[0] | pair[1] << 4;
            }
            gnb.send(gnb.initial_ue_message(ran_id, &request)).await?;
        }
        bystander.expect_undisturbed().await?;
        let mut answered = BTreeMap::new();
        while answered.len() < MANY as usize {
            let (amf_id, nas) = gnb.next_nas().await?;
            answered.entry(amf_id).or_insert(nas);
        }
        // REGISTRATION REJECT with #22 and T3346 (0x5f, one byte).
        let rejected = answered
            .values()
            .filter(|nas| nas.starts_with(&[0x7e, 0x00, 0x44, 22, 0x5f, 1]))
            .count();
        ensure!(rejected > 100 && rejected < MANY as usize, "{rejected} of {MANY} were rejected");
        let others = answered.values().filter(|nas| !nas.starts_with(&[0x7e, 0x00, 0x44, 22]));
        let served =
            others.filter(|nas| nas[2] == 0x56 || nas.starts_with(&[0x7e, 0x00, 0x44, 3])).count();
        ensure!(served + rejected == MANY as usize, "{served} were challenged or are unknown");
        bystander.expect_core_works().await
    });
}

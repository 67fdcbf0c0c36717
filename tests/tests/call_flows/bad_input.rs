//! Input that is not as it should be, from every side: it is answered as the specifications say, counted, and disturbs
//! nobody.
use martlet::core::Sbi;
use martlet_ran::Gnb;
use martlet_tests::{TestCore, in_namespace, internet};

#[test]
fn broken_messages_disturb_nobody() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb: Gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        phone.register().await?;
        for octets in
            [&b"\x00\x15\x00"[..], b"\xff\xff\xff\xff\xff\xff", b"\x00\x0f\x40\x03\x00\x00\x00", &[0x55; 3000]]
        {
            gnb.send_raw_ngap(0, octets.to_vec()).await?;
        }
        phone.establish_pdu_session(internet()).await?;
        gnb.new_ue(core.phone(2))?.register().await?;
        Ok(())
    });
}

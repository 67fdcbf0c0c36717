//! free5GC's SMF in place of ours: sessions come up through it, carry packets of our UPF, and end.
use crate::free5gc::{for_them, gnb, registered, session, subscribed, ue};
use crate::stock::{Stock, built};
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::Gnb;
use martlet_tests::{GATEWAY, TestCore, eventually, free5gc_smf, in_namespace, reaches};
use std::path::{Path, PathBuf};

async fn until_user_planes(core: &TestCore, wanted: u64) -> Result<()> {
    let there = || (core.counts().user_planes == wanted).then_some(());
    eventually(&format!("{wanted} sessions at the UPF"), there, || core.status("upf").to_string())
        .await
}

/// A core of ours whose SMF is theirs, and theirs at work.
async fn core_with(program: PathBuf) -> Result<(TestCore, Stock)> {
    let core = TestCore::start_on(Sbi::Http, |config| {
        for_them(config);
        config.sbi.external = vec!["smf".into()];
        // It asks a CHF for every session, and has no answer of its own for a core without.
        config.chf.enabled = true;
    })
    .await?;
    core.subscribe(1, subscribed)?;
    let (config, routing) = free5gc_smf::configuration(core.folder())?;
    let arguments = [Path::new("-c"), &config, Path::new("-u"), &routing];
    let smf = Stock::start(&program, &arguments, core.folder())?;
    registered(&core, "SMF", true, || smf.said()).await?;
    let associated = || (core.status("upf").to_string().contains("127.0.0.7")).then_some(());
    eventually("their SMF is associated with our UPF", associated, || smf.said()).await?;
    // It registers before it listens.
    let listens = || std::net::TcpStream::connect("127.0.0.2:8000").ok();
    drop(eventually("their SMF listens", listens, || smf.said()).await?);
    Ok((core, smf))
}

#[test]
fn free5gcs_smf_serves_phones_of_our_amf_through_our_upf() {
    // Before there is a namespace: modules may have to be fetched.
    let Some(program) = built("free5gc-smf", "github.com/free5gc/smf/cmd") else { return };
    in_namespace(move || async move {
        let (core, smf) = core_with(program).await?;
        let radio = Gnb::connect(gnb(core.gnb_config(1))).await?;
        let ue = radio.new_ue(ue(core.ue_config(1)))?;
        // What it says to a UE that wakes, or that ends a session, is no multipart body: see the
        // README.
        for _ in 0..2 {
            ue.register().await?;
            let session = ue.establish_pdu_session(session()).await?;
            ensure!(session.ipv4.is_some_and(|ip| ip.octets()[..3] == [10, 45, 1]), "{session:?}");
            reaches(&ue, session.psi, GATEWAY).await?;
            until_user_planes(&core, 1).await?;
            ue.deregister().await?;
            until_user_planes(&core, 0).await?;
        }
        smf.end().await?;
        registered(&core, "SMF", false, String::new).await
    });
}

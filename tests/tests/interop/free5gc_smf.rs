//! free5GC's SMF with Martlet's other functions: sessions are established through it, carry packets
//! and are released.
use crate::external_program::{ExternalProgram, build};
use crate::free5gc::{free5gc_config, gnb, session, subscribe, ue, until_registered};
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

/// A core with free5GC's SMF, which has registered and is associated with the UPF.
async fn core_with(program: PathBuf) -> Result<(TestCore, ExternalProgram)> {
    let core = TestCore::start_on(Sbi::Http, |config| {
        free5gc_config(config);
        config.sbi.external = vec!["smf".into()];
        // It needs a CHF for each session.
        config.chf.enabled = true;
    })
    .await?;
    core.subscribe(1, subscribe)?;
    let (config, routing) = free5gc_smf::configuration(core.folder())?;
    let arguments = [Path::new("-c"), &config, Path::new("-u"), &routing];
    let smf = ExternalProgram::start(&program, &arguments, core.folder())?;
    until_registered(&core, "SMF", true, || smf.output()).await?;
    let associated = || (core.status("upf").to_string().contains("127.0.0.7")).then_some(());
    eventually("free5GC's SMF is associated with the UPF", associated, || smf.output()).await?;
    // It registers before it listens.
    let listening = || std::net::TcpStream::connect("127.0.0.2:8000").ok();
    drop(eventually("free5GC's SMF listens", listening, || smf.output()).await?);
    Ok((core, smf))
}

/// What Martlet's functions request of it.
const SENT: [&str; 3] = [
    "nsmf-pdusession PostSmContexts",
    "nsmf-pdusession UpdateSmContext",
    "nsmf-pdusession ReleaseSmContext",
];

#[test]
fn free5gc_smf_works_with_other_functions() {
    // Built before the namespace exists, since modules may have to be downloaded.
    let Some(program) = build("free5gc-smf", "github.com/free5gc/smf/cmd") else { return };
    in_namespace(move || async move {
        let (core, smf) = core_with(program).await?;
        let radio = Gnb::connect(gnb(core.gnb_config(1))).await?;
        let ue = radio.new_ue(ue(core.ue_config(1)))?;
        // Its answers to context updates are not multipart bodies, so a session cannot be activated
        // again or released by the UE: see the README.
        for _ in 0..2 {
            ue.register().await?;
            let session = ue.establish_pdu_session(session()).await?;
            ensure!(session.ipv4.is_some_and(|ip| ip.octets()[..3] == [10, 45, 1]), "{session:?}");
            reaches(&ue, session.psi, GATEWAY).await?;
            until_user_planes(&core, 1).await?;
            ue.deregister().await?;
            until_user_planes(&core, 0).await?;
        }
        core.sbi_record.check_sent(&SENT).await?;
        smf.stop().await?;
        until_registered(&core, "SMF", false, String::new).await
    });
}

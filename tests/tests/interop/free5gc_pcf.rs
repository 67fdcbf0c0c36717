//! free5GC's PCF with Martlet's other functions. It keeps its data in a database with MongoDB's
//! protocol: FerretDB over SQLite.
//!
//! Sessions are left out: this PCF ends a request for a session's policy with a panic unless the
//! UDR serves `application-data/influenceData` (TS 29.519), which Martlet's does not.
use crate::external_program::{Change, ExternalProgram, build, build_changed};
use crate::free5gc::{free5gc_config, gnb, subscribe, ue, until_registered};
use anyhow::Result;
use martlet::core::Sbi;
use martlet_ran::Gnb;
use martlet_tests::{TestCore, eventually, in_namespace};
use std::path::{Path, PathBuf};

const DATABASE: &str = "127.0.0.24:27017";

/// FerretDB refuses the collation with which free5GC compares names without regard to case.
/// Martlet's names have one case, so the database ignores it.
const COLLATION: Change = Change {
    module: "github.com/FerretDB/FerretDB",
    files: &[
        "internal/handler/common/find.go",
        "internal/handler/common/count.go",
        "internal/handler/common/update_params.go",
        "internal/handler/common/delete_params.go",
        "internal/handler/common/findandmodify.go",
    ],
    from: "`ferretdb:\"collation,unimplemented\"`",
    to: "`ferretdb:\"collation,ignored\"`",
};

fn configuration(folder: &Path) -> Result<PathBuf> {
    let config = folder.join("pcfcfg.yaml");
    std::fs::write(
        &config,
        format!(
            r#"
info: {{ version: 1.0.2, description: free5GC's PCF in a Martlet core }}
logger: {{ enable: true, level: debug, reportCaller: false }}
configuration:
  pcfName: PCF
  sbi: {{ scheme: http, registerIPv4: 127.0.0.23, bindingIPv4: 127.0.0.23, port: 8000 }}
  timeFormat: 2019-01-02 15:04:05
  defaultBdtRefId: BdtPolicyId-
  nrfUri: http://127.0.0.10:7777
  serviceList:
    - {{ serviceName: npcf-am-policy-control }}
    - {{ serviceName: npcf-smpolicycontrol, suppFeat: 3fff }}
    - {{ serviceName: npcf-bdtpolicycontrol }}
    - {{ serviceName: npcf-policyauthorization, suppFeat: 3 }}
    - {{ serviceName: npcf-eventexposure }}
    - {{ serviceName: npcf-ue-policy-control }}
  mongodb: {{ name: free5gc, url: "mongodb://{DATABASE}" }}
  locality: area1
"#
        ),
    )?;
    Ok(config)
}

#[test]
fn free5gc_pcf_decides_the_policy_of_a_ue() {
    // Built before the namespace exists, since modules may have to be downloaded.
    let Some(database) = build_changed("mongodb", ".", Some(&COLLATION)) else { return };
    let Some(program) = build("free5gc-pcf", "github.com/free5gc/pcf/cmd") else { return };
    in_namespace(move || run(database, program));
}

async fn run(database: PathBuf, program: PathBuf) -> Result<()> {
    let core = TestCore::start_on(Sbi::Http, |config| {
        free5gc_config(config);
        config.sbi.external = vec!["pcf".into()];
    })
    .await?;
    core.subscribe(1, subscribe)?;
    let data = core.folder().join("mongodb-data");
    std::fs::create_dir(&data)?;
    let arguments = [Path::new(DATABASE), &data];
    let database = ExternalProgram::start(&database, &arguments, core.folder())?;
    let listens = || std::net::TcpStream::connect(DATABASE).ok().map(|_| ());
    eventually("the database listens", listens, || database.output()).await?;
    let config = configuration(core.folder())?;
    let pcf = ExternalProgram::start(&program, &[Path::new("-c"), &config], core.folder())?;
    until_registered(&core, "PCF", true, || pcf.output()).await?;

    let radio = Gnb::connect(gnb(core.gnb_config(1))).await?;
    let ue = radio.new_ue(ue(core.ue_config(1)))?;
    ue.register().await?;
    let created = || pcf.output().contains("Handle AM Policy Create Request").then_some(());
    eventually("the UE's policy is created", created, || pcf.output()).await?;
    ue.deregister().await?;
    let deleted = || pcf.output().contains("Handle AM Policy Association Delete").then_some(());
    eventually("the UE's policy is deleted", deleted, || pcf.output()).await?;
    pcf.stop().await?;
    database.stop().await
}

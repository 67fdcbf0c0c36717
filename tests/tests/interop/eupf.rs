//! eUPF, whose packets go through programs in the kernel, under our SMF: N4 between two makers, and
//! packets of UEs over it.
use crate::stock::{Stock, copied, go_in};
use anyhow::Result;
use martlet::core::Sbi;
use martlet_ran::Gnb;
use martlet_tests::{
    TestCore, in_namespace, internet, is_installed, reaches, run, unique_namespace,
};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

const MODULE: &str = "github.com/edgecomllc/eupf";
/// Ends of N3, which N4 shares: the machine with the gNB and the SMF, and eUPF.
const N6_GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 3, 0, 1);
const UPF: Ipv4Addr = Ipv4Addr::new(10, 3, 0, 2);
/// The host of the data network.
const DN_HOST: Ipv4Addr = Ipv4Addr::new(10, 6, 0, 1);

/// Builds it as its own Dockerfile does: its programs for the kernel first, which the module does
/// not carry.
fn eupf() -> Option<PathBuf> {
    if !is_installed("clang") || !is_installed("llvm-strip") {
        return None;
    }
    let copy = copied("eupf", MODULE)?;
    let program = copy.with_file_name("eupf");
    if !copy.join("cmd/ebpf/n6entrypoint_bpf.go").exists() {
        // There is no 32-bit C library for what clang takes eBPF to be: the headers are those of
        // this machine.
        let define = "-D__x86_64__";
        go_in(&copy, MODULE, |go| {
            go.args(["generate", "./cmd/ebpf"])
                .env("BPF_CFLAGS", define)
                .env("BPF2GO_CFLAGS", define);
            go.env("CPATH", "/usr/include/x86_64-linux-gnu");
        })?;
        // A description of its REST interface for people, which another generator makes.
        let docs = copy.join("cmd/docs");
        std::fs::create_dir_all(&docs).expect("a folder");
        std::fs::write(docs.join("docs.go"), "package docs\n").expect("a file");
    }
    go_in(&copy, MODULE, |go| {
        go.args(["build", "-o"]).arg(&program).arg("./cmd").env("CGO_ENABLED", "0");
    })?;
    Some(program)
}

/// The namespace in which eUPF is, with its links to this one.
struct Place(String);

impl Place {
    async fn make() -> Result<Place> {
        let place = Place(unique_namespace("eupf"));
        let name = &place.0;
        ip(&format!("netns add {name}")).await?;
        for (link, net, number) in [("n3", 3, "03"), ("n6", 6, "06")] {
            let mac = |end: u8| format!("02:00:00:00:{number}:{end:02x}");
            let (here, there) = (format!("{link}m"), format!("{link}u"));
            ip(&format!(
                "link add {here} address {} type veth peer name {there} address {} netns {name}",
                mac(1),
                mac(2)
            ))
            .await?;
            ip(&format!("addr add 10.{net}.0.1/24 dev {here}")).await?;
            ip(&format!("link set {here} up")).await?;
            ip(&format!("-n {name} addr add 10.{net}.0.2/24 dev {there}")).await?;
            ip(&format!("-n {name} link set {there} up")).await?;
            // Its programs look neighbours up, and ask for none.
            ip(&format!("neigh replace 10.{net}.0.2 lladdr {} dev {here} nud permanent", mac(2)))
                .await?;
            ip(&format!(
                "-n {name} neigh replace 10.{net}.0.1 lladdr {} dev {there} nud permanent",
                mac(1)
            ))
            .await?;
            // Checksums are to be there where its programs see packets.
            run("ethtool", &["-K", &here, "tx", "off"]).await?;
        }
        ip(&format!("-n {name} link set lo up")).await?;
        ip(&format!("-n {name} route add default via {DN_HOST}")).await?;
        ip("route add 10.45.0.0/16 via 10.6.0.2").await?;
        run("ip", &["netns", "exec", name, "sysctl", "-qw", "net.ipv4.ip_forward=1"]).await?;
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

async fn ip(words: &str) -> Result<()> {
    run("ip", &words.split(' ').collect::<Vec<_>>()).await.map(drop)
}

#[test]
fn eupf_carries_the_packets_of_phones_for_our_smf() {
    let Some(program) = eupf() else { return };
    if !is_installed("ethtool") {
        return;
    }
    in_namespace(move || async move {
        let place = Place::make().await?;
        let folder = std::env::temp_dir().join(&place.0);
        std::fs::create_dir_all(&folder)?;
        let command = format!(
            "netns exec {} {} --iface n3u --iface n6u --attach generic --nodeid {UPF} --paddr \
             {UPF}:8805 --n3addr {UPF} --aaddr {UPF}:8080 --maddr {UPF}:9090 --ftup --loglvl debug",
            place.0,
            program.display()
        );
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let upf = Stock::start(Path::new("ip"), &arguments, &folder)?;
        let core = TestCore::start_on(Sbi::Local, |config| {
            config.sbi.external = vec!["upf".into()];
            config.smf.n4.bind = N6_GATEWAY.into();
            config.smf.upfs[0].n4 = (UPF, 8805).into();
        })
        .await?;

        let mut config = core.gnb_config(1);
        config.n3 = Some(N6_GATEWAY.into());
        let radio = Gnb::connect(config).await?;
        let ue = radio.new_ue(core.ue_config(1))?;
        ue.register().await?;
        let first = ue.establish_pdu_session(internet()).await?;
        reaches(&ue, first.psi, DN_HOST).await?;
        ue.release_to_idle().await?;
        ue.service_request().await?;
        reaches(&ue, first.psi, DN_HOST).await?;
        ue.release_pdu_session(first.psi).await?;
        let second = ue.establish_pdu_session(internet()).await?;
        reaches(&ue, second.psi, DN_HOST).await?;
        ue.deregister().await?;
        let ended = |count: &martlet_tests::Counts| count.sessions == 0;
        core.until("the session has ended", ended).await?;
        upf.end().await?;
        Ok(std::fs::remove_dir_all(&folder)?)
    });
}

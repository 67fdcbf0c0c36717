//! `iperf3`, `curl` and `ping` at a UE, through a UPF whose XDP programs translate the UE's
//! address. At the UE's side the `kernel` datapath stands for the radio: it encapsulates packets to
//! the host and decapsulates those from it. `MARTLET_IPERF_SECONDS` sets the duration of each
//! stream.
mod common;

use common::peers_rig;
use martlet_upf_config::UpfConfig;
use martlet_upf_config::{AllowedService, DatapathChoice, DnnConfig, N6Mode};
use martlet_upf_datapath::conformance::{Rig, session};
use martlet_upf_datapath::telemetry::balance;
use martlet_upf_datapath::{Change, Datapath};
use martlet_upf_kernel::KernelDatapath;
use martlet_upf_rules::{LocalTunnel, Session, Tunnel, UeAddress};
use martlet_upf_testing::peers::{GNB, HOST, N3, UE};
use martlet_upf_testing::rig::config;
use martlet_upf_testing::{in_namespace, run};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// TEIDs at the UPF and at the radio.
const UP: u32 = 7;
const DOWN: u32 = 0xa0a0_a0a0;
const PAGE: usize = 3_000_000;

/// The UE's session at the radio: packets to the host are encapsulated.
fn radio(of: &Session) -> Session {
    let mut session = of.clone();
    for pdr in session.pdrs.values_mut() {
        pdr.ue = vec![UeAddress::V4(HOST)];
        pdr.local = pdr.local.map(|_| LocalTunnel { teid: DOWN, ipv4: Some(GNB), ipv6: None });
    }
    let far = session.fars.get_mut(&2).expect("the FAR into the tunnel");
    far.tunnel = Some(Tunnel { teid: UP, peer: N3.into() });
    session
}

fn within(netns: &str, command: &str) -> Command {
    let mut words = vec!["netns", "exec", netns];
    words.extend(command.split(' '));
    let mut ip = Command::new("ip");
    ip.args(words);
    ip
}

fn output(netns: &str, command: &str) -> String {
    let output = within(netns, command).output().expect("ip runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn programs_of_a_ue_reach_the_data_network_with_a_translated_address() {
    for program in ["iperf3", "curl", "ping"] {
        if Command::new(program)
            .arg("-V")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_err()
        {
            eprintln!("SKIPPED: {program} is not installed; `make packages-demo` installs it");
            return;
        }
    }
    let seconds = std::env::var("MARTLET_IPERF_SECONDS")
        .ok()
        .and_then(|s| s.parse::<u32>().ok())
        .unwrap_or(1);
    in_namespace(move || {
        let public = Ipv4Addr::new(10, 98, 0, 50);
        let mut config = config();
        config.datapath = DatapathChoice::Xdp;
        config.n3.address = (N3, 2152).into();
        (config.xdp.sessions, config.xdp.rules, config.xdp.filters) = (64, 256, 256);
        config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
        config.n6.mode = N6Mode::Nat;
        config.xdp.nat.addresses = vec![public];
        let mut rig = peers_rig(config);
        rig.release_gnb();
        let of_ue = session(&*rig, 1, UP, UE);
        rig.datapath().apply(&Change::to(&of_ue)).expect("the session");
        let of_radio = radio(&of_ue);
        let (mut radio, _signals) = rig.access.within(|| {
            let mut config = UpfConfig::default();
            config.n3.address = (GNB, 2152).into();
            config.n6.mode = N6Mode::Local;
            config.n6.interface = "ue0".into();
            // Its data network is the UE itself.
            config.n6.allow.push(AllowedService::all(std::net::IpAddr::V4(UE).into()));
            config.dnns = vec![DnnConfig {
                name: "host".into(),
                pools: vec!["10.98.0.0/24".into()],
                allocate: false,
                ..Default::default()
            }];
            KernelDatapath::open(&config).expect("the radio")
        });
        radio.apply(&Change::to(&of_radio)).expect("the radio's session");
        let (ue, host) = (rig.access.0.clone(), rig.network.0.clone());
        run("ip", &format!("-n {ue} addr add {UE}/32 dev ue0"));
        run("ip", &format!("-n {ue} route replace {HOST}/32 dev ue0 src {UE}"));

        // In one packet, in fragments, and too large for a link with DF set.
        let ping = output(&ue, &format!("ping -c 3 -i 0.2 -W 20 {HOST}"));
        assert!(ping.contains(" 0% packet loss"), "{ping}");
        let ping = output(&ue, &format!("ping -c 2 -i 0.2 -W 20 -s 3000 {HOST}"));
        assert!(ping.contains(" 0% packet loss"), "{ping}");
        let rejected = within(&ue, &format!("ping -c 1 -W 1 -M do -s 1450 {HOST}"))
            .output()
            .expect("ping runs");
        assert!(!rejected.status.success(), "more than 1,400 bytes do not fit into the UE's link");

        let listener = rig.network.within(|| TcpListener::bind((HOST, 8080)).expect("a port"));
        let served = std::thread::spawn(move || {
            let (mut stream, from) = listener.accept().expect("a connection");
            let mut request = [0; 1024];
            let _ = stream.read(&mut request);
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {PAGE}\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).expect("written");
            stream.write_all(&vec![b'x'; PAGE]).expect("written");
            from.ip()
        });
        let size = output(
            &ue,
            &format!("curl -s -m 20 -o /dev/null -w %{{size_download}} http://{HOST}:8080/"),
        );
        assert_eq!(size, PAGE.to_string());
        assert_eq!(
            served.join().expect("the server"),
            std::net::IpAddr::V4(public),
            "the UE's address is translated"
        );

        let server =
            within(&host, &format!("iperf3 -s -B {HOST} -p 5201")).stdout(Stdio::null()).spawn();
        let server = Server(server.expect("iperf3 runs"));
        std::thread::sleep(Duration::from_millis(300));
        let iperf = |more: &str| -> Value {
            let command = format!("iperf3 -c {HOST} -p 5201 -B {UE} -J -t {seconds}{more}");
            let mut result = Value::Null;
            // The server accepts one client at a time, with a short delay between two.
            for _ in 0..30 {
                std::thread::sleep(Duration::from_millis(300));
                let output = within(&ue, &command).output().expect("ip runs");
                result = serde_json::from_slice(&output.stdout).expect("JSON");
                if result["error"].is_null() {
                    break;
                }
            }
            assert!(result["error"].is_null(), "{command}: {}", result["error"]);
            result
        };
        for more in ["", " -R"] {
            let result = iperf(more);
            let rate = result["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate");
            eprintln!("iperf3 TCP{more}: {:.1} Mbit/s", rate / 1e6);
            assert!(rate > 1e6, "{rate} bit/s{more}");
        }
        for more in ["", " -R"] {
            // Its socket has room for a tenth of a second, and loses packets on a busy machine.
            let mut shares: Vec<f64> = Vec::new();
            while shares.last().is_none_or(|lost| *lost >= 2.0) {
                assert!(shares.len() < 6, "{shares:?} %{more}");
                let result = iperf(&format!(" -u -b 10M -l 1200{more}"));
                let lost = result["end"]["sum"]["lost_percent"].as_f64().expect("a share");
                eprintln!("iperf3 UDP at 10 Mbit/s{more}: {lost:.2} % lost");
                shares.push(lost);
            }
        }
        drop(server);

        // Every packet was counted exactly once.
        let mut sums = (0, 1);
        for _ in 0..1500 {
            std::thread::sleep(Duration::from_millis(20));
            sums = balance(&rig.datapath().counters(), 0);
            if sums.0 == sums.1 {
                break;
            }
        }
        assert_eq!(sums.0, sums.1, "{:?}", rig.datapath().counters().named());
        assert!(sums.0 > 1000);
        drop(radio);
    });
}

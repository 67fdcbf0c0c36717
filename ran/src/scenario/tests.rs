//! A scenario over SCTP and GTP-U with a simulated core.
use super::{parse, play};
use crate::gnb::N2Link;
use crate::gnb::N2Message;
use crate::gnb::tests::amf::Amf;
use crate::sample::Procedure;
use crate::ue::tests::network::Network;
use crate::user_plane::tests::missing_right;
use martlet_sctp::{Association, Options, PPID_NGAP, SctpStack, StackChoice};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

const AMF: Ipv4Addr = Ipv4Addr::new(127, 77, 9, 5);
const UPF: [u8; 4] = [127, 77, 9, 8];

const SCENARIO: &str = r#"
name: by hand
gnbs:
  - {name: gnb-1, plmn: 001-01, gnb_id: 1, amf: 127.77.9.5, n2_local: 127.77.9.2, n3: 127.77.9.2}
ues:
  - name: ue
    imsi: "001010000000001"
    k: "46464646464646464646464646464646"
    opc: "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
steps:
  - register: {}
  - establish: {}
  - ping: {target: 10.60.0.1, count: 2}
  - raw_nas: {hex: 7e00ff}
  - replay: {}
  - raw_ngap: {gnb: gnb-1, hex: "ffff", answer: "0009"}
  - host:
      command:
        - sh
        - -c
        - 'test {imsi},{ip} = 001010000000001,10.60.0.7 && head -c 200000 /dev/zero'
  - host: {command: [sh, -c, "exit 3"], expect: failed}
  - host: {command: [sh, -c, "sleep 90 | cat"], within: 200ms, expect: failed}
  - run: {command: ["true"], expect: failed}
  - release_to_idle: {}
  - wait_for_paging: {within: 100ms, expect: failed}
"#;

/// Connects an association with a simulated [`Amf`].
fn bridge(association: Association) -> Amf {
    let (link, peer) = N2Link::local(8);
    let (link_in, outward) = (link.clone(), association.clone());
    tokio::spawn(async move {
        while let Ok(Some(message)) = association.recv().await {
            let _ = link_in.send(message.stream, message.data).await;
        }
    });
    tokio::spawn(async move {
        while let Ok(Some(N2Message { data, .. })) = link.recv().await {
            let _ = outward.send(1, PPID_NGAP, data).await;
        }
    });
    Amf { peer, network: Network::new(), amf_id: 1, ran_id: 0 }
}

/// Answers two ICMP echo requests received through GTP-U.
fn upf(socket: UdpSocket, teid_of_gnb: u32) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut answered = 0;
        while answered < 2 {
            let mut buffer = [0; 2048];
            let (length, from) = socket.recv_from(&mut buffer).expect("an uplink packet");
            let mut packet = buffer[16..length].to_vec();
            // Also neighbour discovery of the kernel.
            if packet.len() < 28 || packet[0] != 0x45 || packet[9] != 1 || packet[20] != 8 {
                continue;
            }
            answered += 1;
            let (source, destination) = (packet[12..16].to_vec(), packet[16..20].to_vec());
            packet[12..16].copy_from_slice(&destination);
            packet[16..20].copy_from_slice(&source);
            packet[20] = 0;
            // The checksum is that of the request plus the difference of the types.
            let sum = u32::from(u16::from_be_bytes([packet[22], packet[23]])) + 0x0800;
            let sum = (sum & 0xffff) + (sum >> 16);
            packet[22..24].copy_from_slice(&u16::try_from(sum).unwrap().to_be_bytes());
            let mut message = vec![0x30, 0xff];
            message.extend_from_slice(&u16::try_from(packet.len()).unwrap().to_be_bytes());
            message.extend_from_slice(&teid_of_gnb.to_be_bytes());
            message.extend_from_slice(&packet);
            socket.send_to(&message, from).unwrap();
        }
    })
}

#[tokio::test]
async fn a_scenario_is_played_over_sctp_and_gtp_u() {
    let stack = match SctpStack::open(StackChoice::Auto) {
        Ok(stack) => stack,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    let listener =
        stack.listen(&[AMF.into()], 38412, &Options::default()).await.expect("a listener");
    let scenario = parse("by-hand.yaml", SCENARIO).unwrap_or_else(|report| panic!("{report}"));
    let user_plane = UdpSocket::bind((Ipv4Addr::from(UPF), 2152)).expect("a loopback address");
    user_plane.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let core = async {
        let mut amf = bridge(listener.accept().await.expect("an association"));
        amf.accept_setup().await;
        amf.register(0xbeef).await;
        let tunnel = amf.establish(UPF, 9).await;
        let upf = upf(user_plane, tunnel.teid);
        // Neither the invalid NAS message nor the replay is answered.
        assert_eq!(amf.nas().await, [0x7e, 0x00, 0xff]);
        amf.nas().await;
        let garbage = amf.peer.from_gnb.recv().await.unwrap();
        assert_eq!(garbage.data[..], [0xff, 0xff]);
        amf.send_raw(crate::gnb::tests::amf::error_indication()).await;
        amf.release().await;
        upf.join().unwrap();
        std::future::pending::<()>().await;
    };
    let played = tokio::select! {
        played = play(scenario, false, std::future::pending()) => played,
        () = core => unreachable!(),
        () = tokio::time::sleep(Duration::from_secs(60)) => panic!("the scenario does not end"),
    };
    assert!(played.report.passed, "{}", played.report.to_text());
    let registration =
        played.samples.iter().find(|s| s.procedure == Procedure::Registration).unwrap();
    assert!(registration.failure.is_none() && registration.latency > Duration::ZERO);
    assert_eq!(played.report.steps.len(), 12);
}

const ABORTED: &str = r#"
name: gNBs come and go
gnbs:
  - {name: gnb-1, plmn: 001-01, gnb_id: 1, amf: 127.77.10.5, n2_local: 127.77.10.2, n3: 127.77.10.2}
  - {name: gnb-2, plmn: 001-01, gnb_id: 2, amf: 127.77.10.5, n2_local: 127.77.10.3}
ues:
  - name: ue
    gnb: gnb-1
    imsi: "001010000000001"
    k: "46464646464646464646464646464646"
    opc: "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
steps:
  - register: {}
  - gnb_abort: gnb-1
  - register: {expect: failed}
  - gnb_connects: gnb-1
  - register_by_suci: {}
  - gnb_shutdown: gnb-2
"#;

#[tokio::test]
async fn gnbs_lose_their_association_and_connect_again() {
    let stack = match SctpStack::open(StackChoice::Auto) {
        Ok(stack) => stack,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    let amf = Ipv4Addr::new(127, 77, 10, 5);
    let listener =
        stack.listen(&[amf.into()], 38412, &Options::default()).await.expect("a listener");
    let scenario = parse("aborted.yaml", ABORTED).unwrap_or_else(|report| panic!("{report}"));
    let core = async {
        let mut first = bridge(listener.accept().await.expect("gnb-1"));
        first.accept_setup().await;
        let mut second = bridge(listener.accept().await.expect("gnb-2"));
        second.accept_setup().await;
        first.register(1).await;
        let mut again = bridge(listener.accept().await.expect("gnb-1 again"));
        again.accept_setup().await;
        // The USIM accepts a sequence number once.
        again.network.sqn = 0x1000;
        again.register(2).await;
        again.release().await;
        std::future::pending::<()>().await;
    };
    let played = tokio::select! {
        played = play(scenario, false, std::future::pending()) => played,
        () = core => unreachable!(),
        () = tokio::time::sleep(Duration::from_secs(60)) => panic!("the scenario does not end"),
    };
    assert!(played.report.passed, "{}", played.report.to_text());
}

const LATE: &str = r#"
name: a gNB that connects later
gnbs:
  - {name: gnb-1, plmn: 001-01, gnb_id: 1, amf: 127.77.12.5, n2_local: 127.77.12.2, expect: failed}
ues:
  - name: ue
    imsi: "001010000000001"
    k: "46464646464646464646464646464646"
    opc: "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
steps:
  - gnb_connects: gnb-1
  - register: {}
"#;

#[tokio::test]
async fn ues_of_a_gnb_that_connects_later_take_the_steps_after_it() {
    let stack = match SctpStack::open(StackChoice::Auto) {
        Ok(stack) => stack,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    let amf = Ipv4Addr::new(127, 77, 12, 5);
    let listener =
        stack.listen(&[amf.into()], 38412, &Options::default()).await.expect("a listener");
    let scenario = parse("late.yaml", LATE).unwrap_or_else(|report| panic!("{report}"));
    let core = async {
        listener.accept().await.expect("the first association").abort();
        let mut amf = bridge(listener.accept().await.expect("the second association"));
        amf.accept_setup().await;
        amf.register(1).await;
        amf.release().await;
        std::future::pending::<()>().await;
    };
    let played = tokio::select! {
        played = play(scenario, false, std::future::pending()) => played,
        () = core => unreachable!(),
        () = tokio::time::sleep(Duration::from_secs(60)) => panic!("the scenario does not end"),
    };
    assert!(played.report.passed, "{}", played.report.to_text());
    let counts: Vec<_> = played.report.steps.iter().map(|step| step.count).collect();
    assert_eq!(counts, [1, 1]);
}

const INTERRUPTED: &str = r#"
name: an interrupted program
gnbs:
  - {name: gnb-1, plmn: 001-01, gnb_id: 1, amf: 127.77.14.5, n2_local: 127.77.14.2}
ues:
  - name: ue
    imsi: "001010000000001"
    k: "46464646464646464646464646464646"
    opc: "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
steps:
  - host: {command: [sh, -c, "echo $$ > PATH; sleep 60"]}
"#;

#[tokio::test]
async fn programs_end_with_an_interrupted_scenario() {
    let stack = match SctpStack::open(StackChoice::Auto) {
        Ok(stack) => stack,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    let amf = Ipv4Addr::new(127, 77, 14, 5);
    let listener =
        stack.listen(&[amf.into()], 38412, &Options::default()).await.expect("a listener");
    let path = std::env::temp_dir().join(format!("martlet-ran-program-{}", std::process::id()));
    let text = INTERRUPTED.replace("PATH", &path.display().to_string());
    let scenario = parse("interrupted.yaml", &text).unwrap_or_else(|report| panic!("{report}"));
    let core = async {
        let mut amf = bridge(listener.accept().await.expect("an association"));
        amf.accept_setup().await;
        std::future::pending::<()>().await;
    };
    let program = || std::fs::read_to_string(&path).ok()?.trim().parse::<u32>().ok();
    let interrupted = async {
        while program().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        "interrupted".to_owned()
    };
    let played = tokio::select! {
        played = play(scenario, false, interrupted) => played,
        () = core => unreachable!(),
        () = tokio::time::sleep(Duration::from_secs(60)) => panic!("the scenario does not end"),
    };
    assert_eq!(played.report.aborted.as_deref(), Some("interrupted"));
    let process = std::path::PathBuf::from(format!("/proc/{}", program().expect("its identity")));
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while process.exists() && std::time::Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    std::fs::remove_file(&path).unwrap();
    assert!(!process.exists(), "the program runs on");
}

const LOST: &str = r#"
name: a lost reply
gnbs:
  - {name: gnb-1, plmn: 001-01, gnb_id: 1, amf: 127.77.15.5, n2_local: 127.77.15.2, n3: 127.77.15.2}
ues:
  - name: ue
    imsi: "001010000000001"
    k: "46464646464646464646464646464646"
    opc: "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
    netns: NETNS
steps:
  - register: {}
  - establish: {}
  - ping: {target: 10.60.0.1}
  - ping: {target: 10.60.0.1, count: 2, within: 1s, expect: failed}
"#;

#[tokio::test]
async fn each_request_of_a_ping_in_a_namespace_needs_its_reply() {
    let stack = match SctpStack::open(StackChoice::Auto) {
        Ok(stack) => stack,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    if let Some(reason) = missing_right() {
        eprintln!("SKIPPED: {reason}");
        return;
    }
    if let Err(error) = std::process::Command::new("ping").arg("-V").output() {
        eprintln!("SKIPPED: `ping` is needed: {error}");
        return;
    }
    let amf = Ipv4Addr::new(127, 77, 15, 5);
    let upf_address = [127, 77, 15, 8];
    let listener =
        stack.listen(&[amf.into()], 38412, &Options::default()).await.expect("a listener");
    let name = format!("martlet-ping-{}", std::process::id());
    let scenario = parse("lost.yaml", &LOST.replace("NETNS", &name));
    let scenario = scenario.unwrap_or_else(|report| panic!("{report}"));
    let user_plane =
        UdpSocket::bind((Ipv4Addr::from(upf_address), 2152)).expect("a loopback address");
    user_plane.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let core = async {
        let mut amf = bridge(listener.accept().await.expect("an association"));
        amf.accept_setup().await;
        amf.register(0xbeef).await;
        let tunnel = amf.establish(upf_address, 9).await;
        let _answering = upf(user_plane, tunnel.teid);
        amf.release().await;
        std::future::pending::<()>().await;
    };
    let played = tokio::select! {
        played = play(scenario, false, std::future::pending()) => played,
        () = core => unreachable!(),
        () = tokio::time::sleep(Duration::from_secs(60)) => panic!("the scenario does not end"),
    };
    assert!(played.report.passed, "{}", played.report.to_text());
}

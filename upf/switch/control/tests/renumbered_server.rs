//! The P4Runtime client drives a server with the same tables under other numbers and names, as the
//! compiler of another architecture gives them: arbitration, reads, writes, packets and digests.
mod foreign;

use foreign::Foreign;
use martlet_p4c_swx::{P4Info, Program};
use martlet_switch_control::client::{Client, ClientError, Event};
use martlet_switch_control::counters::Counters;
use martlet_switch_control::model::*;
use martlet_switch_control::p4runtime::Server;
use martlet_switch_control::p4runtime::messages as m;
use martlet_switch_control::p4runtime::service::p4_runtime_client::P4RuntimeClient;
use martlet_switch_control::{Tables, Target, TargetError, UPF};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::wrappers::TcpListenerStream;

/// A target that records what it gets, and has packets for the controller.
#[derive(Default)]
struct Recorder {
    changes: Mutex<Vec<Change>>,
    sent: Mutex<Vec<(u32, Vec<u8>)>>,
    packets: Mutex<VecDeque<(u32, Vec<u8>)>>,
    wakeup: Arc<Notify>,
}

impl Target for Recorder {
    fn commit(&self, changes: &[Change], _: &[Rebuild]) -> Result<(), TargetError> {
        self.changes.lock().unwrap().extend_from_slice(changes);
        Ok(())
    }
    fn set_default(&self, _: usize, _: &Call) -> Result<(), TargetError> {
        Ok(())
    }
    fn counter(&self, counter: usize, index: u32) -> Result<(u64, u64), TargetError> {
        Ok((10 * counter as u64 + u64::from(index), 1_000))
    }
    fn set_meter(&self, _: usize, _: u32, _: Option<(u64, u64)>) -> Result<(), TargetError> {
        Ok(())
    }
    fn send(&self, port: u32, frame: &[u8]) -> Result<(), TargetError> {
        self.sent.lock().unwrap().push((port, frame.to_vec()));
        Ok(())
    }
    fn receive(&self) -> Option<(u32, Vec<u8>)> {
        self.packets.lock().unwrap().pop_front()
    }
    fn ports(&self) -> u32 {
        4
    }
    fn status(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// Other IDs for everything, reversed numbers of fields and parameters, and longer names.
fn renumber(info: &mut P4Info) {
    let other = |id: u32| (id & 0xff00_0000) | (0x00ff_ffff - (id & 0x00ff_ffff));
    for table in &mut info.tables {
        table.id = other(table.id);
        table.name = format!("UpfIngress.upf.{}", table.alias);
        let keys = table.keys.len() as u32;
        table.keys.iter_mut().for_each(|key| key.id = keys + 1 - key.id);
        table.actions.iter_mut().for_each(|(id, ..)| *id = other(*id));
        table.constant_default = table.constant_default.map(other);
    }
    for action in &mut info.actions {
        action.id = other(action.id);
        action.name = format!("UpfIngress.upf.{}", action.alias);
        let parameters = action.parameters.len() as u32;
        action.parameters.iter_mut().for_each(|p| p.id = parameters + 1 - p.id);
    }
    for array in info.counters.iter_mut().chain(&mut info.meters) {
        array.id = other(array.id);
        array.name = format!("UpfIngress.upf.police.{}", array.alias);
    }
    info.architecture = "psa".into();
}

/// Serves a program on loopback.
async fn serve(program: Program) -> (SocketAddr, Arc<Recorder>) {
    let target = Arc::new(Recorder::default());
    let info = program.info.clone();
    let tables = Arc::new(Tables::new(Arc::new(program), target.clone()));
    let counters = Arc::new(Counters::open(info, target.clone(), None).expect("counters"));
    let server = Server::new(tables, counters, None, vec![], 1);
    let (service, packets) = server.service(target.wakeup.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(packets);
    tokio::spawn(
        tonic::transport::Server::builder()
            .add_service(service)
            .serve_with_incoming(TcpListenerStream::new(listener)),
    );
    (address, target)
}

fn program() -> Program {
    martlet_p4c_swx::compile(UPF).expect("our program")
}

#[tokio::test]
async fn a_server_with_other_numbers_is_driven_by_its_names() {
    let mut theirs = program();
    renumber(&mut theirs.info);
    let ours = program().info;
    assert!(ours.tables.iter().zip(&theirs.info.tables).all(|(a, b)| a.id != b.id));
    let (address, target) = serve(theirs).await;
    let mut client = Client::connect(address, 1).await.expect("resolved");
    client.become_primary(None).await.expect("the primary");

    let table = ours.tables.iter().position(|table| table.alias == "gtp_decap").unwrap();
    let action = ours.actions.iter().position(|action| action.alias == "decap").unwrap();
    let entry = TableEntry {
        table,
        key: Key { fields: vec![FieldMatch::Exact(0x1000)], priority: 0 },
        // ue, counter, meter, next_hop, qfi, gnb
        call: Call { action, arguments: vec![0x0a3c_0001, 5, 3, 1, 9, 0] },
        metadata: vec![],
    };
    let update = Update { operation: Operation::Insert, entry: entry.clone() };
    client.write(&[update]).await.expect("written");
    assert_eq!(client.entries(Some("gtp_decap")).await.expect("read"), [entry]);
    let counted = client.counters("rules", Some(5)).await.expect("counters");
    assert_eq!(counted.len(), 1);
    assert_eq!(target.changes.lock().unwrap().len(), 1);
}

/// Waits for something that another task does.
async fn until(what: &str, mut is_done: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if is_done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not happen");
}

const FRAME: [u8; 60] = [7; 60];

#[tokio::test]
async fn packets_digests_and_arbitration_of_a_server_with_other_numbers() {
    let mut theirs = program();
    renumber(&mut theirs.info);
    let (inner, target) = serve(theirs).await;
    let foreign = Foreign::to(inner).await;
    let (digests, learned) = (foreign.digests.clone(), foreign.learned.clone());
    let address = foreign.serve().await;
    let mut client = Client::connect(address, 1).await.expect("resolved");
    client.become_primary(Some(5)).await.expect("the primary");

    // The port is in a field with another number.
    target.packets.lock().unwrap().push_back((2, FRAME.to_vec()));
    target.wakeup.notify_one();
    let packet = client.next_event().await.expect("a packet");
    assert_eq!(packet, Event::Packet { port: 2, payload: FRAME.to_vec() });
    client.send_packet(1, FRAME.to_vec()).await.expect("sent");
    until("packet-out", || *target.sent.lock().unwrap() == [(1, FRAME.to_vec())]).await;
    client.send_packet(99, FRAME.to_vec()).await.expect("sent");
    match client.next_event().await.expect("a refusal") {
        Event::Refused(why) => assert!(why.contains("egress_port"), "{why}"),
        other => panic!("{other:?}"),
    }

    // A digest is found by its name, read back, received and acknowledged.
    let config = m::DigestConfig { max_timeout_ns: 1_000, max_list_size: 8, ack_timeout_ns: 9 };
    assert_eq!(client.digest("learn").await.expect("read"), None);
    client.enable_digest("learn", config).await.expect("enabled");
    assert_eq!(client.digest("learn").await.expect("read"), Some(config));
    learned.notify_one();
    match client.next_event().await.expect("a digest") {
        Event::Digest { name, list, data } => {
            assert_eq!((name.as_str(), list), ("learn", foreign::LIST));
            assert_eq!(data, foreign::learned());
        }
        other => panic!("{other:?}"),
    }
    let ack = m::DigestListAck { digest_id: foreign::DIGEST, list_id: foreign::LIST };
    until("the acknowledgement", || digests.lock().unwrap().acks == [ack]).await;
    client.disable_digest("learn").await.expect("disabled");
    assert_eq!(client.digest("learn").await.expect("read"), None);
    let unknown = client.enable_digest("other", config).await.expect_err("no such digest");
    assert!(unknown.to_string().contains("no digest other"), "{unknown}");

    // A controller with a higher election ID replaces this one.
    let mut second = Client::connect(address, 1).await.expect("resolved");
    second.become_primary(Some(6)).await.expect("the primary");
    assert_eq!(client.next_event().await.expect("a demotion"), Event::Demoted(6));
    let refused = client.set_meter(3, None).await.expect_err("a backup");
    assert!(refused.to_string().contains("primary"), "{refused}");
    second.set_meter(3, None).await.expect("the primary writes");
}

/// Whether the kernel probes an idle connection to a server: the timer of proc_pid_net_tcp(5).
fn has_keepalive(server: SocketAddr) -> bool {
    let port = format!(":{:04X}", server.port());
    let table = std::fs::read_to_string("/proc/thread-self/net/tcp").expect("the connections");
    table.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.get(2).is_some_and(|remote| remote.ends_with(&port))
            && words.get(5).is_some_and(|timer| timer.starts_with("02:"))
    })
}

#[tokio::test]
async fn a_lost_switch_is_noticed_without_requests() {
    let (inner, target) = serve(program()).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let network = tokio::spawn(async move {
        let (mut near, _) = listener.accept().await.expect("a connection");
        let mut far = tokio::net::TcpStream::connect(inner).await.expect("the server");
        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
    });
    let mut client = Client::connect(address, 1).await.expect("resolved");
    client.become_primary(None).await.expect("the primary");
    until("keepalive", || has_keepalive(address)).await;

    target.packets.lock().unwrap().push_back((2, FRAME.to_vec()));
    target.wakeup.notify_one();
    let early = tokio::time::timeout(Duration::from_millis(100), client.stream_end()).await;
    early.expect_err("a packet is no end");
    network.abort();
    let end = tokio::time::timeout(Duration::from_secs(30), client.stream_end()).await;
    end.expect("the stream ends with its connection");
}

/// The program of our server has no digest.
#[tokio::test]
async fn our_server_answers_unimplemented_for_digests() {
    let (address, _) = serve(program()).await;
    let mut rpc = P4RuntimeClient::connect(format!("http://{address}")).await.expect("connected");
    let (sender, receiver) = mpsc::channel(4);
    let send = |update| sender.try_send(m::StreamMessageRequest { update: Some(update) }).unwrap();
    let election = Some(m::Uint128 { high: 0, low: 1 });
    let arbitration =
        m::MasterArbitrationUpdate { device_id: 1, election_id: election, ..Default::default() };
    send(m::stream_request::Update::Arbitration(arbitration));
    let mut stream =
        rpc.stream_channel(ReceiverStream::new(receiver)).await.expect("a stream").into_inner();
    stream.message().await.expect("the arbitration").expect("a message");
    let ack = m::DigestListAck { digest_id: 7, list_id: 1 };
    send(m::stream_request::Update::DigestAck(ack));
    match stream.message().await.expect("an error").expect("a message").update {
        Some(m::stream_response::Update::Error(error)) => {
            assert_eq!(error.canonical_code, tonic::Code::Unimplemented as i32);
            let details = m::DigestListAckError { digest_list_ack: Some(ack) };
            assert_eq!(error.details, Some(m::stream_error::Details::DigestListAck(details)));
        }
        other => panic!("{other:?}"),
    }

    for digest_id in [0, 7] {
        let entry = m::DigestEntry { digest_id, config: None };
        let entity = m::Entity { entity: Some(m::entity::Entity::Digest(entry)) };
        let entities = vec![entity.clone()];
        let request = m::ReadRequest { device_id: 1, entities, role: String::new() };
        let refused = rpc.read(request).await.expect_err("no digests");
        assert_eq!(refused.code(), tonic::Code::Unimplemented, "{refused}");
        let request = m::WriteRequest {
            device_id: 1,
            election_id: election,
            updates: vec![m::Update { r#type: 1, entity: Some(entity) }],
            ..Default::default()
        };
        let refused = rpc.write(request).await.expect_err("no digests");
        // The status of a batch, with the code of each update in its details.
        assert_eq!(refused.code(), tonic::Code::Unknown, "{refused}");
        let status: m::Status = prost::Message::decode(refused.details()).expect("a status");
        let error: m::Error = prost::Message::decode(&status.details[0].value[..]).expect("one");
        assert_eq!(error.canonical_code, tonic::Code::Unimplemented as i32);
    }
}

#[tokio::test]
async fn a_server_without_a_table_or_with_another_field_is_refused() {
    for (what, change) in [
        (
            "it has no table l2_forward",
            (|info: &mut P4Info| {
                info.tables.retain(|table| table.alias != "l2_forward");
            }) as fn(&mut P4Info),
        ),
        ("decap.qfi of it differs", |info| {
            let decap = info.actions.iter_mut().find(|action| action.alias == "decap").unwrap();
            decap.parameters.iter_mut().find(|one| one.name == "qfi").unwrap().bits = 6;
        }),
        ("rules of it has 1024 elements", |info| {
            info.counters.iter_mut().find(|one| one.alias == "rules").unwrap().size = 1024;
        }),
    ] {
        let mut theirs = program();
        change(&mut theirs.info);
        let (address, _) = serve(theirs).await;
        match Client::connect(address, 1).await {
            Err(error @ ClientError::OtherProgram(_)) => {
                assert!(error.to_string().contains(what), "{error}");
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("{what}: accepted"),
        }
    }
}

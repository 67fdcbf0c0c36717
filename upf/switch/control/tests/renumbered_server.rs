//! The P4Runtime client drives a server with the same tables under other numbers and names, as the
//! compiler of another architecture gives them.
use martlet_p4c_swx::{P4Info, Program};
use martlet_switch_control::client::{Client, ClientError};
use martlet_switch_control::counters::Counters;
use martlet_switch_control::model::*;
use martlet_switch_control::p4runtime::Server;
use martlet_switch_control::{Tables, Target, TargetError, UPF};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;
use tokio_stream::wrappers::TcpListenerStream;

/// A target that records the calls of its commits.
#[derive(Default)]
struct Recorder(Mutex<Vec<Change>>);

impl Target for Recorder {
    fn commit(&self, changes: &[Change], _: &[Rebuild]) -> Result<(), TargetError> {
        self.0.lock().unwrap().extend_from_slice(changes);
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
    fn send(&self, _: u32, _: &[u8]) -> Result<(), TargetError> {
        Ok(())
    }
    fn receive(&self) -> Option<(u32, Vec<u8>)> {
        None
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
    let (service, packets) = server.service(Arc::new(Notify::new()));
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
    assert_eq!(target.0.lock().unwrap().len(), 1);
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

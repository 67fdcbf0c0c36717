//! Benchmark: rules issued over P4Runtime while packets of another rule pass. Measures the duration
//! and packet loss.
use crate::access::Access;
use crate::as_target::SwitchTarget;
use crate::assemble::{Engine, Ports};
use crate::bench::{FIRST_TEID, FIRST_UE, TunnelOperation, frame, rule};
use crate::error::ProcessError;
use crate::rpc;
use crate::serve::{ACCESS, CORE, base};
use crate::switch::Switch;
use crate::{UPF, dpdk};
use martlet_switch_control::client::Client;
use martlet_switch_control::counters::Counters;
use martlet_switch_control::model::{Operation, Update};
use martlet_switch_control::p4runtime::Server;
use martlet_switch_control::tables::Tables;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Updates per write; each write is atomic with respect to packets.
const BATCH: usize = 1000;
/// Packets per millisecond meanwhile.
const EVERY_MILLISECOND: u32 = 20;

/// Results of the benchmark.
#[derive(Debug, Clone, Default)]
pub struct Issued {
    /// Duration of issuing the rules in seconds, by sample.
    pub seconds: Vec<f64>,
    /// Packets sent while rules were inserted and deleted.
    pub sent: u32,
    /// Lost and reordered packets among them.
    pub lost: u32,
    /// See `lost`.
    pub overtaken: u32,
}

/// Sends packets of one session until stopped.
fn traffic(switch: &Switch, end: &AtomicBool) -> Issued {
    let mut bytes = frame(TunnelOperation::Decapsulation, 0, 128);
    let (mut sent, mut received, mut next, mut overtaken) = (0u32, 0, 0, 0);
    let mut take = || {
        while let Some(frame) = switch.collect(CORE) {
            let number = frame.last_chunk().map_or(0, |last| u32::from_be_bytes(*last));
            overtaken += u32::from(number < next);
            next = next.max(number + 1);
            received += 1;
        }
        received
    };
    while !end.load(Ordering::Relaxed) {
        for _ in 0..EVERY_MILLISECOND {
            let at = bytes.len() - 4;
            bytes[at..].copy_from_slice(&sent.to_be_bytes());
            sent += 1;
            // A packet without space in the ring counts as lost.
            let _ = switch.inject(ACCESS, &bytes);
        }
        take();
        std::thread::sleep(Duration::from_millis(1));
    }
    let timeout = Instant::now() + Duration::from_secs(2);
    while take() < sent && Instant::now() < timeout {
        std::thread::sleep(Duration::from_millis(1));
    }
    Issued { seconds: Vec::new(), sent, lost: sent - take(), overtaken }
}

/// Issues a number of rules `samples` times over P4Runtime on loopback.
pub fn run(rules: u32, samples: u32, engine: Engine) -> Result<Issued, ProcessError> {
    let program = Arc::new(martlet_p4c_swx::compile(UPF)?);
    dpdk::start(768)?;
    let switch = Switch::new(program.clone(), Ports::Rings, engine)?;
    let switch = Arc::new(switch);
    let target = Arc::new(SwitchTarget::new(switch.clone())?);
    let counters = Counters::open(program.info.clone(), target.clone(), None)
        .map_err(ProcessError::system("create counters"))?;
    let tables = Arc::new(Tables::new(program.clone(), target));
    let server = Server::new(tables, Arc::new(counters), None, base(&program), 1);
    server.begin(Vec::new())?;
    switch.start()?;
    let decap = |n: u32| {
        let arguments = vec![u64::from(FIRST_UE + n), u64::from(n), 0, 1, 0, 0];
        rule(&program, "gtp_decap", u64::from(FIRST_TEID + n), "decap", arguments)
    };
    let hop = rule(
        &program,
        "l2_forward",
        1,
        "l2",
        vec![0x0200_0000_0003, 0x0200_0000_0004, CORE.into()],
    );
    let inserted: Vec<Update> = (1..=rules).map(decap).collect();
    let deleted: Vec<Update> = inserted
        .iter()
        .map(|update| Update { operation: Operation::Delete, ..update.clone() })
        .collect();

    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(ProcessError::system("create the async runtime"))?;
    let client = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .map_err(ProcessError::system("listen on loopback"))?;
        let address = listener
            .local_addr()
            .map_err(ProcessError::system("read the address of the listener"))?;
        tokio::spawn(rpc::serve(server, listener, Arc::default(), Access::default()));
        let mut client = Client::connect(address, 1).await?;
        client.become_primary(None).await?;
        client.write(&[hop, decap(0)]).await?;
        Ok::<_, ProcessError>(client)
    });
    let mut client = client?;
    let end = AtomicBool::new(false);
    let seconds = std::thread::scope(|scope| {
        let passing = scope.spawn(|| traffic(&switch, &end));
        let seconds = runtime.block_on(async {
            let mut seconds = Vec::new();
            for _ in 0..samples {
                let started = Instant::now();
                for batch in inserted.chunks(BATCH) {
                    client.write(batch).await?;
                }
                seconds.push(started.elapsed().as_secs_f64());
                for batch in deleted.chunks(BATCH) {
                    client.write(batch).await?;
                }
            }
            Ok::<_, ProcessError>(seconds)
        });
        end.store(true, Ordering::Relaxed);
        let passed = passing
            .join()
            .map_err(|_| ProcessError::Invalid("the traffic thread panicked".into()))?;
        Ok::<_, ProcessError>(Issued { seconds: seconds?, ..passed })
    });
    runtime.shutdown_background();
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_packet_is_lost_while_rules_are_issued() {
        let issued = run(2_500, 2, Engine::best()).expect("it runs");
        assert!(issued.sent > 0 && issued.seconds.len() == 2, "{issued:?}");
        assert_eq!((issued.lost, issued.overtaken), (0, 0), "{issued:?}");
    }
}

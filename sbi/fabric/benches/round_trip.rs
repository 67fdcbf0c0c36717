//! Cost of a call between two processes: `cargo bench -p martlet-sbi-fabric`.
//!
//! A body of 1.6 KB (as JSON) is sent to another process, decoded there, and sent back. The
//! variants alternate in blocks within one run, so ratios between them hold even if the machine's
//! speed changes. Arguments select variants: `cargo bench -p martlet-sbi-fabric -- http
//! frame_json`.
use martlet_fabric::*;
use martlet_sbi::*;
use martlet_sbi_api::namf_communication::N1N2MessageTransferReqData;
use martlet_sbi_fabric::*;
use martlet_sbi_http::{ClientLimits, HttpBinding, HttpServer, ServerLimits};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Message = Multipart<N1N2MessageTransferReqData>;

service! {
    /// Echoes requests.
    pub Mirror / MirrorClient / MIRROR = "nmirror" / "v1" {
        /// Echoes a message.
        op mirror "Mirror": POST "/messages/{id}", path(id), body(Message),
            returns(Message), errors[];
        /// An empty call.
        op touch "Touch": PUT "/touch", path(), returns(()), errors[];
        /// CPU time of the process in ns.
        op cost "Cost": GET "/cost", path(), returns(serde_json::Value), errors[];
    }
}

struct Server;
impl Mirror for Server {
    async fn mirror(&self, _: &str, body: Message) -> Result<Message, Problem> {
        Ok(body)
    }
    async fn touch(&self) -> Result<(), Problem> {
        Ok(())
    }
    async fn cost(&self) -> Result<serde_json::Value, Problem> {
        Ok(cpu_time().into())
    }
}

fn cpu_time() -> u64 {
    let usage =
        nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF).expect("usage");
    let ns =
        |t: nix::sys::time::TimeVal| t.tv_sec() as u64 * 1_000_000_000 + t.tv_usec() as u64 * 1000;
    ns(usage.user_time()) + ns(usage.system_time())
}

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;
const VARIANTS: [&str; 6] = [
    "http",
    "frame_json",
    "frame_compact",
    "frame_json_nospin",
    "frame_compact_nospin",
    "frame_compact_spin",
];

fn address(variant: &str) -> String {
    let at = VARIANTS.iter().position(|known| *known == variant).expect("a variant");
    format!("127.0.0.1:{}", 47310 + at)
}

fn fabric_config(variant: &str, socket: PathBuf) -> FabricConfig {
    let spin = match variant {
        _ if variant.ends_with("_nospin") => Spin::Off,
        _ if variant.ends_with("_spin") => Spin::Micros(100),
        _ => Spin::Auto,
    };
    FabricConfig {
        socket,
        name: variant.into(),
        spin,
        schema: if variant.contains("compact") { 1 } else { 0 },
        ..Default::default()
    }
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    if let Ok(variant) = std::env::var("MARTLET_BENCH_SERVER") {
        return runtime.block_on(serve(variant));
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let chosen: Vec<&str> = VARIANTS
        .into_iter()
        .filter(|v| wanted.is_empty() || wanted.iter().any(|w| w == v))
        .collect();
    runtime.block_on(compare(&chosen));
}

async fn serve(variant: String) {
    std::thread::spawn(|| {
        let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
        std::process::exit(0);
    });
    let router = Arc::new(Router::new().serve(MIRROR.routes(Arc::new(Server))));
    if variant == "http" {
        let address = address(&variant).parse().expect("an address");
        return HttpServer::bind(address, router, ServerLimits::default())
            .await
            .expect("a free port")
            .run()
            .await;
    }
    let socket = std::env::var("MARTLET_BENCH_SOCKET").expect("a socket");
    let fabric = Fabric::start(fabric_config(&variant, socket.into()));
    let binding = FabricBinding::new(fabric);
    FabricServer::bind(&binding, &address(&variant), router).run().await;
}

/// Number of blocks measured on a busy machine.
static BUSY: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// Waits up to five seconds until the machine is idle.
async fn wait_until_idle() {
    let idle = || {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let ticks = text
            .lines()
            .next()
            .unwrap_or("")
            .split_whitespace()
            .skip(1)
            .map(|n| n.parse::<u64>().unwrap_or(0));
        let ticks: Vec<u64> = ticks.collect();
        (ticks.get(3).copied().unwrap_or(0), ticks.iter().sum::<u64>())
    };
    for _ in 0..25 {
        let before = idle();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let after = idle();
        if (after.0 - before.0) * 10 >= (after.1 - before.1) * 9 {
            return;
        }
    }
    BUSY.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
}

struct Variant {
    name: &'static str,
    client: MirrorClient,
    server: Child,
    times: BTreeMap<String, Vec<f64>>,
    spent: BTreeMap<String, Vec<f64>>,
}

impl Drop for Variant {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn sample() -> Message {
    let path = format!("{}/../api/tests/samples/namf-comm.json", env!("CARGO_MANIFEST_DIR"));
    let all: Vec<serde_json::Value> =
        serde_json::from_str(&std::fs::read_to_string(path).expect("samples")).expect("JSON");
    let fits = all
        .iter()
        .filter(|s| s["operation"] == "N1N2MessageTransfer" && s["direction"] == "request");
    let longest = fits.max_by_key(|s| s["body"].to_string().len()).expect("a sample");
    Multipart::new(serde_json::from_value(longest["body"].clone()).expect("a message"))
}

async fn compare(chosen: &[&'static str]) {
    let folder = std::env::temp_dir().join(format!("martlet-fabric-bench-{}", std::process::id()));
    let socket = folder.join("fabric.sock");
    let config = ManagerConfig { socket: socket.clone(), ..Default::default() };
    let manager = tokio::spawn(Manager::bind(config).expect("a manager").run());
    let mut variants = Vec::new();
    for name in chosen {
        variants.push(start(name, socket.clone()).await);
    }
    let body = sample();
    for (point, in_flight, gap, calls, blocks) in [
        ("1 in flight", 1, Duration::ZERO, 2000, 15),
        ("1 in flight, no body", 1, Duration::ZERO, 2000, 15),
        ("16 in flight", 16, Duration::ZERO, 2000, 15),
        ("16 in flight, no body", 16, Duration::ZERO, 2000, 15),
        ("1 in flight, 3 ms gaps", 1, Duration::from_millis(3), 100, 5),
    ] {
        // A single point, for a profiler.
        if std::env::var("MARTLET_BENCH_POINT").is_ok_and(|wanted| wanted != point) {
            continue;
        }
        for _ in 0..blocks {
            wait_until_idle().await;
            for variant in &mut variants {
                let body = (!point.ends_with("no body")).then_some(&body);
                block(variant, point, in_flight, gap, calls, body).await;
            }
        }
        report(&variants, point, in_flight);
    }
    drop(variants);
    manager.abort();
    let _ = std::fs::remove_dir_all(&folder);
}

async fn start(name: &'static str, socket: PathBuf) -> Variant {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .env("MARTLET_BENCH_SERVER", name)
        .env("MARTLET_BENCH_SOCKET", &socket)
        .stdin(Stdio::piped());
    let server = command.spawn().expect("a process");
    let transport: Arc<dyn Transport> = match name {
        "http" => Arc::new(HttpBinding::new(ClientLimits::default())),
        _ => Arc::new(FabricBinding::new(Fabric::start(fabric_config(name, socket)))),
    };
    let peer = Peer::new(transport, ApiRoot::http(address(name)), "SMF", CallPolicy::default());
    let client = MirrorClient::new(peer);
    while client.cost().await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Variant { name, client, server, times: BTreeMap::new(), spent: BTreeMap::new() }
}

/// Makes one call and returns its duration in µs, without the drop of the response.
async fn call(client: &MirrorClient, body: Option<Message>) -> f64 {
    let started = Instant::now();
    let answer = match body {
        Some(body) => Some(client.mirror("1", body).await.expect("an answer")),
        None => {
            client.touch().await.expect("an answer");
            None
        }
    };
    let elapsed = started.elapsed().as_secs_f64() * 1e6;
    std::hint::black_box(answer);
    elapsed
}

async fn block(
    variant: &mut Variant,
    point: &str,
    in_flight: usize,
    gap: Duration,
    calls: usize,
    body: Option<&Message>,
) {
    let cost = async || {
        let there = variant.client.cost().await.expect("cost").as_u64().expect("a number");
        there + cpu_time()
    };
    // Warm up again after the other variants.
    for _ in 0..20 {
        call(&variant.client, body.cloned()).await;
    }
    let (before, started) = (cost().await, Instant::now());
    let tasks: Vec<_> = (0..in_flight)
        .map(|_| {
            let (client, body) = (variant.client.clone(), body.cloned());
            tokio::spawn(async move {
                let mut times = Vec::with_capacity(calls / in_flight);
                for _ in 0..calls / in_flight {
                    let body = body.clone();
                    times.push(call(&client, body).await);
                    if !gap.is_zero() {
                        tokio::time::sleep(gap).await;
                    }
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.expect("a task"));
    }
    let (elapsed, spent) =
        (started.elapsed().as_secs_f64() * 1e6, (cost().await - before) as f64 / 1e3);
    variant.times.entry(point.into()).or_default().extend(&times);
    variant.spent.entry(point.into()).or_default().push(spent / times.len() as f64);
    variant.times.entry(format!("{point} each")).or_default().push(elapsed / times.len() as f64);
}

fn at(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share) as usize]
}

fn report(variants: &[Variant], point: &str, in_flight: usize) {
    let busy = BUSY.swap(0, std::sync::atomic::Ordering::Relaxed);
    println!(
        "\n{point}{}",
        if busy > 0 { format!(" ({busy} rounds on a busy machine)") } else { String::new() }
    );
    println!(
        "{:<24}{:>10}{:>10}{:>12}{:>14}  µs; in brackets: ratio to http",
        "", "median", "p99", "CPU", "per call"
    );
    let figures = |v: &Variant| {
        let (times, each) = (&v.times[point], &v.times[&format!("{point} each")]);
        [at(times, 0.5), at(times, 0.99), at(&v.spent[point], 0.5), at(each, 0.5)]
    };
    let base = variants.iter().find(|v| v.name == "http").map(figures);
    for variant in variants {
        let own = figures(variant);
        let ratio =
            |n: usize| base.map_or(String::new(), |base| format!(" ({:.1})", base[n] / own[n]));
        print!("{:<24}", variant.name);
        for (n, value) in own.iter().enumerate() {
            print!("{:>14}", format!("{value:.1}{}", ratio(n)));
        }
        println!();
    }
    let _ = in_flight;
}

//! A core serves its UEs while its API is attacked or has ended.
use super::*;
use martlet_tests::in_namespace;

#[test]
fn a_core_outlives_its_api() {
    in_namespace(|| async {
        let site = api_site("api-killed")?;
        let core = site.start(&["--split"])?;
        kill(&core, "oam")?;
        let gnb = gnb().await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        core.stop()
    });
}

/// Connections that send nothing further, garbage, and sign-ins without end, over TCP and the
/// socket: UEs register meanwhile, and the API answers afterwards. Its process has no rights.
async fn attack_on_the_api(arguments: &'static [&'static str]) -> Result<()> {
    let name = if arguments.is_empty() { "api-flood" } else { "api-flood-split" };
    let site = api_site(name)?;
    let core = site.start(arguments)?;
    Caller::socket(&site).until_it_answers().await?;
    if let Some(pid) = core.process_of("nf oam") {
        let read = || std::fs::read_to_string(format!("/proc/{pid}/status"));
        // The thread of the API may answer a moment before the process has given up its rights.
        let (mut status, give_up) = (read()?, Instant::now() + Duration::from_secs(60));
        while !status.contains("CapPrm:\t0000000000000000") && Instant::now() < give_up {
            tokio::time::sleep(Duration::from_millis(20)).await;
            status = read()?;
        }
        for line in ["CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"] {
            ensure!(status.contains(line), "{line:?} is not in {status}");
        }
        ensure!(status.contains("Seccomp:\t2"), "no filter of system calls: {status}");
    }
    let (mut tcp, mut sockets) = (Vec::new(), Vec::new());
    for _ in 0..280 {
        // Beyond its number of connections the API closes the next ones at once.
        if let Ok(mut stream) = std::net::TcpStream::connect(ADDRESS) {
            let _ = stream.write_all(b"POST /api/v1/session HTTP/1.1\r\nhost: 127.0.0.1:9080\r\n");
            tcp.push(stream);
        }
        if let Ok(mut stream) = UnixStream::connect(site.0.join("api.sock")) {
            let _ = stream.write_all(b"\0\xff GET /\x07");
            sockets.push(stream);
        }
    }
    let flood = tokio::task::spawn_blocking(|| {
        for _ in 0..50 {
            let body = json!({"user": "admin", "password": "not the password"});
            let _ = Caller::tcp().post("/session", body);
        }
    });
    let gnb = gnb().await?;
    registration_cycle(&ue(&gnb, 1)?).await?;
    registration_cycle(&ue(&gnb, 2)?).await?;
    flood.await?;
    drop((tcp, sockets));
    let give_up = Instant::now() + Duration::from_secs(60);
    while Caller::socket(&site).get("/version").is_err() {
        ensure!(Instant::now() < give_up, "the API does not answer any more");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    core.stop()
}

/// A client that is not signed in holds more connections than there may be: others are served.
#[test]
fn attack_held_connections_keep_operators_out_of_the_api() {
    in_namespace(|| async {
        let site = api_site("api-held")?;
        let core = site.start(&[])?;
        Caller::socket(&site).until_it_answers().await?;
        let mut held = Vec::new();
        for _ in 0..300 {
            let mut stream = std::net::TcpStream::connect(ADDRESS)?;
            stream.write_all(format!("GET / HTTP/1.1\r\nhost: {ADDRESS}\r\n\r\n").as_bytes())?;
            held.push(stream);
        }
        Caller::tcp().sign_in("admin", &first_password(&site)?)?;
        drop(held);
        core.stop()
    });
}

#[test]
fn attack_on_the_api_leaves_the_core_in_one_process_alone() {
    in_namespace(|| attack_on_the_api(&[]));
}

#[test]
fn attack_on_the_api_without_rights_leaves_a_split_core_alone() {
    in_namespace(|| attack_on_the_api(&["--split"]));
}

//! First steps.
use martlet_sctp::*;
#[tokio::test]
async fn echo() {
    tracing_subscriber::fmt().with_env_filter("debug").init();
    let stack = match SctpStack::open(StackChoice::Usrsctp) { Ok(s) => s, Err(e) => { eprintln!("SKIPPED: {e}"); return; } };
    let o = Options::default();
    let l = stack.listen(&["127.0.0.1".parse().unwrap()], 38412, &o).await.unwrap();
    let c = stack.connect(None, l.local_addr(), &o).await.unwrap();
    let s = l.accept().await.unwrap();
    println!("{:?} {:?} {} {}", c.local_addr(), s.peer_addr(), c.streams(), s.streams());
    tokio::spawn(async move { while let Ok(Some(m)) = s.recv().await { s.send(m.stream, m.ppid, m.data).await.unwrap(); } println!("server ended"); });
    let t = std::time::Instant::now();
    for i in 0..10000u32 {
        c.send((i % 8) as u16, 60, bytes::Bytes::from(vec![7u8; 200])).await.unwrap();
        let m = c.recv().await.unwrap().unwrap();
        assert_eq!((m.stream, m.ppid, m.data.len()), ((i % 8) as u16, 60, 200));
    }
    println!("{:?} per round trip", t.elapsed() / 10000);
    let t = std::time::Instant::now();
    c.shutdown().await;
    println!("{:?} shutdown", t.elapsed());
    println!("{:?}", c.recv().await);
}

//! Service calls between processes.
mod support;

use martlet_fabric::*;
use martlet_sbi::*;
use martlet_sbi_fabric::*;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::*;

#[test]
fn child() {
    child_main();
}

/// A client in this process and a server in a child process.
async fn pair(
    dir: &TestDir,
    extra: &[(&str, &str)],
) -> (FabricBinding, Bindings, EchoClient, ServerProcess) {
    let (binding, bindings) = join(dir.config("test"));
    let server = ServerProcess::start_with(dir, "far:1", extra);
    let far = client(&bindings, "far:1");
    until("the server is up", async || far.pid().await.is_ok()).await;
    (binding, bindings, far, server)
}

#[tokio::test]
async fn bodies_statuses_and_causes_are_transferred() {
    let dir = TestDir::new("bodies");
    let _manager = dir.manager();
    for json in [&[][..], &[("MARTLET_FABRIC_JSON", "1")][..]] {
        let (_binding, _, far, server) = pair(&dir, json).await;
        assert_eq!(far.pid().await.unwrap().text, server.0.id().to_string());
        let note = Multipart::new(Note { text: "ä\"\n".into() }).part(
            "n1",
            content_type::NAS,
            vec![0, 13, 10, 255],
        );
        let created = far.about("imsi-001010000000001").echo("7", note.clone()).await.unwrap();
        assert_eq!((created.location.as_str(), created.body), ("/necho/v1/notes/7", note));
        let problem = far.read("none").await.unwrap_err();
        assert_eq!(
            (problem.status(), problem.cause(), problem.transport),
            (404, "CONTEXT_NOT_FOUND", None)
        );
        let problem = far.panic().await.unwrap_err();
        assert_eq!((problem.status(), problem.cause()), (500, "SYSTEM_FAILURE"));
        assert_eq!(far.read("still there").await.unwrap().text, "still there");
    }
}

/// Requests over the fabric have no token. The path of a notification is the consumer's choice.
#[tokio::test]
async fn a_notification_reaches_no_service_of_another_process() {
    let dir = TestDir::new("misdirected");
    let _manager = dir.manager();
    let (_binding, _, far, _server) = pair(&dir, &[]).await;
    let notices = NoticesClient::new(far.peer().clone());
    let note = || Note { text: "x".into() };
    let refused = notices.notice("http://far:1/necho/v1/hang-once", note()).await.unwrap_err();
    assert_eq!((refused.status(), refused.cause()), (403, "REQUEST_NOT_ALLOWED"));
    // This server has no such consumer, but is asked.
    let missing = notices.notice("http://far:1/nnotices-callback/v1/notices", note()).await;
    assert_eq!(missing.unwrap_err().status(), 404);
}

/// The manager reports the user of a process, as the kernel does.
#[tokio::test]
async fn a_guard_refuses_requests_by_the_user_of_the_peer() {
    let dir = TestDir::new("users");
    let _manager = dir.manager();
    let (binding, bindings) = join(dir.config("server"));
    let _server = serve(&binding, &bindings, "near:1");
    let own = nix::unistd::geteuid().as_raw();
    let check = move |_: &http::Method, path: &str, user: u32| {
        let is_refused = user == own && path.ends_with("/secret");
        if is_refused { Err(Problem::new(403, "REQUEST_NOT_ALLOWED")) } else { Ok(()) }
    };
    binding.guard_users(UserGuard(Arc::new(check)));
    let (_other, others) = join(dir.config("client"));
    let near = client(&others, "near:1");
    until("the server is up", async || near.pid().await.is_ok()).await;
    let refused = near.read("secret").await.unwrap_err();
    assert_eq!((refused.status(), refused.cause()), (403, "REQUEST_NOT_ALLOWED"));
    assert_eq!(near.read("1").await.unwrap().text, "1");
}

#[tokio::test]
async fn long_bodies_use_several_buffers_and_too_long_ones_are_rejected() {
    let dir = TestDir::new("long");
    let _manager = dir.manager();
    let (_binding, _, far, _server) = pair(&dir, &[]).await;
    for length in [500, 4000, 5000, 70_000, 1_000_000] {
        let note = Multipart::new(Note { text: "x".repeat(length) });
        assert_eq!(far.echo("1", note.clone()).await.unwrap().body, note);
    }
    let problem =
        far.echo("1", Multipart::new(Note { text: "x".repeat(1 << 20) })).await.unwrap_err();
    assert_eq!(problem.status(), 413);
    assert_eq!(far.read("1").await.unwrap().text, "1");
}

#[tokio::test]
async fn concurrent_calls_in_both_directions_share_one_channel() {
    let dir = TestDir::new("many");
    let _manager = dir.manager();
    let (binding, bindings, far, _server) = pair(&dir, &[]).await;
    let _near = serve(&binding, &bindings, "near:1");
    let calls: Vec<_> = (0..200)
        .map(|n| {
            let far = far.clone();
            tokio::spawn(async move {
                let text = format!("{n} {}", "y".repeat(n * 100));
                let note = Note { text };
                assert_eq!(far.echo("1", note.clone().into()).await.unwrap().body.json, note);
                assert_eq!(far.call_back("near:1", note.clone()).await.unwrap(), note);
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(binding.fabric().peers(), ["child"]);
}

#[tokio::test]
async fn cancelling_a_call_aborts_its_processing() {
    let dir = TestDir::new("cancel");
    let _manager = dir.manager();
    let (_binding, _, far, _server) = pair(&dir, &[]).await;
    let hanging: Vec<_> = (0..10)
        .map(|_| {
            tokio::spawn({
                let far = far.clone();
                async move { far.hang().await }
            })
        })
        .collect();
    until("ten hang", async || far.hanging().await.unwrap().text == "10").await;
    hanging.iter().for_each(|call| call.abort());
    until("none hangs", async || far.hanging().await.unwrap().text == "0").await;
}

#[tokio::test]
async fn a_dead_peer_is_detected_at_once_and_its_successor_is_found() {
    let dir = TestDir::new("death");
    let _manager = dir.manager();
    let (_binding, _, far, mut server) = pair(&dir, &[]).await;
    let waiting = tokio::spawn({
        let far = far.clone();
        async move { far.hang_once().await }
    });
    until("it hangs", async || far.hanging().await.unwrap().text == "1").await;
    let killed = Instant::now();
    server.kill();
    let problem = waiting.await.unwrap().unwrap_err();
    assert_eq!(
        (problem.cause(), problem.transport),
        ("TARGET_NF_NOT_REACHABLE", Some(TransportFailure::Unknown))
    );
    // The call's timeout is 20 s.
    assert!(killed.elapsed() < Duration::from_secs(15));
    let problem = far.read("1").await.unwrap_err();
    assert_eq!((problem.status(), problem.transport), (504, Some(TransportFailure::NotSent)));
    let server = ServerProcess::start(&dir, "far:1");
    until("it is back", async || {
        far.pid().await.is_ok_and(|pid| pid.text == server.0.id().to_string())
    })
    .await;
}

#[tokio::test]
async fn calls_during_the_death_of_their_server_succeed_or_report_unreachable() {
    let dir = TestDir::new("repeat");
    let _manager = dir.manager();
    let (_binding, _, far, mut server) = pair(&dir, &[]).await;
    let calls = tokio::spawn({
        let far = far.clone();
        async move {
            let mut done = 0;
            while done < 2000 {
                match far.read("1").await {
                    Ok(note) => assert_eq!(note.text, "1"),
                    // Reported as unreachable, not lost.
                    Err(problem) => assert!(problem.transport.is_some(), "{problem}"),
                }
                done += 1;
            }
        }
    });
    until("some are done", async || far.read("1").await.is_ok()).await;
    server.kill();
    let _server = ServerProcess::start(&dir, "far:1");
    calls.await.unwrap();
    until("it is back", async || far.pid().await.is_ok()).await;
}

#[tokio::test]
async fn channels_survive_a_manager_restart() {
    let dir = TestDir::new("manager");
    let manager = dir.manager();
    let (binding, bindings, far, _server) = pair(&dir, &[]).await;
    manager.abort();
    let _ = manager.await;
    until("the lost manager is detected", async || {
        matches!(binding.fabric().state(), MembershipState::Disconnected(_))
    })
    .await;
    assert_eq!(far.read("1").await.unwrap().text, "1");
    let problem = client(&bindings, "other:1").read("1").await.unwrap_err();
    assert_eq!(problem.transport, Some(TransportFailure::NotSent));
    let _manager = dir.manager();
    assert_eq!(binding.fabric().joined().await, MembershipState::Joined("core".into()));
    let _other = ServerProcess::start(&dir, "other:1");
    until("the other one is up", async || client(&bindings, "other:1").pid().await.is_ok()).await;
    assert_eq!(far.read("1").await.unwrap().text, "1");
}

/// Stands for the binding to other machines.
struct NextBinding;
impl Transport for NextBinding {
    fn send<'a>(&'a self, to: &'a ApiRoot, _: Request) -> BoxFuture<'a, Result<Response, Problem>> {
        Box::pin(async move { Ok(Response::new(200, Body::of(Note { text: to.to_string() }))) })
    }
}

#[tokio::test]
async fn authorities_outside_the_fabric_use_the_next_binding() {
    let dir = TestDir::new("next");
    // First without a manager.
    let fabric = Fabric::start(dir.config("test"));
    let binding = FabricBinding::new(fabric.clone()).with_next(Arc::new(NextBinding));
    let bindings = Bindings::new().with_remote(Arc::new(binding.clone()));
    let far = client(&bindings, "far:1");
    assert_eq!(far.read("1").await.unwrap().text, "http://far:1");
    let _manager = dir.manager();
    fabric.joined().await;
    assert_eq!(far.read("1").await.unwrap().text, "http://far:1");
    let _server = ServerProcess::start(&dir, "far:1");
    until("it is in the fabric", async || far.read("1").await.unwrap().text == "1").await;
    // What this process serves itself does not use the fabric.
    let _near = serve(&binding, &bindings, "near:1");
    assert_eq!(client(&bindings, "near:1").read("2").await.unwrap().text, "2");
}

#[tokio::test]
async fn a_process_without_a_domain_is_refused() {
    let dir = TestDir::new("domain");
    let other = Domain { name: "others".into(), uids: vec![u32::MAX - 7], gids: vec![] };
    let manager = ManagerConfig { domains: vec![other], ..dir.manager_config() };
    let _manager = tokio::spawn(Manager::bind(manager).unwrap().run());
    let (binding, bindings) = join(dir.config("test"));
    let MembershipState::Refused(reason) = binding.fabric().joined().await else {
        panic!("it joined")
    };
    assert!(reason.contains("security domain"), "{reason}");
    let problem = client(&bindings, "far:1").read("1").await.unwrap_err();
    assert_eq!(problem.transport, Some(TransportFailure::NotSent));
}

#[tokio::test]
async fn a_second_manager_fails_to_bind() {
    let dir = TestDir::new("second");
    let first = Manager::bind(dir.manager_config()).unwrap();
    let error = Manager::bind(dir.manager_config()).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    // A killed manager does not remove its socket.
    std::mem::forget(first);
    let config = ManagerConfig { domains: vec![], ..dir.manager_config() };
    assert_eq!(
        Manager::bind(config).map(|_| ()).unwrap_err().kind(),
        std::io::ErrorKind::InvalidInput
    );
}

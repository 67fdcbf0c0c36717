//! Service calls between processes.
mod support;

use martlet_sbi::*;
use martlet_sbi_fabric::*;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::*;

#[test]
fn child() {
    child_main();
}

/// A client in this process and a server in another one, which answers.
async fn pair(
    place: &Place,
    extra: &[(&str, &str)],
) -> (Fabric, Bindings, EchoClient, ServerProcess) {
    let (fabric, bindings) = join(place.config("test"));
    let server = ServerProcess::start_with(place, "far:1", extra);
    let far = client(&bindings, "far:1");
    until("the server is up", async || far.pid().await.is_ok()).await;
    (fabric, bindings, far, server)
}

#[tokio::test]
async fn bodies_statuses_and_causes_cross() {
    let place = Place::new("bodies");
    let _manager = place.manager();
    for json in [&[][..], &[("MARTLET_FABRIC_JSON", "1")][..]] {
        let (_fabric, _, far, server) = pair(&place, json).await;
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

#[tokio::test]
async fn long_bodies_take_several_buffers_and_too_long_ones_are_refused() {
    let place = Place::new("long");
    let _manager = place.manager();
    let (_fabric, _, far, _server) = pair(&place, &[]).await;
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
async fn many_calls_share_a_channel_and_the_other_side_calls_back_over_it() {
    let place = Place::new("many");
    let _manager = place.manager();
    let (fabric, bindings, far, _server) = pair(&place, &[]).await;
    let _near = serve(&fabric, &bindings, "near:1");
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
    assert_eq!(fabric.peers(), ["child"]);
}

#[tokio::test]
async fn who_gives_up_ends_the_work_on_its_request() {
    let place = Place::new("cancel");
    let _manager = place.manager();
    let (_fabric, _, far, _server) = pair(&place, &[]).await;
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
async fn a_peer_that_dies_is_noticed_at_once_and_one_that_comes_back_is_found() {
    let place = Place::new("death");
    let _manager = place.manager();
    let (_fabric, _, far, mut server) = pair(&place, &[]).await;
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
    // The client would wait for 20 s.
    assert!(killed.elapsed() < Duration::from_secs(5));
    let problem = far.read("1").await.unwrap_err();
    assert_eq!((problem.status(), problem.transport), (504, Some(TransportFailure::NotSent)));
    let server = ServerProcess::start(&place, "far:1");
    until("it is back", async || {
        far.pid().await.is_ok_and(|pid| pid.text == server.0.id().to_string())
    })
    .await;
}

#[tokio::test]
async fn a_call_that_may_be_repeated_survives_the_death_of_its_producer() {
    let place = Place::new("repeat");
    let _manager = place.manager();
    let (_fabric, _, far, mut server) = pair(&place, &[]).await;
    let calls = tokio::spawn({
        let far = far.clone();
        async move {
            let mut done = 0;
            while done < 2000 {
                match far.read("1").await {
                    Ok(note) => assert_eq!(note.text, "1"),
                    // Said to be unreachable, not lost.
                    Err(problem) => assert!(problem.transport.is_some(), "{problem}"),
                }
                done += 1;
            }
        }
    });
    until("some are done", async || far.read("1").await.is_ok()).await;
    server.kill();
    let _server = ServerProcess::start(&place, "far:1");
    calls.await.unwrap();
    until("it is back", async || far.pid().await.is_ok()).await;
}

#[tokio::test]
async fn channels_outlive_their_manager_and_the_next_one_makes_new_ones() {
    let place = Place::new("manager");
    let manager = place.manager();
    let (fabric, bindings, far, _server) = pair(&place, &[]).await;
    manager.abort();
    let _ = manager.await;
    until("the manager is missed", async || matches!(fabric.standing(), Standing::Away(_))).await;
    assert_eq!(far.read("1").await.unwrap().text, "1");
    let problem = client(&bindings, "other:1").read("1").await.unwrap_err();
    assert_eq!(problem.transport, Some(TransportFailure::NotSent));
    let _manager = place.manager();
    assert_eq!(fabric.joined().await, Standing::Joined("core".into()));
    let _other = ServerProcess::start(&place, "other:1");
    until("the other one is up", async || client(&bindings, "other:1").pid().await.is_ok()).await;
    assert_eq!(far.read("1").await.unwrap().text, "1");
}

/// Stands for the binding of other machines.
struct Elsewhere;
impl Transport for Elsewhere {
    fn send<'a>(&'a self, to: &'a ApiRoot, _: Request) -> BoxFuture<'a, Result<Response, Problem>> {
        Box::pin(async move { Ok(Response::new(200, Body::of(Note { text: to.to_string() }))) })
    }
}

#[tokio::test]
async fn who_is_not_in_the_fabric_is_reached_another_way() {
    let place = Place::new("next");
    // Without a manager first.
    let fabric = Fabric::start(place.config("test"));
    let binding = FabricBinding::new(fabric.clone()).with_next(Arc::new(Elsewhere));
    let bindings = Bindings::new().with_remote(Arc::new(binding));
    let far = client(&bindings, "far:1");
    assert_eq!(far.read("1").await.unwrap().text, "http://far:1");
    let _manager = place.manager();
    fabric.joined().await;
    assert_eq!(far.read("1").await.unwrap().text, "http://far:1");
    let _server = ServerProcess::start(&place, "far:1");
    until("it is in the fabric", async || far.read("1").await.unwrap().text == "1").await;
    // What this process serves itself needs no fabric.
    let _near = serve(&fabric, &bindings, "near:1");
    assert_eq!(client(&bindings, "near:1").read("2").await.unwrap().text, "2");
}

#[tokio::test]
async fn a_process_of_no_domain_is_refused() {
    let place = Place::new("domain");
    let stranger = Domain { name: "others".into(), uids: vec![u32::MAX - 7], gids: vec![] };
    let manager = ManagerConfig { domains: vec![stranger], ..place.manager_config() };
    let _manager = tokio::spawn(Manager::bind(manager).unwrap().run());
    let (fabric, bindings) = join(place.config("test"));
    let Standing::Refused(reason) = fabric.joined().await else { panic!("it joined") };
    assert!(reason.contains("security domain"), "{reason}");
    let problem = client(&bindings, "far:1").read("1").await.unwrap_err();
    assert_eq!(problem.transport, Some(TransportFailure::NotSent));
}

#[tokio::test]
async fn a_second_manager_is_told_of_the_first_and_a_dead_ones_socket_is_taken_over() {
    let place = Place::new("second");
    let first = Manager::bind(place.manager_config()).unwrap();
    let error = Manager::bind(place.manager_config()).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    // A manager that is killed does not remove its socket.
    std::mem::forget(first);
    let config = ManagerConfig { domains: vec![], ..place.manager_config() };
    assert_eq!(
        Manager::bind(config).map(|_| ()).unwrap_err().kind(),
        std::io::ErrorKind::InvalidInput
    );
}

//! A producer and its consumer over the local binding.
use martlet_sbi::*;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, martlet_sbi::Compact)]
#[allow(missing_docs)]
pub struct Thing {
    name: String,
}
json_payload!(Thing);

query_params! {
    /// Query of a list.
    pub struct ThingQuery { #[allow(missing_docs)] pub limit: u32 = "limit", }
}

service! {
    /// Things.
    pub Things / ThingsClient / THINGS = "nthings" / "v1" {
        /// Lists things.
        op list "ListThings": GET "/things", path(), query(ThingQuery), returns(Vec<Thing>),
            errors[];
        /// Creates a thing.
        op make "MakeThing": POST "/things/{owner}", path(owner), body(Multipart<Thing>),
            returns(Created<Thing>), errors[403 "FORBIDDEN_THING"];
        /// Removes a thing.
        op remove "RemoveThing": DELETE "/things/{owner}/{name}", path(owner, name), returns(()),
            errors[];
        /// Never responds.
        op hang "Hang": GET "/hang", path(), returns(()), errors[];
        /// Notifies the consumer.
        callback notify "Notify": POST "/note/{who}", path(who), body(Thing), returns(()), errors[];
    }
}

service! {
    /// Notifications.
    pub Notes / NotesClient / NOTES = "nnotes-callback" / "v1" {
        /// Notifies the consumer.
        callback note "Note": POST "/note/{who}", path(who), body(Thing), returns(()), errors[];
    }
}

#[derive(Default)]
struct Shelf(Mutex<Vec<String>>);
impl Shelf {
    fn write(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }
}
impl Things for Shelf {
    async fn list(&self, query: ThingQuery) -> Result<Vec<Thing>, Problem> {
        Ok((0..query.limit.unwrap_or(1)).map(|n| Thing { name: n.to_string() }).collect())
    }
    async fn make(&self, owner: &str, body: Multipart<Thing>) -> Result<Created<Thing>, Problem> {
        if body.json.name == "fire" {
            return Err(Problem::new(403, "FORBIDDEN_THING"));
        }
        self.write(format!("{owner} {:?}", body.find("n1").map(|b| b.len())));
        Ok(Created { location: format!("/nthings/v1/things/{owner}/1"), body: body.json })
    }
    async fn remove(&self, owner: &str, name: &str) -> Result<(), Problem> {
        self.write(format!("removed {owner} {name}"));
        Ok(())
    }
    async fn hang(&self) -> Result<(), Problem> {
        std::future::pending().await
    }
    async fn notify(&self, who: &str, body: Thing) -> Result<(), Problem> {
        self.write(format!("notified {who} {}", body.name));
        Ok(())
    }
}

impl Notes for Shelf {
    async fn note(&self, who: &str, body: Thing) -> Result<(), Problem> {
        self.write(format!("noted {who} {}", body.name));
        Ok(())
    }
}

fn router(shelf: &Arc<Shelf>) -> Router {
    Router::new().serve(THINGS.routes(shelf.clone())).serve(NOTES.routes(shelf.clone()))
}

fn serve() -> (Arc<Shelf>, ThingsClient, Bindings) {
    let shelf = Arc::new(Shelf::default());
    let local = LocalBinding::new();
    local.add("things:80", Arc::new(router(&shelf)));
    let bindings = Bindings::new().with_local(local);
    let policy = CallPolicy { timeout: Duration::from_secs(2), strict: false };
    let peer = Peer::new(Arc::new(bindings.clone()), ApiRoot::http("things:80"), "AMF", policy);
    (shelf, ThingsClient::new(peer), bindings)
}

#[tokio::test]
async fn handlers_get_their_parameters() {
    let (shelf, client, _) = serve();
    assert_eq!(client.list(ThingQuery { limit: Some(3) }).await.unwrap().len(), 3);
    let made = client
        .make(
            "a/b c",
            Multipart::new(Thing { name: "x".into() }).part("n1", content_type::NAS, vec![1, 2]),
        )
        .await
        .unwrap();
    assert_eq!(made.location, "/nthings/v1/things/a/b c/1");
    client.remove("me", "x").await.unwrap();
    let uri = "http://things:80/nthings/v1/note/you";
    client.notify(uri, Thing { name: "x".into() }).await.unwrap();
    assert_eq!(*shelf.0.lock().unwrap(), ["a/b c Some(2)", "removed me x", "notified you x"]);
}

/// A consumer chooses its callback URI, but not which service is requested in the sender's name.
#[tokio::test]
async fn a_notification_reaches_no_other_service_of_this_process() {
    let (shelf, client, _) = serve();
    let notes = NotesClient::new(client.peer().clone());
    let thing = || Thing { name: "x".into() };
    for path in ["nthings/v1/things/me", "nthings/v1/note/me", "nthings/v1/things/me?a=b"] {
        let refused = notes.note(&format!("http://things:80/{path}"), thing()).await.unwrap_err();
        assert_eq!((refused.status(), refused.cause()), (403, "REQUEST_NOT_ALLOWED"), "{path}");
    }
    notes.note("http://things:80/nnotes-callback/v1/note/me", thing()).await.unwrap();
    assert_eq!(*shelf.0.lock().unwrap(), ["noted me x"]);
    // Consumers of other vendors have paths of their own.
    let missing = notes.note("http://things:80/nthings/note", thing()).await.unwrap_err();
    assert_eq!(missing.status(), 404);
}

#[tokio::test]
async fn errors_keep_their_cause() {
    let (_, client, bindings) = serve();
    let problem = client.make("me", Thing { name: "fire".into() }.into()).await.unwrap_err();
    assert_eq!((problem.status(), problem.cause()), (403, "FORBIDDEN_THING"));
    assert_eq!(client.hang().await.unwrap_err().cause(), "TIMED_OUT_REQUEST");
    let nowhere =
        Peer::new(Arc::new(bindings), ApiRoot::http("other:80"), "AMF", CallPolicy::default());
    let problem = ThingsClient::new(nowhere).list(ThingQuery::default()).await.unwrap_err();
    assert_eq!(problem.transport, Some(TransportFailure::NotSent));
}

#[tokio::test]
async fn undeclared_requests_are_rejected() {
    let router = Router::new().serve(THINGS.routes(Arc::new(Shelf::default())));
    for (method, target, status) in [
        (http::Method::GET, "/nothing/v1/things", 404),
        (http::Method::GET, "/nthings/v1", 404),
        (http::Method::PUT, "/nthings/v1/things", 405),
        (http::Method::GET, "/nthings/v1/things?limit=many", 400),
        (http::Method::POST, "/nthings/v1/things/me", 400),
    ] {
        let request = Request {
            operation: None,
            method,
            target: target.into(),
            headers: Default::default(),
            body: Body::empty(),
            deadline: None,
        };
        assert_eq!(router.handle(request).await.status, status, "{target}");
    }
}

#[test]
fn the_table_lists_the_operations() {
    let names: Vec<_> = THINGS::OPERATIONS.iter().map(|o| o.name).collect();
    assert_eq!(names, ["ListThings", "MakeThing", "RemoveThing", "Hang", "Notify"]);
    assert_eq!(THINGS::OPERATIONS[1].errors[0].cause, "FORBIDDEN_THING");
}

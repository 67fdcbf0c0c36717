//! The binding over the fabric's sockets and over unix sockets, and the fallback to TCP.
use martlet_fabric::{Fabric, FabricConfig, Manager, ManagerConfig};
use martlet_sbi::*;
use martlet_sbi_http::*;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, martlet_sbi::Compact)]
#[allow(missing_docs)]
pub struct Note {
    text: String,
}
json_payload!(Note);

service! {
    /// Returns the transport of the request.
    pub Where / WhereClient / WHERE = "nwhere" / "v1" {
        /// Returns it.
        op here "Here": GET "/here", path(), returns(Note), errors[];
    }
}

struct Server(&'static str);
impl Where for Server {
    async fn here(&self) -> Result<Note, Problem> {
        Ok(Note { text: self.0.into() })
    }
}

fn router(over: &'static str) -> Arc<Router> {
    Arc::new(Router::new().serve(WHERE.routes(Arc::new(Server(over)))))
}

async fn here(http: &HttpBinding, authority: &str) -> Result<String, Problem> {
    let transport = Arc::new(Bindings::new().with_remote(Arc::new(http.clone())));
    let peer = Peer::new(transport, ApiRoot::http(authority), "AMF", CallPolicy::default());
    WhereClient::new(peer).here().await.map(|note| note.text)
}

/// A temporary folder, removed on drop.
struct TestDir(PathBuf);
impl TestDir {
    fn new(name: &str) -> TestDir {
        let folder =
            std::env::temp_dir().join(format!("martlet-http-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        TestDir(folder)
    }
    fn fabric(&self, name: &str) -> Fabric {
        Fabric::start(FabricConfig {
            socket: self.0.join("fabric.sock"),
            name: name.into(),
            ..Default::default()
        })
    }
}
impl Drop for TestDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn the_fabric_is_preferred_over_tcp() {
    let folder = TestDir::new("fabric");
    let manager =
        Manager::bind(ManagerConfig { socket: folder.0.join("fabric.sock"), ..Default::default() })
            .unwrap();
    let manager = tokio::spawn(manager.run());
    let (near, far) = (folder.fabric("near"), folder.fabric("far"));
    near.joined().await;
    far.joined().await;
    let http = HttpBinding::new(ClientLimits::default())
        .over(Arc::new(OverFabric::new(near.clone()).with_next(Arc::new(Tcp))));
    // One authority on both transports, another one on TCP only.
    let tcp =
        HttpServer::bind("127.0.0.1:0".parse().unwrap(), router("tcp"), ServerLimits::default())
            .await
            .unwrap();
    let both = tcp.local_addr().unwrap();
    tokio::spawn(tcp.run());
    let other =
        HttpServer::bind("127.0.0.1:0".parse().unwrap(), router("other"), ServerLimits::default());
    let other = other.await.unwrap();
    let only_tcp = other.local_addr().unwrap();
    tokio::spawn(other.run());
    let listener = far.listen(both).await.unwrap();
    let server =
        tokio::spawn(HttpServer::over(listener, router("fabric"), ServerLimits::default()).run());
    assert_eq!(here(&http, &both.to_string()).await.unwrap(), "fabric");
    assert_eq!(here(&http, &only_tcp.to_string()).await.unwrap(), "other");
    // Host names use TCP.
    assert_eq!(here(&http, &format!("localhost:{}", only_tcp.port())).await.unwrap(), "other");
    let alone =
        HttpBinding::new(ClientLimits::default()).over(Arc::new(OverFabric::new(near.clone())));
    let problem = here(&alone, &only_tcp.to_string()).await.unwrap_err();
    assert_eq!(problem.transport, Some(TransportFailure::NotSent));
    // A function that has left the fabric is reached over TCP.
    server.abort();
    let _ = server.await;
    assert_eq!(here(&http, &both.to_string()).await.unwrap(), "tcp");
    manager.abort();
    let _ = manager.await;
    assert_eq!(here(&http, &both.to_string()).await.unwrap(), "tcp");
}

#[tokio::test]
async fn an_unresponsive_manager_leaves_time_for_tcp() {
    use nix::sys::socket::{
        AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket,
    };
    use std::os::fd::AsRawFd;
    let folder = TestDir::new("silent");
    let listener =
        socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).unwrap();
    bind(listener.as_raw_fd(), &UnixAddr::new(&folder.0.join("fabric.sock")).unwrap()).unwrap();
    listen(&listener, Backlog::new(8).unwrap()).unwrap();
    let dial = OverFabric::new(folder.fabric("near")).with_next(Arc::new(Tcp));
    let http = HttpBinding::new(ClientLimits::default()).over(Arc::new(dial));
    let tcp =
        HttpServer::bind("127.0.0.1:0".parse().unwrap(), router("tcp"), ServerLimits::default())
            .await
            .unwrap();
    let address = tcp.local_addr().unwrap();
    tokio::spawn(tcp.run());
    let started = Instant::now();
    assert_eq!(here(&http, &address.to_string()).await.unwrap(), "tcp");
    // Not what is left of the call's time limit of 5 s.
    assert!(started.elapsed() < Duration::from_millis(4500));
}

#[tokio::test]
async fn a_unix_socket_serves_all_authorities() {
    let folder = TestDir::new("unix");
    let path = folder.0.join("http.sock");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    tokio::spawn(HttpServer::over(listener, router("unix"), ServerLimits::default()).run());
    let http = HttpBinding::new(ClientLimits::default()).over(Arc::new(Unix(path)));
    assert_eq!(here(&http, "nowhere:1").await.unwrap(), "unix");
}

#[tokio::test]
async fn each_authority_has_a_socket_of_its_own() {
    let folder = TestDir::new("sockets");
    let sockets = LocalSockets::new(folder.0.join("sbi"), Vec::new());
    let server = async |at, name| {
        let listener = sockets.bind(at).await.unwrap();
        HttpServer::over(listener, router(name), ServerLimits::default())
    };
    let (one, two) = ("127.0.0.11:7777", "[::1]:7777");
    let first = tokio::spawn(server(one, "one").await.run());
    tokio::spawn(server(two, "two").await.run());
    let http = HttpBinding::new(ClientLimits::default()).over(Arc::new(sockets.clone()));
    assert_eq!(here(&http, one).await.unwrap(), "one");
    assert_eq!(here(&http, two).await.unwrap(), "two");
    let error = sockets.bind(one).await.unwrap_err().to_string();
    assert!(error.contains("in use"), "{error}");
    for elsewhere in ["127.0.0.12:7777", "localhost:7777", "../11:7777"] {
        let problem = here(&http, elsewhere).await.unwrap_err();
        assert_eq!(problem.transport, Some(TransportFailure::NotSent), "{elsewhere}: {problem}");
    }

    // A socket is removed with its listener; one that is left behind is replaced.
    first.abort();
    let _ = first.await;
    let left = sockets.path(one).unwrap();
    assert!(!left.exists());
    drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
    assert!(left.exists());
    tokio::spawn(server(one, "again").await.run());
    assert_eq!(here(&http, one).await.unwrap(), "again");
}

#[tokio::test]
async fn a_folder_that_others_can_enter_has_no_sockets() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TestDir::new("open-sockets");
    let sockets = LocalSockets::new(folder.0.clone(), Vec::new());
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = sockets.bind("127.0.0.11:7777").await.unwrap_err().to_string();
    assert!(error.contains("mode 755"), "{error}");
}

#[tokio::test]
async fn a_listener_of_another_user_is_not_trusted() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("SKIPPED: only root starts programs of another user");
    }
    let folder = TestDir::new("false-socket");
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    let sockets = LocalSockets::new(folder.0.clone(), Vec::new());
    let path = sockets.path("127.0.0.11:7777").unwrap();
    let program = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind({:?})\ns.listen()\n\
         print('ready', flush=True)\ns.accept()\n",
        path.display().to_string()
    );
    let mut command = std::process::Command::new("python3");
    command.args(["-c", &program]).uid(65534).gid(65534).stdout(std::process::Stdio::piped());
    let mut other = command.spawn().unwrap();
    let mut line = String::new();
    let output = other.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
    assert_eq!(line, "ready\n");
    let answer = sockets.dial("127.0.0.11:7777").await;
    let error = answer.err().unwrap().to_string();
    assert!(error.contains("untrusted user 65534"), "{error}");
    other.wait().unwrap();
}

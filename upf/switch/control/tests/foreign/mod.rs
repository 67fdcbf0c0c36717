//! A server of another vendor in front of ours: fields of packets have other numbers, and its
//! program has a digest.
use martlet_switch_control::p4runtime::messages as m;
use martlet_switch_control::p4runtime::service::p4_runtime_client::P4RuntimeClient;
use martlet_switch_control::p4runtime::service::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, mpsc};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::Channel;
use tonic::{Request, Response, Status, Streaming};

/// The ID of its digest, and of the list that it sends.
pub const DIGEST: u32 = 0x1800_0042;
pub const LIST: u64 = 77;
/// Added to the numbers of fields of packets.
const OTHER: u32 = 6;

/// What a list of the digest contains: an address and a port.
pub fn learned() -> Vec<m::Data> {
    let bits = |bytes: &[u8]| m::Data { data: Some(m::data::Data::Bits(bytes.to_vec())) };
    let members = vec![bits(&[2, 0, 0, 0, 0, 9]), bits(&[3])];
    vec![m::Data { data: Some(m::data::Data::Struct(m::StructLike { members })) }]
}

#[derive(Default)]
pub struct Digests {
    pub entry: Option<m::DigestEntry>,
    pub acks: Vec<m::DigestListAck>,
}

pub struct Foreign {
    inner: P4RuntimeClient<Channel>,
    pub digests: Arc<Mutex<Digests>>,
    /// Has it send a list.
    pub learned: Arc<Notify>,
}

impl Foreign {
    pub async fn to(inner: SocketAddr) -> Foreign {
        let inner = P4RuntimeClient::connect(format!("http://{inner}")).await.expect("connected");
        Foreign { inner, digests: Arc::default(), learned: Arc::default() }
    }

    pub async fn serve(self) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(
            tonic::transport::Server::builder()
                .add_service(P4RuntimeServer::new(self))
                .serve_with_incoming(TcpListenerStream::new(listener)),
        );
        address
    }

    fn digest(entity: Option<&m::Entity>) -> Option<m::DigestEntry> {
        match entity?.entity.as_ref()? {
            m::entity::Entity::Digest(entry) => Some(*entry),
            _ => None,
        }
    }
}

fn renumber(metadata: &mut [m::PacketMetadata], change: impl Fn(u32) -> u32) {
    metadata.iter_mut().for_each(|field| field.metadata_id = change(field.metadata_id));
}

#[tonic::async_trait]
impl P4Runtime for Foreign {
    type ReadStream = ReceiverStream<Result<m::ReadResponse, Status>>;
    type StreamChannelStream = ReceiverStream<Result<m::StreamMessageResponse, Status>>;

    async fn write(
        &self,
        request: Request<m::WriteRequest>,
    ) -> Result<Response<m::WriteResponse>, Status> {
        let request = request.into_inner();
        let update = request.updates.first();
        let Some(entry) = Foreign::digest(update.and_then(|update| update.entity.as_ref())) else {
            return self.inner.clone().write(request).await;
        };
        if entry.digest_id != DIGEST {
            return Err(Status::not_found("no such digest"));
        }
        let is_deletion = update.is_some_and(|update| update.r#type == 3);
        self.digests.lock().unwrap().entry = Some(entry).filter(|_| !is_deletion);
        Ok(Response::new(m::WriteResponse {}))
    }

    async fn read(
        &self,
        request: Request<m::ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        let request = request.into_inner();
        let (sender, receiver) = mpsc::channel(16);
        if let Some(wanted) = Foreign::digest(request.entities.first()) {
            let entry = self.digests.lock().unwrap().entry;
            let entry = entry.filter(|entry| [0, entry.digest_id].contains(&wanted.digest_id));
            let of = |entry| m::Entity { entity: Some(m::entity::Entity::Digest(entry)) };
            let entities = entry.into_iter().map(of).collect();
            let _ = sender.send(Ok(m::ReadResponse { entities })).await;
        } else {
            let mut inner = self.inner.clone().read(request).await?.into_inner();
            tokio::spawn(async move {
                while let Some(message) = inner.message().await.transpose() {
                    if sender.send(message).await.is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<m::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<m::SetForwardingPipelineConfigResponse>, Status> {
        self.inner.clone().set_forwarding_pipeline_config(request.into_inner()).await
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<m::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<m::GetForwardingPipelineConfigResponse>, Status> {
        let response =
            self.inner.clone().get_forwarding_pipeline_config(request.into_inner()).await?;
        let mut response = response.into_inner();
        let info = response.config.as_mut().and_then(|config| config.p4info.as_mut());
        let info = info.expect("our server has P4Info");
        for header in &mut info.controller_packet_metadata {
            header.metadata.iter_mut().for_each(|field| field.id += OTHER);
        }
        let preamble =
            m::Preamble { id: DIGEST, name: "UpfIngress.learn".into(), alias: "learn".into() };
        info.digests.push(m::InfoDigest { preamble: Some(preamble) });
        Ok(Response::new(response))
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<m::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let mut incoming = request.into_inner();
        let (to_inner, requests) = mpsc::channel(16);
        let digests = self.digests.clone();
        tokio::spawn(async move {
            while let Ok(Some(mut message)) = incoming.message().await {
                match &mut message.update {
                    Some(m::stream_request::Update::DigestAck(ack)) => {
                        digests.lock().unwrap().acks.push(*ack);
                        continue;
                    }
                    Some(m::stream_request::Update::Packet(packet)) => {
                        renumber(&mut packet.metadata, |id| id - OTHER);
                    }
                    _ => {}
                }
                if to_inner.send(message).await.is_err() {
                    return;
                }
            }
        });
        let inner = self.inner.clone().stream_channel(ReceiverStream::new(requests)).await?;
        let mut inner = inner.into_inner();
        let (sender, receiver) = mpsc::channel(16);
        let (digests, learned_one) = (self.digests.clone(), self.learned.clone());
        tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    message = inner.message() => match message.transpose() {
                        Some(message) => message,
                        None => return,
                    },
                    () = learned_one.notified() => {
                        let Some(entry) = digests.lock().unwrap().entry else { continue };
                        let list = m::DigestList {
                            digest_id: entry.digest_id,
                            list_id: LIST,
                            data: learned(),
                            timestamp: 0,
                        };
                        let update = Some(m::stream_response::Update::Digest(list));
                        Ok(m::StreamMessageResponse { update })
                    }
                };
                let message = message.map(|mut message| {
                    if let Some(m::stream_response::Update::Packet(packet)) = &mut message.update {
                        renumber(&mut packet.metadata, |id| id + OTHER);
                    }
                    message
                });
                if sender.send(message).await.is_err() {
                    return;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn capabilities(
        &self,
        request: Request<m::CapabilitiesRequest>,
    ) -> Result<Response<m::CapabilitiesResponse>, Status> {
        self.inner.clone().capabilities(request.into_inner()).await
    }
}

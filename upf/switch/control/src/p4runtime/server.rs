//! The server: arbitration between controllers, writes, reads, packets.
use super::arbitration::{Arbitration, Controller};
use super::convert;
use super::messages::{self as m, stream_error, stream_request, stream_response};
use super::service::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use super::status::{batch_status, status};
use crate::counters::Counters;
use crate::error::BatchError;
use crate::journal::Journal;
use crate::model::Update;
use crate::tables::Tables;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// The supported version of P4Runtime.
pub const VERSION: &str = "1.4.1";

/// Queue length per controller; messages beyond it are dropped.
pub(super) const QUEUE: usize = 1024;
/// Controllers at a time.
const CONTROLLERS: usize = 64;
/// Entities per message of a read response.
const ENTITIES_PER_MESSAGE: usize = 1024;
/// Why an entry or an acknowledgement of a digest is refused.
pub(super) const NO_DIGESTS: &str = "digests are not supported: the program of the switch has none";
/// Maximum size of a request: about 100,000 updates.
const MAX_REQUEST: usize = 64 << 20;

/// Serves one switch.
pub struct Server {
    pub(super) tables: Arc<Tables>,
    pub(super) counters: Arc<Counters>,
    pub(super) journal: Option<Arc<Journal>>,
    /// The initial entries: the path of packets without rules.
    pub(super) base: Vec<Update>,
    pub(super) device: u64,
    pub(super) cookie: Mutex<u64>,
    pub(super) arbitration: Mutex<Arbitration>,
}

/// The handle that tonic calls.
#[derive(Clone)]
pub struct Shared(Arc<Server>);

impl Server {
    /// A server for a switch with this device number.
    pub fn new(
        tables: Arc<Tables>,
        counters: Arc<Counters>,
        journal: Option<Arc<Journal>>,
        base: Vec<Update>,
        device: u64,
    ) -> Server {
        Server {
            tables,
            counters,
            journal,
            base,
            device,
            cookie: Mutex::default(),
            arbitration: Mutex::default(),
        }
    }

    /// The service, and the task that forwards packets to the primary controller when the doorbell
    /// is signalled. The task runs until it is dropped.
    pub fn service(
        self,
        wakeup: Arc<Notify>,
    ) -> (P4RuntimeServer<Shared>, impl Future<Output = ()>) {
        let server = Arc::new(self);
        let service =
            P4RuntimeServer::new(Shared(server.clone())).max_decoding_message_size(MAX_REQUEST);
        (service, async move { server.packets_in(&wakeup).await })
    }

    /// Writes the initial entries and those of the journal.
    pub fn begin(&self, updates: Vec<m::Update>) -> Result<(), BatchError> {
        self.tables.write(&self.base)?;
        let base = |update: &m::Update| match self.update(update) {
            Ok(Some(update)) => self.base.iter().any(|base| {
                base.entry.table == update.entry.table && base.entry.key == update.entry.key
            }),
            _ => false,
        };
        let mut updates: Vec<m::Update> = updates;
        for update in updates.iter_mut().filter(|update| base(update)) {
            update.r#type = m::UpdateType::Modify as i32;
        }
        let errors = self.write_all(&m::WriteRequest { updates, ..Default::default() });
        if errors.is_empty() { Ok(()) } else { Err(BatchError(errors)) }
    }

    pub(super) fn arbitration(&self) -> MutexGuard<'_, Arbitration> {
        self.arbitration.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[allow(clippy::result_large_err)]
    pub(super) fn check_device(&self, device: u64) -> Result<(), Status> {
        match device == self.device {
            true => Ok(()),
            false => Err(Status::not_found(format!(
                "device {device} does not exist: this switch is device {}",
                self.device
            ))),
        }
    }
}

#[tonic::async_trait]
impl P4Runtime for Shared {
    type ReadStream = ReceiverStream<Result<m::ReadResponse, Status>>;
    type StreamChannelStream = ReceiverStream<Result<m::StreamMessageResponse, Status>>;

    async fn write(
        &self,
        request: Request<m::WriteRequest>,
    ) -> Result<Response<m::WriteResponse>, Status> {
        let request = request.into_inner();
        let server = self.0.clone();
        server.check_device(request.device_id)?;
        server.arbitration().check_primary(request.election_id, &request.role)?;
        if !(0..=2).contains(&request.atomicity) {
            return Err(Status::invalid_argument("unknown atomicity: valid are 0 to 2"));
        }
        // A commit waits for packets in flight, so it does not run on the runtime's thread.
        let outcome = tokio::task::spawn_blocking(move || {
            let errors = server.write_all(&request);
            if let Some(journal) = &server.journal {
                let failed: std::collections::BTreeSet<usize> =
                    errors.iter().map(|(n, _)| *n).collect();
                if request.atomicity == 0 || failed.is_empty() {
                    let written = request
                        .updates
                        .iter()
                        .enumerate()
                        .filter(|(n, _)| !failed.contains(n))
                        .map(|(_, update)| update);
                    if journal.append(written) {
                        // The response does not wait for it.
                        let journal = journal.clone();
                        tokio::task::spawn_blocking(move || journal.compact());
                    }
                }
            }
            match errors.is_empty() {
                true => Ok(()),
                false => Err(batch_status(request.updates.len(), &errors, request.atomicity != 0)),
            }
        });
        outcome.await.map_err(|error| Status::internal(error.to_string()))??;
        Ok(Response::new(m::WriteResponse {}))
    }

    async fn read(
        &self,
        request: Request<m::ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        let request = request.into_inner();
        self.0.check_device(request.device_id)?;
        let mut found = Vec::new();
        for entity in &request.entities {
            match &entity.entity {
                Some(entity) => self.0.read_entity(entity, &mut found).map_err(status)?,
                None => {
                    return Err(Status::unimplemented(
                        "this entity is not supported: use table entries, meters or counters",
                    ));
                }
            }
        }
        let (sender, receiver) = mpsc::channel(4);
        tokio::spawn(async move {
            let mut found = found.into_iter().peekable();
            while found.peek().is_some() {
                let entities = found.by_ref().take(ENTITIES_PER_MESSAGE).collect();
                if sender.send(Ok(m::ReadResponse { entities })).await.is_err() {
                    return;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<m::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<m::SetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        let server = &self.0;
        server.check_device(request.device_id)?;
        server.arbitration().check_primary(request.election_id, &request.role)?;
        if !(1..=5).contains(&request.action) {
            return Err(Status::invalid_argument("unknown action: valid are 1 to 5"));
        }
        if let Some(config) = &request.config {
            let own = convert::info_message(&server.tables.program().info, "upf");
            let names = |info: &m::P4Info| {
                let tables = info.tables.iter().map(|table| {
                    (table.preamble.clone(), table.match_fields.clone(), table.action_refs.clone())
                });
                (tables.collect::<Vec<_>>(), info.actions.clone())
            };
            if config.p4info.as_ref().is_some_and(|info| names(info) != names(&own)) {
                return Err(Status::unimplemented(
                    "the switch runs a fixed program, the user plane function: this P4Info is of \
                     another one",
                ));
            }
            // 1 only verifies; 5 preserves the entries.
            if matches!(request.action, 3 | 4) {
                let clearing = server.clone();
                let cleared = tokio::task::spawn_blocking(move || {
                    clearing.tables.clear().map_err(status)?;
                    clearing
                        .tables
                        .write(&clearing.base)
                        .map_err(|error| Status::internal(error.to_string()))
                });
                cleared.await.map_err(|error| Status::internal(error.to_string()))??;
                if let Some(journal) = &server.journal {
                    journal.clear();
                }
            }
            if request.action != 1 {
                *server.cookie.lock().unwrap_or_else(PoisonError::into_inner) =
                    config.cookie.unwrap_or_default().cookie;
            }
        }
        Ok(Response::new(m::SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<m::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<m::GetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        let server = &self.0;
        server.check_device(request.device_id)?;
        let program = server.tables.program();
        let cookie = Some(m::Cookie {
            cookie: *server.cookie.lock().unwrap_or_else(PoisonError::into_inner),
        });
        let p4info = matches!(request.response_type, 0 | 2)
            .then(|| convert::info_message(&program.info, "upf"));
        let device = if matches!(request.response_type, 0 | 3) {
            program.spec.to_string().into_bytes()
        } else {
            Vec::new()
        };
        let config = Some(m::ForwardingPipelineConfig { p4info, p4_device_config: device, cookie });
        Ok(Response::new(m::GetForwardingPipelineConfigResponse { config }))
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<m::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let server = self.0.clone();
        let mut incoming = request.into_inner();
        let (sender, receiver) = mpsc::channel(QUEUE);
        let id = {
            let mut arbitration = server.arbitration();
            if arbitration.controllers.len() >= CONTROLLERS {
                return Err(Status::resource_exhausted(format!(
                    "at most {CONTROLLERS} controllers may connect"
                )));
            }
            arbitration.next += 1;
            let id = arbitration.next;
            arbitration
                .controllers
                .insert(id, Controller { election: None, sender: sender.clone() });
            id
        };
        tokio::spawn(async move {
            while let Ok(Some(message)) = incoming.message().await {
                let refused = match &message.update {
                    Some(stream_request::Update::Arbitration(update)) => server
                        .check_device(update.device_id)
                        .and_then(|()| server.arbitration().arbitrate(id, update))
                        .err(),
                    Some(stream_request::Update::Packet(packet)) => {
                        if let Err(error) = server.packet_out(id, packet) {
                            let packet_out = m::PacketOutError { packet_out: None };
                            let error = m::StreamError {
                                canonical_code: error.code as i32,
                                message: error.message,
                                details: Some(stream_error::Details::PacketOut(packet_out)),
                            };
                            let update = Some(stream_response::Update::Error(error));
                            let _ = sender.try_send(Ok(m::StreamMessageResponse { update }));
                        }
                        None
                    }
                    Some(stream_request::Update::DigestAck(ack)) => {
                        let refused = m::DigestListAckError { digest_list_ack: Some(*ack) };
                        let error = m::StreamError {
                            canonical_code: tonic::Code::Unimplemented as i32,
                            message: NO_DIGESTS.into(),
                            details: Some(stream_error::Details::DigestListAck(refused)),
                        };
                        let update = Some(stream_response::Update::Error(error));
                        let _ = sender.try_send(Ok(m::StreamMessageResponse { update }));
                        None
                    }
                    None => None,
                };
                if let Some(status) = refused {
                    let _ = sender.send(Err(status)).await;
                    break;
                }
            }
            let mut arbitration = server.arbitration();
            arbitration.controllers.remove(&id);
            arbitration.announce(server.device);
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn capabilities(
        &self,
        _: Request<m::CapabilitiesRequest>,
    ) -> Result<Response<m::CapabilitiesResponse>, Status> {
        Ok(Response::new(m::CapabilitiesResponse { p4runtime_api_version: VERSION.into() }))
    }
}

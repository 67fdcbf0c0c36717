//! The P4Runtime client of RPI and the UPF.
use crate::model::{MeterSetting, Operation, TableEntry, Update};
use crate::p4runtime::convert;
use crate::p4runtime::messages::{self as m, entity, stream_request, stream_response};
use crate::p4runtime::resolve::{self, Difference};
use crate::p4runtime::service::p4_runtime_client::P4RuntimeClient;
use crate::p4runtime::{KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_PROBES};
use martlet_p4c_swx::Program;
use prost::Message;
use std::net::SocketAddr;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};

mod stream;

pub use stream::Event;

/// Errors of a controller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// No switch responds.
    #[error("no switch responds at {0}: start one with martlet switch run")]
    Absent(SocketAddr),
    /// Another controller is primary.
    #[error(
        "another controller is primary with election ID {0}: use --election {next} to replace it",
        next = .0 + 1
    )]
    NotPrimary(u64),
    /// The program of the switch lacks what this controller writes.
    #[error(
        "the switch runs another P4 program: {0}. Load upf_pna.p4 of this version, or the one for \
         the switch's architecture"
    )]
    OtherProgram(Difference),
    /// Updates were rejected: the index of each, from 0, and the cause.
    #[error("{}", .0.first().map_or("the write was rejected", |(_, why)| why))]
    Refused(Vec<(usize, String)>),
    /// The request failed.
    #[error("{0}")]
    Failed(String),
}

/// Flow-control window in bytes: many entries and counters arrive in one response.
const WINDOW: u32 = 4 << 20;

/// Adds the token to each request.
#[derive(Clone)]
struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// A connection to a switch.
pub struct Client {
    rpc: P4RuntimeClient<InterceptedService<Channel, Bearer>>,
    program: Program,
    device: u64,
    election: m::Uint128,
    names: stream::Names,
    stream: Option<(mpsc::Sender<m::StreamMessageRequest>, Streaming<m::StreamMessageResponse>)>,
}

fn failed(status: tonic::Status) -> ClientError {
    ClientError::Failed(status.message().to_owned())
}

/// The first refused update, from 0, and why, where the details exceed the size of a response
/// header.
fn one_of_many(message: &str) -> Option<(usize, String)> {
    let (number, why) = message.strip_prefix("update ")?.split_once(": ")?;
    Some((number.parse::<usize>().ok()?.checked_sub(1)?, why.to_owned()))
}

impl Client {
    /// Connects for reading. The switch may have any server and architecture: tables, actions,
    /// counters and meters are found by their names in its P4Info, and have its IDs. For writing,
    /// see [`Client::become_primary`].
    ///
    /// # Errors
    /// [`ClientError::OtherProgram`] if the program lacks one of them, or has it with other fields.
    pub async fn connect(address: SocketAddr, device: u64) -> Result<Client, ClientError> {
        Client::connect_with(address, device, None).await
    }

    /// The same with the token of a switch that requires one.
    pub async fn connect_with(
        address: SocketAddr,
        device: u64,
        token: Option<&str>,
    ) -> Result<Client, ClientError> {
        let value = token.map(|token| format!("Bearer {}", token.trim()).parse()).transpose();
        let bearer = value.map(Bearer).map_err(|_| {
            ClientError::Failed("the token of the switch is not text in ASCII".into())
        })?;
        let endpoint = Channel::from_shared(format!("http://{address}"))
            .map_err(|error| ClientError::Failed(error.to_string()))?
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .tcp_keepalive(Some(KEEPALIVE_IDLE))
            .tcp_keepalive_interval(Some(KEEPALIVE_INTERVAL))
            .tcp_keepalive_retries(Some(KEEPALIVE_PROBES));
        let channel = endpoint.connect().await.map_err(|_| ClientError::Absent(address))?;
        let mut rpc = P4RuntimeClient::with_interceptor(channel, bearer)
            .max_decoding_message_size(256 << 20)
            .max_encoding_message_size(64 << 20);
        let mut program = martlet_p4c_swx::compile(crate::UPF)
            .map_err(|error| ClientError::Failed(format!("upf_pna.p4:{error}")))?;
        let request = m::GetForwardingPipelineConfigRequest { device_id: device, response_type: 2 };
        let config =
            rpc.get_forwarding_pipeline_config(request).await.map_err(failed)?.into_inner().config;
        let theirs = config.and_then(|config| config.p4info).unwrap_or_default();
        resolve::resolve(&mut program.info, &theirs).map_err(ClientError::OtherProgram)?;
        let (election, names) = (m::Uint128::default(), stream::Names::of(&theirs));
        Ok(Client { rpc, program, device, election, names, stream: None })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Becomes the primary controller, with this election ID, or, without one, where there is no
    /// primary.
    pub async fn become_primary(&mut self, election: Option<u64>) -> Result<(), ClientError> {
        let mut requested = election.unwrap_or(1);
        // Our previous stream may still have this election ID for a moment.
        let mut retries = if self.stream.take().is_some() { 100 } else { 0 };
        // Two rounds: the first one returns the highest election ID so far.
        let mut rounds = 0;
        while rounds < 2 {
            let (sender, receiver) = mpsc::channel(16);
            let arbitration = m::MasterArbitrationUpdate {
                device_id: self.device,
                role: None,
                election_id: Some(m::Uint128 { high: 0, low: requested }),
                status: None,
            };
            let update = Some(stream_request::Update::Arbitration(arbitration));
            let _ = sender.send(m::StreamMessageRequest { update }).await;
            let mut stream = self
                .rpc
                .stream_channel(ReceiverStream::new(receiver))
                .await
                .map_err(failed)?
                .into_inner();
            let response = match stream.message().await {
                Ok(response) => response,
                Err(status) if status.code() == tonic::Code::InvalidArgument && retries > 0 => {
                    retries -= 1;
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                    continue;
                }
                // Another controller has this election ID: try the next higher one.
                Err(status) if status.code() == tonic::Code::InvalidArgument => {
                    return Err(ClientError::NotPrimary(requested));
                }
                Err(status) => return Err(failed(status)),
            };
            rounds += 1;
            let Some(stream_response::Update::Arbitration(response)) =
                response.and_then(|response| response.update)
            else {
                return Err(ClientError::Failed(
                    "the switch did not respond to the arbitration".into(),
                ));
            };
            let highest = response.election_id.unwrap_or_default();
            match response.status.map_or(0, |status| status.code) {
                0 => {
                    self.election = highest;
                    self.stream = Some((sender, stream));
                    return Ok(());
                }
                // There is no primary: the next election ID becomes it.
                5 if election.is_none() => requested = highest.low + 1,
                _ => return Err(ClientError::NotPrimary(highest.low)),
            }
        }
        Err(ClientError::NotPrimary(requested))
    }

    /// Writes entries, atomically with respect to packets.
    pub async fn write(&mut self, updates: &[Update]) -> Result<(), ClientError> {
        let info = &self.program.info;
        let message = |update: &Update| {
            let mut entry = convert::entry_message(info, &update.entry);
            let kind = match update.operation {
                Operation::Insert => m::UpdateType::Insert,
                Operation::Modify => m::UpdateType::Modify,
                Operation::Delete => {
                    entry.action = None;
                    m::UpdateType::Delete
                }
            };
            m::Update {
                r#type: kind as i32,
                entity: Some(m::Entity { entity: Some(entity::Entity::Table(entry)) }),
            }
        };
        self.send(updates.iter().map(message).collect(), 2).await
    }

    /// Sets a meter: rate in bytes per second and burst in bytes; `None` is unlimited.
    pub async fn set_meter(
        &mut self,
        index: u32,
        rate: Option<(u64, u64)>,
    ) -> Result<(), ClientError> {
        let meter_id = self.program.info.meters[0].id;
        let config = rate.map(|(rate, burst)| m::MeterConfig {
            cir: rate as i64,
            cburst: burst as i64,
            pir: rate as i64,
            pburst: burst as i64,
        });
        let entry =
            m::MeterEntry { meter_id, index: Some(m::Index { index: index.into() }), config };
        let entity = Some(m::Entity { entity: Some(entity::Entity::Meter(entry)) });
        self.send(vec![m::Update { r#type: m::UpdateType::Modify as i32, entity }], 0).await
    }

    /// Sets meters: index of the array, index in it, and the values of [`Client::set_meter`].
    pub async fn set_meters(&mut self, meters: &[MeterSetting]) -> Result<(), ClientError> {
        let of = |(array, index, rate): &MeterSetting| {
            let meter_id = self.program.info.meters[*array].id;
            let config = rate.map(|(rate, burst)| m::MeterConfig {
                cir: rate as i64,
                cburst: burst as i64,
                pir: rate as i64,
                pburst: burst as i64,
            });
            let entry = m::MeterEntry {
                meter_id,
                index: Some(m::Index { index: (*index).into() }),
                config,
            };
            let entity = Some(m::Entity { entity: Some(entity::Entity::Meter(entry)) });
            m::Update { r#type: m::UpdateType::Modify as i32, entity }
        };
        let updates = meters.iter().map(of).collect();
        self.send(updates, 0).await
    }

    async fn send(&mut self, updates: Vec<m::Update>, atomicity: i32) -> Result<(), ClientError> {
        let request = m::WriteRequest {
            device_id: self.device,
            election_id: Some(self.election),
            updates,
            atomicity,
            role: String::new(),
        };
        match self.rpc.write(request).await {
            Ok(_) => Ok(()),
            Err(status) => {
                let details = m::Status::decode(status.details()).unwrap_or_default().details;
                let errors = details.iter().enumerate().filter_map(|(n, any)| {
                    let error = m::Error::decode(&any.value[..]).ok()?;
                    // An update that was aborted because of another one has no error of its own.
                    (error.canonical_code != 0 && error.canonical_code != 10)
                        .then_some((n, error.message))
                });
                let errors: Vec<_> = errors.collect();
                Err(match (errors.is_empty(), one_of_many(status.message())) {
                    (false, _) => ClientError::Refused(errors),
                    (true, Some(first)) => ClientError::Refused(vec![first]),
                    (true, None) => failed(status),
                })
            }
        }
    }

    async fn read(&mut self, entity: entity::Entity) -> Result<Vec<entity::Entity>, ClientError> {
        let entities = vec![m::Entity { entity: Some(entity) }];
        let request = m::ReadRequest { device_id: self.device, entities, role: String::new() };
        let mut stream = self.rpc.read(request).await.map_err(failed)?.into_inner();
        let mut found = Vec::new();
        while let Some(response) = stream.message().await.map_err(failed)? {
            found.extend(response.entities.into_iter().filter_map(|entity| entity.entity));
        }
        Ok(found)
    }

    /// All entries of a table, or of all tables.
    pub async fn entries(&mut self, table: Option<&str>) -> Result<Vec<TableEntry>, ClientError> {
        let table_id = match table {
            Some(name) => self
                .program
                .info
                .tables
                .iter()
                .find(|table| table.alias == name)
                .map_or(0, |table| table.id),
            None => 0,
        };
        let found = self
            .read(entity::Entity::Table(m::TableEntry { table_id, ..Default::default() }))
            .await?;
        let entries = found.into_iter().filter_map(|entity| match entity {
            entity::Entity::Table(entry) => convert::entry(&self.program.info, &entry, false).ok(),
            _ => None,
        });
        Ok(entries.collect())
    }

    /// Packets and bytes of some counters of `rules`, in the order of the request.
    pub async fn counts(&mut self, indexes: &[u32]) -> Result<Vec<(u64, u64)>, ClientError> {
        if indexes.is_empty() {
            return Ok(Vec::new());
        }
        let counter_id = self.program.info.counters[0].id;
        let request_of = |index: &u32| {
            let index = Some(m::Index { index: (*index).into() });
            let entry = m::CounterEntry { counter_id, index, data: None };
            m::Entity { entity: Some(entity::Entity::Counter(entry)) }
        };
        let entities = indexes.iter().map(request_of).collect();
        let request = m::ReadRequest { device_id: self.device, entities, role: String::new() };
        let mut stream = self.rpc.read(request).await.map_err(failed)?.into_inner();
        let mut counts = Vec::with_capacity(indexes.len());
        while let Some(response) = stream.message().await.map_err(failed)? {
            for entity in response.entities {
                if let Some(entity::Entity::Counter(entry)) = entity.entity {
                    let data = entry.data.unwrap_or_default();
                    counts.push((data.packet_count as u64, data.byte_count as u64));
                }
            }
        }
        match counts.len() == indexes.len() {
            true => Ok(counts),
            false => {
                Err(ClientError::Failed("the switch did not return all requested counters".into()))
            }
        }
    }

    /// Packets and bytes of a counter of `rules`, or of all that are not zero.
    pub async fn counters(
        &mut self,
        name: &str,
        index: Option<u32>,
    ) -> Result<Vec<(u32, u64, u64)>, ClientError> {
        let Some(counter) = self.program.info.counters.iter().find(|counter| counter.alias == name)
        else {
            return Err(ClientError::Failed(format!("counter {name:?} does not exist")));
        };
        let requested = m::CounterEntry {
            counter_id: counter.id,
            index: index.map(|index| m::Index { index: index.into() }),
            data: None,
        };
        let found = self.read(entity::Entity::Counter(requested)).await?;
        let counts = found.into_iter().filter_map(|entity| match entity {
            entity::Entity::Counter(entry) => {
                let (index, data) = (entry.index?.index as u32, entry.data?);
                Some((index, data.packet_count as u64, data.byte_count as u64))
            }
            _ => None,
        });
        Ok(counts.filter(|(_, packets, _)| index.is_some() || *packets > 0).collect())
    }
}

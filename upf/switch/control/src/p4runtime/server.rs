//! The server: arbitration between controllers, writes, reads, packets.
use super::convert;
use super::messages::{self as m, entity, stream_request, stream_response};
use super::service::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use crate::counters::{Count, Counters};
use crate::error::{BatchError, Code as WriteCode, WriteError, refuse};
use crate::journal::Journal;
use crate::model::{Operation, Update};
use crate::tables::Tables;
use prost::Message;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status, Streaming};

/// The version of P4Runtime that is served.
pub const VERSION: &str = "1.4.1";

/// Messages that wait for one controller; one that does not take them is left out.
const QUEUE: usize = 1024;
/// Controllers at a time.
const CONTROLLERS: usize = 64;
/// Entities in one answer to a read, of which there may be many.
const AT_A_TIME: usize = 1024;
/// The longest request: some 100,000 updates.
const LONGEST: usize = 64 << 20;

type Sender = mpsc::Sender<Result<m::StreamMessageResponse, Status>>;

struct Controller {
    election: Option<m::Uint128>,
    sender: Sender,
}

#[derive(Default)]
struct Arbitration {
    next: u64,
    controllers: BTreeMap<u64, Controller>,
    /// The highest election that any controller has had: a lower one is not the primary's, even when that one has gone.
    highest: Option<m::Uint128>,
}

impl Arbitration {
    fn primary(&self) -> Option<&Controller> {
        self.controllers
            .values()
            .find(|controller| controller.election.is_some() && controller.election == self.highest)
    }
}

/// Serves one switch.
pub struct Server {
    tables: Arc<Tables>,
    counters: Arc<Counters>,
    journal: Option<Arc<Journal>>,
    /// What is in the tables whenever they are empty otherwise: the ways of packets without rules.
    base: Vec<Update>,
    device: u64,
    cookie: Mutex<u64>,
    arbitration: Mutex<Arbitration>,
}

/// What the tonic server calls: the server, shared.
#[derive(Clone)]
pub struct Shared(Arc<Server>);

fn rpc(code: WriteCode) -> Code {
    Code::from_i32(code as i32)
}

fn status(error: WriteError) -> Status {
    Status::new(rpc(error.code), error.message)
}

impl Server {
    /// A server for a switch with this device number.
    pub fn new(
        tables: Arc<Tables>,
        counters: Arc<Counters>,
        journal: Option<Arc<Journal>>,
        base: Vec<Update>,
        device: u64,
    ) -> Server {
        Server { tables, counters, journal, base, device, cookie: Mutex::default(), arbitration: Mutex::default() }
    }

    /// The service, and the task that hands the switch's packets to the primary controller, which runs until it is dropped.
    pub fn service(self) -> (P4RuntimeServer<Shared>, impl Future<Output = ()>) {
        let server = Arc::new(self);
        let service = P4RuntimeServer::new(Shared(server.clone())).max_decoding_message_size(LONGEST);
        (service, async move { server.packets_in().await })
    }

    /// Writes what a switch begins with: the ways of packets without rules, and what the journal of before has.
    pub fn begin(&self, updates: Vec<m::Update>) -> Result<(), BatchError> {
        self.tables.write(&self.base)?;
        let base = |update: &m::Update| match self.update(update) {
            Ok(Some(update)) => self
                .base
                .iter()
                .any(|base| base.entry.table == update.entry.table && base.entry.key == update.entry.key),
            _ => false,
        };
        let mut updates: Vec<m::Update> = updates;
        for update in updates.iter_mut().filter(|update| base(update)) {
            update.r#type = m::UpdateType::Modify as i32;
        }
        let errors = self.write_all(&m::WriteRequest { updates, ..Default::default() });
        if errors.is_empty() { Ok(()) } else { Err(BatchError(errors)) }
    }

    fn arbitration(&self) -> MutexGuard<'_, Arbitration> {
        self.arbitration.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn packets_in(&self) {
        let mut tick = tokio::time::interval(Duration::from_millis(2));
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            for _ in 0..QUEUE {
                let Some((port, payload)) = self.tables.target().receive() else { break };
                let metadata = vec![m::PacketMetadata { metadata_id: 1, value: convert::to_octets(port.into()) }];
                let update = stream_response::Update::Packet(m::Packet { payload, metadata });
                if let Some(primary) = self.arbitration().primary() {
                    // A controller that does not keep up loses packets, as by any slow link.
                    let _ = primary.sender.try_send(Ok(m::StreamMessageResponse { update: Some(update) }));
                }
            }
        }
    }

    #[allow(clippy::result_large_err)]
    fn check_device(&self, device: u64) -> Result<(), Status> {
        match device == self.device {
            true => Ok(()),
            false => Err(Status::not_found(format!("there is no device {device}: this is {}", self.device))),
        }
    }

    #[allow(clippy::result_large_err)]
    fn check_primary(&self, election: Option<m::Uint128>, role: &str) -> Result<(), Status> {
        if !role.is_empty() {
            return Err(Status::unimplemented("roles other than the default one are not served"));
        }
        let arbitration = self.arbitration();
        match election.is_some() && arbitration.primary().is_some_and(|primary| primary.election == election) {
            true => Ok(()),
            false => Err(Status::permission_denied("only the primary controller writes: this election is not its")),
        }
    }

    /// Tells all controllers who is the primary.
    fn announce(&self, arbitration: &mut Arbitration) {
        let there = arbitration.primary().is_some();
        let highest = arbitration.highest;
        for controller in arbitration.controllers.values().filter(|controller| controller.election.is_some()) {
            let (code, message) = match (there, controller.election == highest) {
                (true, true) => (0, "you are primary"),
                (true, false) => (6, "you are backup"),
                (false, _) => (5, "there is no primary"),
            };
            let update = stream_response::Update::Arbitration(m::MasterArbitrationUpdate {
                device_id: self.device,
                role: None,
                election_id: highest,
                status: Some(m::Status { code, message: message.into(), details: vec![] }),
            });
            let _ = controller.sender.try_send(Ok(m::StreamMessageResponse { update: Some(update) }));
        }
    }

    #[allow(clippy::result_large_err)]
    fn arbitrate(&self, id: u64, update: &m::MasterArbitrationUpdate) -> Result<(), Status> {
        self.check_device(update.device_id)?;
        if update.role.as_ref().is_some_and(|role| !role.name.is_empty()) {
            return Err(Status::unimplemented("roles other than the default one are not served"));
        }
        let mut arbitration = self.arbitration();
        let election = Some(update.election_id.unwrap_or_default());
        if arbitration.controllers.iter().any(|(other, controller)| *other != id && controller.election == election) {
            return Err(Status::invalid_argument("another controller has this election"));
        }
        if let Some(controller) = arbitration.controllers.get_mut(&id) {
            controller.election = election;
        }
        // Of no controller with election 0 is it said that it is primary.
        if election > arbitration.highest && election != Some(m::Uint128::default()) {
            arbitration.highest = election;
        }
        self.announce(&mut arbitration);
        Ok(())
    }

    fn packet_out(&self, id: u64, packet: &m::Packet) -> Result<(), WriteError> {
        let is_primary = {
            let arbitration = self.arbitration();
            let election = arbitration.controllers.get(&id).and_then(|controller| controller.election);
            election.is_some() && election == arbitration.highest
        };
        if !is_primary {
            return refuse(WriteCode::PermissionDenied, "only the primary controller sends packets");
        }
        let [metadata] = &packet.metadata[..] else {
            return refuse(WriteCode::InvalidArgument, "a packet has one field of metadata, 1: its egress port");
        };
        let port = convert::from_octets(&metadata.value, 32, "egress_port")? as u32;
        if metadata.metadata_id != 1 || port >= self.tables.target().ports() {
            let ports = self.tables.target().ports();
            return refuse(
                WriteCode::InvalidArgument,
                format!("egress_port is field 1, and one of the ports 0 to {}", ports - 1),
            );
        }
        self.tables
            .target()
            .send(port, &packet.payload)
            .map_err(|message| WriteError { code: WriteCode::Internal, message })
    }

    /// One update that is no entry of a table.
    fn write_other(&self, update: &m::Update) -> Result<(), WriteError> {
        let info = &self.tables.program().info;
        let index = |index: Option<m::Index>| match index.map(|index| u32::try_from(index.index)) {
            Some(Ok(index)) => Ok(index),
            _ => refuse(WriteCode::InvalidArgument, "an index is needed, from 0"),
        };
        match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
            Some(entity::Entity::Meter(entry)) => {
                let Some(meter) = info.meters.iter().position(|meter| meter.id == entry.meter_id) else {
                    return refuse(WriteCode::NotFound, format!("the program has no meter {:#010x}", entry.meter_id));
                };
                if update.r#type != m::UpdateType::Modify as i32 {
                    return refuse(WriteCode::InvalidArgument, "meters are modified, not inserted or deleted");
                }
                let rate = match entry.config {
                    None => None,
                    Some(config) => {
                        if (config.pir, config.pburst) != (config.cir, config.cburst) {
                            return refuse(
                                WriteCode::InvalidArgument,
                                "the meters of this program have one rate: pir is cir, and pburst is cburst",
                            );
                        }
                        match (u64::try_from(config.cir), u64::try_from(config.cburst)) {
                            (Ok(rate), Ok(burst)) => Some((rate, burst)),
                            _ => return refuse(WriteCode::InvalidArgument, "a rate is not negative"),
                        }
                    }
                };
                self.tables.set_meter(meter, index(entry.index)?, rate)
            }
            Some(entity::Entity::Counter(entry)) => {
                let Some(counter) = info.counters.iter().position(|counter| counter.id == entry.counter_id) else {
                    return refuse(
                        WriteCode::NotFound,
                        format!("the program has no counter {:#010x}", entry.counter_id),
                    );
                };
                if update.r#type != m::UpdateType::Modify as i32 {
                    return refuse(WriteCode::InvalidArgument, "counters are modified, not inserted or deleted");
                }
                let data = entry.data.unwrap_or_default();
                let (Ok(packets), Ok(octets)) = (u64::try_from(data.packet_count), u64::try_from(data.byte_count))
                else {
                    return refuse(WriteCode::InvalidArgument, "a counter is not negative");
                };
                self.counters.write(counter, index(entry.index)?, Count { packets, octets })
            }
            Some(entity::Entity::Table(entry)) => {
                // Only default actions come here.
                let table = convert::table(info, entry.table_id)?;
                if update.r#type != m::UpdateType::Modify as i32 || !entry.r#match.is_empty() || entry.priority != 0 {
                    return refuse(WriteCode::InvalidArgument, "a default action is modified, and has no key");
                }
                let call = match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
                    Some(m::table_action::Type::Action(action)) => Some(convert::call(info, action)?),
                    None => None,
                };
                self.tables.set_default(table, call)
            }
            None => refuse(
                WriteCode::Unimplemented,
                "this entity is not served: entries of tables, meters and counters are",
            ),
        }
    }

    fn update(&self, update: &m::Update) -> Result<Option<Update>, WriteError> {
        let Some(entity::Entity::Table(entry)) = update.entity.as_ref().and_then(|entity| entity.entity.as_ref())
        else {
            return Ok(None);
        };
        if entry.is_default_action {
            return Ok(None);
        }
        let operation = match m::UpdateType::try_from(update.r#type) {
            Ok(m::UpdateType::Insert) => Operation::Insert,
            Ok(m::UpdateType::Modify) => Operation::Modify,
            Ok(m::UpdateType::Delete) => Operation::Delete,
            _ => return refuse(WriteCode::InvalidArgument, "an update is an insertion, a modification or a deletion"),
        };
        let entry = convert::entry(&self.tables.program().info, entry, operation == Operation::Delete)?;
        Ok(Some(Update { operation, entry }))
    }

    /// Writes updates, entries of tables as one batch; gives the outcome of each.
    fn write_all(&self, request: &m::WriteRequest) -> Vec<(usize, WriteError)> {
        let mut errors = Vec::new();
        let (mut places, mut entries, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (n, update) in request.updates.iter().enumerate() {
            match self.update(update) {
                Ok(Some(entry)) => {
                    places.push(n);
                    entries.push(entry);
                }
                Ok(None) => others.push((n, update)),
                Err(error) => errors.push((n, error)),
            }
        }
        let atomic = request.atomicity != 0;
        if atomic && !others.is_empty() && request.updates.len() > 1 {
            let why = "a batch that is all or nothing has entries of tables alone";
            errors.extend(
                others.iter().map(|(n, _)| (*n, WriteError { code: WriteCode::InvalidArgument, message: why.into() })),
            );
        }
        if atomic && !errors.is_empty() {
            return errors;
        }
        if atomic {
            if let Err(BatchError(failed)) = self.tables.write(&entries) {
                errors.extend(failed.into_iter().map(|(n, error)| (places[n], error)));
                return errors;
            }
        } else {
            errors.extend(self.tables.write_each(&entries).into_iter().map(|(n, error)| (places[n], error)));
        }
        for (n, update) in others {
            if let Err(error) = self.write_other(update) {
                errors.push((n, error));
            }
        }
        errors
    }

    fn read_entity(&self, entity: &entity::Entity, to: &mut Vec<m::Entity>) -> Result<(), WriteError> {
        let info = &self.tables.program().info;
        let mut give = |entity| to.push(m::Entity { entity: Some(entity) });
        // 0 asks for all, of all.
        let wanted = |id: u32, ids: Vec<u32>, what: &str| -> Result<Vec<usize>, WriteError> {
            let found: Vec<usize> = (0..ids.len()).filter(|n| id == 0 || ids[*n] == id).collect();
            match found.is_empty() && id != 0 {
                true => refuse(WriteCode::NotFound, format!("the program has no {what} {id:#010x}")),
                false => Ok(found),
            }
        };
        match entity {
            entity::Entity::Table(asked) => {
                for table in wanted(asked.table_id, info.tables.iter().map(|table| table.id).collect(), "table")? {
                    if asked.is_default_action {
                        let action = self.tables.default_of(table).map(|call| convert::action_message(info, &call));
                        let table_id = info.tables[table].id;
                        give(entity::Entity::Table(m::TableEntry {
                            table_id,
                            action,
                            is_default_action: true,
                            ..Default::default()
                        }));
                    } else if asked.r#match.is_empty() {
                        for entry in self.tables.entries(table) {
                            if asked.priority == 0 || i64::from(entry.key.priority) == i64::from(asked.priority) {
                                give(entity::Entity::Table(convert::entry_message(info, &entry)));
                            }
                        }
                    } else {
                        let key = convert::key(&info.tables[table], asked)?;
                        if let Some(entry) = self.tables.entry(table, &key) {
                            give(entity::Entity::Table(convert::entry_message(info, &entry)));
                        }
                    }
                }
            }
            entity::Entity::Counter(asked) => {
                for counter in
                    wanted(asked.counter_id, info.counters.iter().map(|counter| counter.id).collect(), "counter")?
                {
                    let array = &info.counters[counter];
                    let indexes = match asked.index {
                        Some(index) => match u32::try_from(index.index) {
                            Ok(index) => index..index.saturating_add(1),
                            Err(_) => return refuse(WriteCode::InvalidArgument, "an index is not negative"),
                        },
                        None => 0..array.size,
                    };
                    for index in indexes {
                        let count = self.counters.read(counter, index)?;
                        let data =
                            m::CounterData { byte_count: count.octets as i64, packet_count: count.packets as i64 };
                        let index = Some(m::Index { index: index.into() });
                        give(entity::Entity::Counter(m::CounterEntry {
                            counter_id: array.id,
                            index,
                            data: Some(data),
                        }));
                    }
                }
            }
            entity::Entity::Meter(asked) => {
                for meter in wanted(asked.meter_id, info.meters.iter().map(|meter| meter.id).collect(), "meter")? {
                    let set = self.tables.meters();
                    let config = |index: u32| {
                        set.get(&(meter, index)).map(|(rate, burst)| m::MeterConfig {
                            cir: *rate as i64,
                            cburst: *burst as i64,
                            pir: *rate as i64,
                            pburst: *burst as i64,
                        })
                    };
                    let indexes: Vec<u32> = match asked.index {
                        Some(index) => vec![u32::try_from(index.index).unwrap_or(u32::MAX)],
                        None => set.keys().filter(|(of, _)| *of == meter).map(|(_, index)| *index).collect(),
                    };
                    for index in indexes {
                        if index >= info.meters[meter].size {
                            return refuse(
                                WriteCode::InvalidArgument,
                                format!("{} has no meter {index}", info.meters[meter].alias),
                            );
                        }
                        let entry = m::MeterEntry {
                            meter_id: info.meters[meter].id,
                            index: Some(m::Index { index: index.into() }),
                            config: config(index),
                        };
                        give(entity::Entity::Meter(entry));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The errors of a batch as the specification wants them: one for each update, in the details of the status.
fn batch_status(updates: usize, errors: &[(usize, WriteError)], atomic: bool) -> Status {
    let first = &errors[0];
    let details = (0..updates).map(|n| {
        let found = errors.iter().find(|(m, _)| *m == n);
        let (code, message) = match found {
            Some((_, error)) => (error.code as i32, error.message.clone()),
            None if atomic => (WriteCode::Aborted as i32, "another update of the batch failed".into()),
            None => (0, String::new()),
        };
        let error = m::Error { canonical_code: code, message, space: String::new(), code: 0 };
        m::Any { type_url: "type.googleapis.com/p4.v1.Error".into(), value: error.encode_to_vec() }
    });
    let message = format!("update {}: {}", first.0 + 1, first.1.message);
    let status = m::Status { code: Code::Unknown as i32, message: message.clone(), details: details.collect() };
    // Beyond what a header holds, the message alone.
    match status.encoded_len() <= 4096 {
        true => Status::with_details(Code::Unknown, message, status.encode_to_vec().into()),
        false => Status::new(Code::Unknown, message),
    }
}

#[tonic::async_trait]
impl P4Runtime for Shared {
    type ReadStream = ReceiverStream<Result<m::ReadResponse, Status>>;
    type StreamChannelStream = ReceiverStream<Result<m::StreamMessageResponse, Status>>;

    async fn write(&self, request: Request<m::WriteRequest>) -> Result<Response<m::WriteResponse>, Status> {
        let request = request.into_inner();
        let server = self.0.clone();
        server.check_device(request.device_id)?;
        server.check_primary(request.election_id, &request.role)?;
        if !(0..=2).contains(&request.atomicity) {
            return Err(Status::invalid_argument("this atomicity is not known"));
        }
        // A commit waits for packets under way: not on the runtime's thread.
        let outcome = tokio::task::spawn_blocking(move || {
            let errors = server.write_all(&request);
            if let Some(journal) = &server.journal {
                let failed: std::collections::BTreeSet<usize> = errors.iter().map(|(n, _)| *n).collect();
                if request.atomicity == 0 || failed.is_empty() {
                    let written = request
                        .updates
                        .iter()
                        .enumerate()
                        .filter(|(n, _)| !failed.contains(n))
                        .map(|(_, update)| update);
                    journal.append(written);
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

    async fn read(&self, request: Request<m::ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let request = request.into_inner();
        self.0.check_device(request.device_id)?;
        let mut found = Vec::new();
        for entity in &request.entities {
            match &entity.entity {
                Some(entity) => self.0.read_entity(entity, &mut found).map_err(status)?,
                None => {
                    return Err(Status::unimplemented(
                        "this entity is not served: entries of tables, meters and counters are",
                    ));
                }
            }
        }
        let (sender, receiver) = mpsc::channel(4);
        tokio::spawn(async move {
            let mut found = found.into_iter().peekable();
            while found.peek().is_some() {
                let entities = found.by_ref().take(AT_A_TIME).collect();
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
        server.check_primary(request.election_id, &request.role)?;
        if !(1..=5).contains(&request.action) {
            return Err(Status::invalid_argument("this action is not known"));
        }
        if let Some(config) = &request.config {
            let own = convert::info_message(&server.tables.program().info, "upf");
            let names = |info: &m::P4Info| {
                let tables = info
                    .tables
                    .iter()
                    .map(|table| (table.preamble.clone(), table.match_fields.clone(), table.action_refs.clone()));
                (tables.collect::<Vec<_>>(), info.actions.clone())
            };
            if config.p4info.as_ref().is_some_and(|info| names(info) != names(&own)) {
                return Err(Status::unimplemented(
                    "the switch runs one program, the user plane function: this P4Info is of another",
                ));
            }
            // 1 verifies alone; 5 leaves what is in the tables.
            if matches!(request.action, 3 | 4) {
                let again = server.clone();
                let cleared = tokio::task::spawn_blocking(move || {
                    again.tables.clear().map_err(status)?;
                    again.tables.write(&again.base).map_err(|error| Status::internal(error.to_string()))
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
        let cookie = Some(m::Cookie { cookie: *server.cookie.lock().unwrap_or_else(PoisonError::into_inner) });
        let p4info = matches!(request.response_type, 0 | 2).then(|| convert::info_message(&program.info, "upf"));
        let device =
            if matches!(request.response_type, 0 | 3) { program.spec.to_string().into_bytes() } else { Vec::new() };
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
                return Err(Status::resource_exhausted(format!("{CONTROLLERS} controllers are the limit")));
            }
            arbitration.next += 1;
            let id = arbitration.next;
            arbitration.controllers.insert(id, Controller { election: None, sender: sender.clone() });
            id
        };
        tokio::spawn(async move {
            while let Ok(Some(message)) = incoming.message().await {
                let refused = match &message.update {
                    Some(stream_request::Update::Arbitration(update)) => server.arbitrate(id, update).err(),
                    Some(stream_request::Update::Packet(packet)) => {
                        if let Err(error) = server.packet_out(id, packet) {
                            let error = m::StreamError { canonical_code: error.code as i32, message: error.message };
                            let update = Some(stream_response::Update::Error(error));
                            let _ = sender.try_send(Ok(m::StreamMessageResponse { update }));
                        }
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
            server.announce(&mut arbitration);
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

//! What controllers write.
use super::convert;
use super::messages::{self as m, entity};
use super::server::Server;
use crate::counters::Count;
use crate::error::{BatchError, Code as WriteCode, WriteError, refuse};
use crate::model::{Operation, Update};
use prost::Message;
use tonic::{Code, Status};

impl Server {
    /// An update of something other than a table entry.
    pub(super) fn write_other(&self, update: &m::Update) -> Result<(), WriteError> {
        let info = &self.tables.program().info;
        let index = |index: Option<m::Index>| match index.map(|index| u32::try_from(index.index)) {
            Some(Ok(index)) => Ok(index),
            _ => refuse(WriteCode::InvalidArgument, "an index is needed, from 0"),
        };
        match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
            Some(entity::Entity::Meter(entry)) => {
                let Some(meter) = info.meters.iter().position(|meter| meter.id == entry.meter_id)
                else {
                    return refuse(
                        WriteCode::NotFound,
                        format!("the program has no meter {:#010x}", entry.meter_id),
                    );
                };
                if update.r#type != m::UpdateType::Modify as i32 {
                    return refuse(
                        WriteCode::InvalidArgument,
                        "meters are modified, not inserted or deleted",
                    );
                }
                let rate = match entry.config {
                    None => None,
                    Some(config) => {
                        if (config.pir, config.pburst) != (config.cir, config.cburst) {
                            return refuse(
                                WriteCode::InvalidArgument,
                                "the meters of this program have one rate: pir is cir, and pburst \
                                 is cburst",
                            );
                        }
                        match (u64::try_from(config.cir), u64::try_from(config.cburst)) {
                            (Ok(rate), Ok(burst)) => Some((rate, burst)),
                            _ => {
                                return refuse(
                                    WriteCode::InvalidArgument,
                                    "a rate is not negative",
                                );
                            }
                        }
                    }
                };
                self.tables.set_meter(meter, index(entry.index)?, rate)
            }
            Some(entity::Entity::Counter(entry)) => {
                let Some(counter) =
                    info.counters.iter().position(|counter| counter.id == entry.counter_id)
                else {
                    return refuse(
                        WriteCode::NotFound,
                        format!("the program has no counter {:#010x}", entry.counter_id),
                    );
                };
                if update.r#type != m::UpdateType::Modify as i32 {
                    return refuse(
                        WriteCode::InvalidArgument,
                        "counters are modified, not inserted or deleted",
                    );
                }
                let data = entry.data.unwrap_or_default();
                let (Ok(packets), Ok(octets)) =
                    (u64::try_from(data.packet_count), u64::try_from(data.byte_count))
                else {
                    return refuse(WriteCode::InvalidArgument, "a counter is not negative");
                };
                self.counters.write(counter, index(entry.index)?, Count { packets, octets })
            }
            Some(entity::Entity::Table(entry)) => {
                // Only default actions reach this point.
                let table = convert::table(info, entry.table_id)?;
                if update.r#type != m::UpdateType::Modify as i32
                    || !entry.r#match.is_empty()
                    || entry.priority != 0
                {
                    return refuse(
                        WriteCode::InvalidArgument,
                        "a default action is modified, and has no key",
                    );
                }
                let call = match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
                    Some(m::table_action::Type::Action(action)) => {
                        Some(convert::call(info, action)?)
                    }
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

    pub(super) fn update(&self, update: &m::Update) -> Result<Option<Update>, WriteError> {
        let Some(entity::Entity::Table(entry)) =
            update.entity.as_ref().and_then(|entity| entity.entity.as_ref())
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
            _ => {
                return refuse(
                    WriteCode::InvalidArgument,
                    "an update is an insertion, a modification or a deletion",
                );
            }
        };
        let entry =
            convert::entry(&self.tables.program().info, entry, operation == Operation::Delete)?;
        Ok(Some(Update { operation, entry }))
    }

    /// Writes updates, table entries as one batch; returns the outcome of each.
    pub(super) fn write_all(&self, request: &m::WriteRequest) -> Vec<(usize, WriteError)> {
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
            errors.extend(others.iter().map(|(n, _)| {
                (*n, WriteError { code: WriteCode::InvalidArgument, message: why.into() })
            }));
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
            errors.extend(
                self.tables.write_each(&entries).into_iter().map(|(n, error)| (places[n], error)),
            );
        }
        for (n, update) in others {
            if let Err(error) = self.write_other(update) {
                errors.push((n, error));
            }
        }
        errors
    }
}

/// The errors of a batch in the specification's form: one per update, in the status details.
pub(super) fn batch_status(updates: usize, errors: &[(usize, WriteError)], atomic: bool) -> Status {
    let first = &errors[0];
    let details = (0..updates).map(|n| {
        let found = errors.iter().find(|(m, _)| *m == n);
        let (code, message) = match found {
            Some((_, error)) => (error.code as i32, error.message.clone()),
            None if atomic => {
                (WriteCode::Aborted as i32, "another update of the batch failed".into())
            }
            None => (0, String::new()),
        };
        let error = m::Error { canonical_code: code, message, space: String::new(), code: 0 };
        m::Any { type_url: "type.googleapis.com/p4.v1.Error".into(), value: error.encode_to_vec() }
    });
    let message = format!("update {}: {}", first.0 + 1, first.1.message);
    let status = m::Status {
        code: Code::Unknown as i32,
        message: message.clone(),
        details: details.collect(),
    };
    // Beyond the size of a header: the message only.
    match status.encoded_len() <= 4096 {
        true => Status::with_details(Code::Unknown, message, status.encode_to_vec().into()),
        false => Status::new(Code::Unknown, message),
    }
}

//! Writes by controllers.
use super::convert;
use super::messages::{self as m, entity};
use super::server::{NO_DIGESTS, Server};
use crate::counters::Count;
use crate::error::{BatchError, Code as WriteCode, WriteError, refuse};
use crate::model::{Operation, Update};

impl Server {
    /// An update of something other than a table entry.
    pub(super) fn write_other(&self, update: &m::Update) -> Result<(), WriteError> {
        let info = &self.tables.program().info;
        let index = |index: Option<m::Index>| match index.map(|index| u32::try_from(index.index)) {
            Some(Ok(index)) => Ok(index),
            _ => refuse(WriteCode::InvalidArgument, "an index from 0 is required"),
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
                        "a meter can be modified, not inserted or deleted",
                    );
                }
                let rate = match entry.config {
                    None => None,
                    Some(config) => {
                        if (config.pir, config.pburst) != (config.cir, config.cburst) {
                            return refuse(
                                WriteCode::InvalidArgument,
                                "the meters of this program have a single rate: pir has to equal \
                                 cir, and pburst cburst",
                            );
                        }
                        match (u64::try_from(config.cir), u64::try_from(config.cburst)) {
                            (Ok(rate), Ok(burst)) => Some((rate, burst)),
                            _ => {
                                return refuse(WriteCode::InvalidArgument, "the rate is negative");
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
                        "a counter can be modified, not inserted or deleted",
                    );
                }
                let data = entry.data.unwrap_or_default();
                let (Ok(packets), Ok(bytes)) =
                    (u64::try_from(data.packet_count), u64::try_from(data.byte_count))
                else {
                    return refuse(WriteCode::InvalidArgument, "the counter is negative");
                };
                self.counters.write(counter, index(entry.index)?, Count { packets, bytes })
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
                        "a default action can be modified, and has no key",
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
            Some(entity::Entity::Digest(_)) => refuse(WriteCode::Unimplemented, NO_DIGESTS),
            None => refuse(
                WriteCode::Unimplemented,
                "this entity is not supported: use table entries, meters or counters",
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
                    "the update type has to be INSERT, MODIFY or DELETE",
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
        let (mut positions, mut entries, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (n, update) in request.updates.iter().enumerate() {
            match self.update(update) {
                Ok(Some(entry)) => {
                    positions.push(n);
                    entries.push(entry);
                }
                Ok(None) => others.push((n, update)),
                Err(error) => errors.push((n, error)),
            }
        }
        let atomic = request.atomicity != 0;
        if atomic && !others.is_empty() && request.updates.len() > 1 {
            let why = "an atomic batch may contain table entries only";
            errors.extend(others.iter().map(|(n, _)| {
                (*n, WriteError { code: WriteCode::InvalidArgument, message: why.into() })
            }));
        }
        if atomic && !errors.is_empty() {
            return errors;
        }
        if atomic {
            if let Err(BatchError(failed)) = self.tables.write(&entries) {
                errors.extend(failed.into_iter().map(|(n, error)| (positions[n], error)));
                return errors;
            }
        } else {
            errors.extend(
                self.tables
                    .write_each(&entries)
                    .into_iter()
                    .map(|(n, error)| (positions[n], error)),
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

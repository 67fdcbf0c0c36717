//! Reads by controllers.
use super::convert;
use super::messages::{self as m, entity};
use super::server::{NO_DIGESTS, Server};
use crate::error::{Code as WriteCode, WriteError, refuse};

impl Server {
    pub(super) fn read_entity(
        &self,
        entity: &entity::Entity,
        to: &mut Vec<m::Entity>,
    ) -> Result<(), WriteError> {
        match entity {
            entity::Entity::Table(requested) => self.read_tables(requested, to),
            entity::Entity::Counter(requested) => self.read_counters(requested, to),
            entity::Entity::Meter(requested) => self.read_meters(requested, to),
            entity::Entity::Digest(_) => refuse(WriteCode::Unimplemented, NO_DIGESTS),
        }
    }

    fn read_tables(
        &self,
        requested: &m::TableEntry,
        to: &mut Vec<m::Entity>,
    ) -> Result<(), WriteError> {
        let info = &self.tables.program().info;
        let mut push = |entity| to.push(m::Entity { entity: Some(entity) });
        for table in selected(
            requested.table_id,
            info.tables.iter().map(|table| table.id).collect(),
            "table",
        )? {
            if requested.is_default_action {
                let action =
                    self.tables.default_of(table).map(|call| convert::action_message(info, &call));
                let table_id = info.tables[table].id;
                push(entity::Entity::Table(m::TableEntry {
                    table_id,
                    action,
                    is_default_action: true,
                    ..Default::default()
                }));
            } else if requested.r#match.is_empty() {
                for entry in self.tables.entries(table) {
                    if requested.priority == 0
                        || i64::from(entry.key.priority) == i64::from(requested.priority)
                    {
                        push(entity::Entity::Table(convert::entry_message(info, &entry)));
                    }
                }
            } else {
                let key = convert::key(&info.tables[table], requested)?;
                if let Some(entry) = self.tables.entry(table, &key) {
                    push(entity::Entity::Table(convert::entry_message(info, &entry)));
                }
            }
        }
        Ok(())
    }

    fn read_counters(
        &self,
        requested: &m::CounterEntry,
        to: &mut Vec<m::Entity>,
    ) -> Result<(), WriteError> {
        let info = &self.tables.program().info;
        let mut push = |entity| to.push(m::Entity { entity: Some(entity) });
        for counter in selected(
            requested.counter_id,
            info.counters.iter().map(|counter| counter.id).collect(),
            "counter",
        )? {
            let array = &info.counters[counter];
            let indexes = match requested.index {
                Some(index) => match u32::try_from(index.index) {
                    Ok(index) => index..index.saturating_add(1),
                    Err(_) => {
                        return refuse(WriteCode::InvalidArgument, "the index is negative");
                    }
                },
                None => 0..array.size,
            };
            for index in indexes {
                let count = self.counters.read(counter, index)?;
                let data = m::CounterData {
                    byte_count: count.bytes as i64,
                    packet_count: count.packets as i64,
                };
                let index = Some(m::Index { index: index.into() });
                push(entity::Entity::Counter(m::CounterEntry {
                    counter_id: array.id,
                    index,
                    data: Some(data),
                }));
            }
        }
        Ok(())
    }

    fn read_meters(
        &self,
        requested: &m::MeterEntry,
        to: &mut Vec<m::Entity>,
    ) -> Result<(), WriteError> {
        let info = &self.tables.program().info;
        let mut push = |entity| to.push(m::Entity { entity: Some(entity) });
        for meter in selected(
            requested.meter_id,
            info.meters.iter().map(|meter| meter.id).collect(),
            "meter",
        )? {
            let set = self.tables.meters();
            let config = |index: u32| {
                set.get(&(meter, index)).map(|(rate, burst)| m::MeterConfig {
                    cir: *rate as i64,
                    cburst: *burst as i64,
                    pir: *rate as i64,
                    pburst: *burst as i64,
                })
            };
            let indexes: Vec<u32> = match requested.index {
                Some(index) => vec![u32::try_from(index.index).unwrap_or(u32::MAX)],
                None => {
                    set.keys().filter(|(of, _)| *of == meter).map(|(_, index)| *index).collect()
                }
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
                push(entity::Entity::Meter(entry));
            }
        }
        Ok(())
    }
}

/// The positions of what a read selects by its ID. ID 0 selects all.
fn selected(id: u32, ids: Vec<u32>, what: &str) -> Result<Vec<usize>, WriteError> {
    let found: Vec<usize> = (0..ids.len()).filter(|n| id == 0 || ids[*n] == id).collect();
    match found.is_empty() && id != 0 {
        true => refuse(WriteCode::NotFound, format!("the program has no {what} {id:#010x}")),
        false => Ok(found),
    }
}

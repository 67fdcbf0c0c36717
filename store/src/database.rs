//! The table of contexts, and what members of a set agree on in it: who has which context, and who
//! is there.
//!
//! A function holds its contexts for a lease, which each of its writes renews. Another one takes a
//! context when the lease is over, in one transaction that also leaves a note: a function that was
//! only cut off, or stood still, finds the note with its next look, writes nothing of that context,
//! and has it no more. Both transactions lock the function's row in `member`, so one comes
//! before the other. Two processes of one name know each other by the epoch, which the later one
//! has moved on.
use crate::{Place, StoreError, postgres, schema, sqlite};
use rusqlite::OptionalExtension;
use std::time::{Duration, SystemTime};

/// A lease beyond this is that of a clock that was wrong.
const LONGEST: i64 = 120_000;

pub(crate) enum Database {
    Sqlite(rusqlite::Connection),
    Postgres(Box<::postgres::Client>, String),
}

/// Who writes.
pub(crate) struct Member {
    pub owner: String,
    /// Which process of this name it is; none before its first write.
    pub epoch: Option<i64>,
    pub lease: Duration,
}

/// What a look says.
pub(crate) enum Look {
    /// The lease is renewed.
    Ours {
        /// Contexts that others have taken since the last look.
        taken: Vec<String>,
        /// No other member of the set is there.
        alone: bool,
    },
    /// There is a later process of this name.
    Deposed,
}

/// How a claim ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Taking {
    /// Who claims has it now.
    Taken(Vec<u8>),
    /// It is not there any more.
    Gone,
    /// Its owner may be at work with it, for so long.
    Leased(Duration),
}

/// Contexts as they are now; none for one that is gone.
type Batch = [(String, Option<Vec<u8>>)];

/// What the names of all members of a set begin with; none for a function that is of no set.
fn set_of(owner: &str) -> Option<&str> {
    owner.rfind('-').map(|at| &owner[..=at])
}

/// Milliseconds since 1970, of this machine: that of all who have an SQLite file.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The same of a PostgreSQL server.
const POSTGRES_NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(LONGEST)
}

/// What is left of a lease.
fn left(until: i64, now: i64) -> Option<Duration> {
    let left = until.saturating_sub(now);
    (1..=LONGEST).contains(&left).then(|| Duration::from_millis(left.unsigned_abs()))
}

impl Database {
    pub(crate) fn open(place: &Place) -> Result<Database, StoreError> {
        match place {
            Place::Memory => Err(StoreError::Key("a journal in memory outlives nothing".into())),
            Place::File(path) => sqlite::connect(path).map(Database::Sqlite),
            Place::Postgres(address) => {
                let mut client = postgres::connect(address)?;
                schema::migrate_postgres(&mut client)?;
                Ok(Database::Postgres(client.into(), address.clone()))
            }
        }
    }

    pub(crate) fn load(&mut self, owner: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        match self {
            Database::Sqlite(connection) => {
                let mut statement = connection
                    .prepare("SELECT id, value FROM state WHERE owner = ?1 ORDER BY id")?;
                let rows = statement.query_map([owner], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok(rows.collect::<Result<_, _>>()?)
            }
            Database::Postgres(client, _) => {
                let rows = client
                    .query("SELECT id, value FROM state WHERE owner = $1 ORDER BY id", &[&owner])?;
                Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
            }
        }
    }

    /// The owners whose names begin so.
    pub(crate) fn owners(&mut self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let length = i32::try_from(prefix.len()).unwrap_or(i32::MAX);
        match self {
            Database::Sqlite(connection) => {
                let sql = "SELECT DISTINCT owner FROM state WHERE substr(owner, 1, ?1) = ?2 ORDER \
                           BY owner";
                let mut statement = connection.prepare(sql)?;
                let rows =
                    statement.query_map(rusqlite::params![length, prefix], |row| row.get(0))?;
                Ok(rows.collect::<Result<_, _>>()?)
            }
            Database::Postgres(client, _) => {
                let sql = "SELECT DISTINCT owner FROM state WHERE substr(owner, 1, $1) = $2 ORDER \
                           BY owner";
                Ok(client.query(sql, &[&length, &prefix])?.iter().map(|row| row.get(0)).collect())
            }
        }
    }

    /// One row.
    pub(crate) fn get(&mut self, owner: &str, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match self {
            Database::Sqlite(connection) => {
                let mut statement =
                    connection.prepare("SELECT value FROM state WHERE owner = ?1 AND id = ?2")?;
                let mut rows = statement.query_map([owner, id], |row| row.get(0))?;
                Ok(rows.next().transpose()?)
            }
            Database::Postgres(client, _) => {
                let sql = "SELECT value FROM state WHERE owner = $1 AND id = $2";
                Ok(client.query_opt(sql, &[&owner, &id])?.map(|row| row.get(0)))
            }
        }
    }

    /// Takes a row away from an owner whose lease is over.
    pub(crate) fn take(&mut self, owner: &str, id: &str) -> Result<Taking, StoreError> {
        match self {
            Database::Sqlite(connection) => {
                let transaction = connection
                    .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
                let sql = "SELECT until FROM member WHERE owner = ?1";
                let until: Option<i64> =
                    transaction.query_row(sql, [owner], |row| row.get(0)).optional()?;
                if let Some(left) = until.and_then(|until| left(until, now())) {
                    return Ok(Taking::Leased(left));
                }
                let sql = "DELETE FROM state WHERE owner = ?1 AND id = ?2 RETURNING value";
                let value = transaction.query_row(sql, [owner, id], |row| row.get(0)).optional()?;
                let Some(value) = value else { return Ok(Taking::Gone) };
                transaction.execute(
                    "INSERT OR IGNORE INTO taken (owner, id) VALUES (?1, ?2)",
                    [owner, id],
                )?;
                transaction.commit()?;
                Ok(Taking::Taken(value))
            }
            Database::Postgres(client, address) => {
                if client.is_closed() {
                    **client = postgres::connect(address)?;
                }
                let mut transaction = client.transaction()?;
                let sql =
                    format!("SELECT until, {POSTGRES_NOW} FROM member WHERE owner = $1 FOR UPDATE");
                let row = transaction.query_opt(&sql, &[&owner])?;
                if let Some(left) = row.and_then(|row| left(row.get(0), row.get(1))) {
                    return Ok(Taking::Leased(left));
                }
                let sql = "DELETE FROM state WHERE owner = $1 AND id = $2 RETURNING value";
                let Some(row) = transaction.query_opt(sql, &[&owner, &id])? else {
                    return Ok(Taking::Gone);
                };
                let sql = "INSERT INTO taken (owner, id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
                transaction.execute(sql, &[&owner, &id])?;
                transaction.commit()?;
                Ok(Taking::Taken(row.get(0)))
            }
        }
    }

    /// The function has ended: who wants its contexts need not wait.
    pub(crate) fn leave(&mut self, member: &Member) -> Result<(), StoreError> {
        let Some(epoch) = member.epoch else { return Ok(()) };
        match self {
            Database::Sqlite(connection) => {
                let sql = "UPDATE member SET until = 0 WHERE owner = ?1 AND epoch = ?2";
                connection.execute(sql, rusqlite::params![member.owner, epoch])?;
            }
            Database::Postgres(client, _) => {
                let sql = "UPDATE member SET until = 0 WHERE owner = $1 AND epoch = $2";
                client.execute(sql, &[&member.owner, &epoch])?;
            }
        }
        Ok(())
    }

    /// Renews the lease, learns what others have taken, and writes what is not among it, in one
    /// transaction.
    pub(crate) fn write(&mut self, member: &mut Member, batch: &Batch) -> Result<Look, StoreError> {
        let (look, epoch) = match self {
            Database::Sqlite(connection) => write_sqlite(connection, member, batch)?,
            Database::Postgres(client, address) => {
                if client.is_closed() {
                    **client = postgres::connect(address)?;
                }
                write_postgres(client, member, batch)?
            }
        };
        member.epoch = epoch;
        Ok(look)
    }
}

fn write_sqlite(
    connection: &mut rusqlite::Connection,
    member: &Member,
    batch: &Batch,
) -> Result<(Look, Option<i64>), StoreError> {
    let owner = member.owner.as_str();
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let until = now() + ms(member.lease);
    let epoch: i64 = match member.epoch {
        Some(epoch) => {
            let sql = "UPDATE member SET until = ?3 WHERE owner = ?1 AND epoch = ?2";
            if transaction.prepare_cached(sql)?.execute(rusqlite::params![owner, epoch, until])?
                == 0
            {
                return Ok((Look::Deposed, Some(epoch)));
            }
            epoch
        }
        None => {
            let sql = "INSERT INTO member (owner, epoch, until) VALUES (?1, 1, ?2) ON CONFLICT \
                       (owner) DO UPDATE SET epoch = epoch + 1, until = excluded.until RETURNING \
                       epoch";
            transaction.query_row(sql, rusqlite::params![owner, until], |row| row.get(0))?
        }
    };
    let taken: Vec<String> = {
        let mut statement = transaction.prepare_cached("SELECT id FROM taken WHERE owner = ?1")?;
        let rows = statement.query_map([owner], |row| row.get(0))?;
        rows.collect::<Result<_, _>>()?
    };
    if !taken.is_empty() {
        transaction.execute("DELETE FROM taken WHERE owner = ?1", [owner])?;
    }
    let alone = match set_of(owner) {
        None => true,
        Some(set) => {
            let sql = "SELECT count(*) FROM member WHERE substr(owner, 1, length(?1)) = ?1 AND \
                       owner <> ?2 AND until > 0";
            let others: i64 =
                transaction.prepare_cached(sql)?.query_row([set, owner], |row| row.get(0))?;
            others == 0
        }
    };
    for (id, value) in batch.iter().filter(|(id, _)| !taken.contains(id)) {
        match value {
            Some(value) => {
                let sql = "INSERT INTO state (owner, id, value) VALUES (?1, ?2, ?3) ON CONFLICT \
                           (owner, id) DO UPDATE SET value = excluded.value";
                transaction.prepare_cached(sql)?.execute(rusqlite::params![owner, id, value])?
            }
            None => {
                let sql = "DELETE FROM state WHERE owner = ?1 AND id = ?2";
                transaction.prepare_cached(sql)?.execute([owner, id])?
            }
        };
    }
    transaction.commit()?;
    Ok((Look::Ours { taken, alone }, Some(epoch)))
}

fn write_postgres(
    client: &mut ::postgres::Client,
    member: &Member,
    batch: &Batch,
) -> Result<(Look, Option<i64>), StoreError> {
    let owner = member.owner.as_str();
    let mut transaction = client.transaction()?;
    let lease = ms(member.lease);
    let epoch: i64 = match member.epoch {
        Some(epoch) => {
            let sql = format!(
                "UPDATE member SET until = {POSTGRES_NOW} + $3 WHERE owner = $1 AND epoch = $2"
            );
            if transaction.execute(&sql, &[&owner, &epoch, &lease])? == 0 {
                return Ok((Look::Deposed, Some(epoch)));
            }
            epoch
        }
        None => {
            let sql = format!(
                "INSERT INTO member (owner, epoch, until) VALUES ($1, 1, {POSTGRES_NOW} + $2) ON \
                 CONFLICT (owner) DO UPDATE SET epoch = member.epoch + 1, until = excluded.until \
                 RETURNING epoch"
            );
            transaction.query_one(&sql, &[&owner, &lease])?.get(0)
        }
    };
    // A statement of its own: it sees what was there when it had the row.
    let sql = "WITH gone AS (DELETE FROM taken WHERE owner = $1 RETURNING id) SELECT (SELECT \
               coalesce(array_agg(id), '{}') FROM gone), NOT EXISTS (SELECT 1 FROM member WHERE \
               substr(owner, 1, length($2)) = $2 AND owner <> $1 AND until > 0)";
    // A function of no set has nobody beside it.
    let row = transaction.query_one(sql, &[&owner, &set_of(owner).unwrap_or(owner)])?;
    let (taken, alone): (Vec<String>, bool) =
        (row.get(0), row.get::<_, bool>(1) || set_of(owner).is_none());
    let ours = batch.iter().filter(|(id, _)| !taken.contains(id));
    let (put, gone): (Vec<_>, Vec<_>) = ours.partition(|(_, value)| value.is_some());
    if !put.is_empty() {
        let (ids, values): (Vec<&str>, Vec<&[u8]>) = put
            .iter()
            .map(|(id, value)| (id.as_str(), value.as_deref().unwrap_or_default()))
            .unzip();
        // One statement for all: a round trip, not one for each.
        let sql = "INSERT INTO state (owner, id, value) SELECT $1, * FROM unnest($2::text[], \
                   $3::bytea[]) ON CONFLICT (owner, id) DO UPDATE SET value = excluded.value";
        transaction.execute(sql, &[&owner, &ids, &values])?;
    }
    if !gone.is_empty() {
        let ids: Vec<&str> = gone.iter().map(|(id, _)| id.as_str()).collect();
        transaction
            .execute("DELETE FROM state WHERE owner = $1 AND id = ANY($2)", &[&owner, &ids])?;
    }
    transaction.commit()?;
    Ok((Look::Ours { taken, alone }, Some(epoch)))
}

//! The SQL tables of contexts: `state` (the contexts), `member` (the leases) and `taken` (contexts
//! that a member has lost).
//!
//! A member writes in one transaction that renews its lease, reads its rows in `taken`, and writes
//! no context that is among them. Rows are removed by a later write than the one that read them,
//! since its answer may be lost. A takeover is one transaction, too: it checks that the lease has
//! expired, moves the context out of `state`, and adds a row to `taken`. Both lock the member's row
//! in `member` and therefore exclude each other. Each process that opens the contexts of an owner
//! increments the owner's epoch, by which an earlier process learns that it is superseded.
use crate::observed_leases::ObservedLeases;
use martlet_store::connection::{Client, ToSql, Transaction, open_postgres, open_sqlite};
use martlet_store::{DatabaseUrl, StoreError};
use rusqlite::OptionalExtension;
use std::time::{Duration, Instant, SystemTime};

/// Longest lease, in milliseconds.
const MAX_LEASE: i64 = 120_000;

pub(crate) enum ContextDatabase {
    Sqlite(rusqlite::Connection),
    Postgres(Box<Server>),
}

/// A connection to a PostgreSQL server, and what it has seen of the members' leases.
pub(crate) struct Server {
    client: Client,
    leases: ObservedLeases,
}

impl Server {
    fn open(url: &str) -> Result<Server, StoreError> {
        Ok(Server { client: open_postgres(url)?, leases: ObservedLeases::default() })
    }

    /// The client, connected again if the connection is closed. The server may be another one
    /// then.
    fn connected(&mut self) -> Result<&mut Client, StoreError> {
        if self.client.is_closed() {
            self.client.reconnect()?;
            self.leases.reconnected();
        }
        Ok(&mut self.client)
    }
}

/// The process that writes.
pub(crate) struct Member {
    pub owner: String,
    /// Number of this process among those with this name; `None` before its first write.
    pub epoch: Option<i64>,
    pub lease: Duration,
    /// Numbers of rows of `taken` that it has read: they are removed by the next write. Not by the
    /// one that read them, whose answer may be lost.
    pub read: Vec<i64>,
}

/// Result of a write.
pub(crate) enum Renewal {
    /// The lease is renewed.
    Renewed {
        /// Contexts that other members have taken over since the last write.
        taken_over: Vec<String>,
        /// Those of the contexts to regain that are stored under this member's name.
        regained: Vec<String>,
        /// The set has no other member.
        is_only_member: bool,
    },
    /// A later process has this name.
    Superseded,
}

/// Result of an attempt to take over contexts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Those of the contexts that exist were taken over.
    Taken(Vec<(String, Vec<u8>)>),
    /// The owner's lease is valid for this long.
    Leased(Duration),
}

/// Encrypts the value of a context for another owner: its ID, the value.
type Reseal<'a> = &'a dyn Fn(&str, &[u8]) -> Result<Vec<u8>, StoreError>;

/// A member of a set: the name under which it stores contexts, and one of them.
pub type SetMember = (String, Option<Vec<u8>>);

/// A member that takes contexts over and stores them under its own name.
pub(crate) struct NewOwner<'a> {
    pub name: &'a str,
    /// Encrypts the value of a context, which is encrypted for its former owner, for the claimant.
    pub reseal: Reseal<'a>,
}

/// Values of contexts; `None` removes one.
type Batch = [(String, Option<Vec<u8>>)];

/// The common prefix of the names of a set's members; `None` for an NF without a set.
pub(crate) fn set_prefix(owner: &str) -> Option<&str> {
    owner.rfind('-').map(|at| &owner[..=at])
}

/// Counts the members of a set besides one.
const OTHER_MEMBERS: &str = "SELECT count(*) FROM member WHERE substr(owner, 1, length(?1)) = ?1 \
                             AND owner <> ?2 AND until > 0";

/// Milliseconds since 1970 on this machine, which all processes with an SQLite file share.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Milliseconds since 1970 on the PostgreSQL server.
const POSTGRES_NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(MAX_LEASE)
}

/// The rest of a lease by the clock of this machine, which its owner reads, too; `None` if it has
/// expired. One that lasts longer than `lease` was stored before the clock was set back.
fn remaining(until: i64, now: i64, lease: Duration) -> Option<Duration> {
    let rest = until.saturating_sub(now);
    (rest > 0).then(|| Duration::from_millis(rest.unsigned_abs()).min(lease))
}

/// The first name after all that begin with `prefix`, which ends with an ASCII character.
fn after_prefix(prefix: &str) -> String {
    let mut name = prefix.to_string();
    let last = name.pop().unwrap_or(' ');
    name.push(char::from_u32(u32::from(last) + 1).unwrap_or(char::MAX));
    name
}

impl ContextDatabase {
    pub(crate) fn open(url: &DatabaseUrl) -> Result<ContextDatabase, StoreError> {
        match url {
            DatabaseUrl::Memory => Err(StoreError::InMemory),
            DatabaseUrl::File(path) => open_sqlite(path).map(ContextDatabase::Sqlite),
            DatabaseUrl::Postgres(url) => Ok(ContextDatabase::Postgres(Server::open(url)?.into())),
        }
    }

    /// Whether the database is a server, which this process may be cut off from.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self, ContextDatabase::Postgres(_))
    }

    /// Whether the set has no other member, before the first write, so that a full disk does not
    /// stop the only one. `None` if a read cannot tell: others may have a PostgreSQL database.
    pub(crate) fn is_only_member(&mut self, owner: &str) -> Option<bool> {
        let ContextDatabase::Sqlite(connection) = self else { return None };
        let Some(set) = set_prefix(owner) else { return Some(true) };
        let others: rusqlite::Result<i64> =
            connection.query_row(OTHER_MEMBERS, [set, owner], |row| row.get(0));
        others.ok().map(|others| others == 0)
    }

    /// Returns all contexts of an owner, still encrypted.
    pub(crate) fn load(&mut self, owner: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        match self {
            ContextDatabase::Sqlite(connection) => {
                let mut statement = connection
                    .prepare("SELECT id, value FROM state WHERE owner = ?1 ORDER BY id")?;
                let rows = statement.query_map([owner], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok(rows.collect::<Result<_, _>>()?)
            }
            ContextDatabase::Postgres(server) => {
                let client = server.connected()?;
                let rows = client
                    .query("SELECT id, value FROM state WHERE owner = $1 ORDER BY id", &[&owner])?;
                Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
            }
        }
    }

    /// Returns the owners whose names begin with `prefix`.
    pub(crate) fn owners(&mut self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let length = i32::try_from(prefix.len()).unwrap_or(i32::MAX);
        match self {
            ContextDatabase::Sqlite(connection) => {
                let sql = "SELECT DISTINCT owner FROM state WHERE substr(owner, 1, ?1) = ?2 ORDER \
                           BY owner";
                let mut statement = connection.prepare(sql)?;
                let rows =
                    statement.query_map(rusqlite::params![length, prefix], |row| row.get(0))?;
                Ok(rows.collect::<Result<_, _>>()?)
            }
            ContextDatabase::Postgres(server) => {
                let client = server.connected()?;
                let sql = "SELECT owner FROM member WHERE owner >= $1 AND owner < $2 ORDER BY \
                           owner";
                let rows = client.query(sql, &[&prefix, &after_prefix(prefix)])?;
                Ok(rows.iter().map(|row| row.get(0)).collect())
            }
        }
    }

    /// Returns the members whose names begin with `prefix`, each with one of its contexts, still
    /// encrypted.
    pub(crate) fn members(&mut self, prefix: &str, id: &str) -> Result<Vec<SetMember>, StoreError> {
        let end = after_prefix(prefix);
        match self {
            ContextDatabase::Sqlite(connection) => {
                let sql = "SELECT m.owner, s.value FROM member m LEFT JOIN state s ON s.owner = \
                           m.owner AND s.id = ?3 WHERE m.owner >= ?1 AND m.owner < ?2 ORDER BY \
                           m.owner";
                let mut statement = connection.prepare_cached(sql)?;
                let rows = statement
                    .query_map([prefix, &end, id], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok(rows.collect::<Result<_, _>>()?)
            }
            ContextDatabase::Postgres(server) => {
                let client = server.connected()?;
                let sql = "SELECT m.owner, s.value, m.until, m.renewals FROM member m LEFT JOIN \
                           state s ON s.owner = m.owner AND s.id = $3 WHERE m.owner >= $1 AND \
                           m.owner < $2 ORDER BY m.owner";
                let rows = client.query(sql, &[&prefix, &end, &id])?;
                let answered = Instant::now();
                for row in &rows {
                    server.leases.observe(row.get(0), (row.get(2), row.get(3)), answered);
                }
                Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
            }
        }
    }

    /// Returns the member whose name begins with `prefix` and that has a context.
    pub(crate) fn owner_of(
        &mut self,
        prefix: &str,
        id: &str,
    ) -> Result<Option<String>, StoreError> {
        let end = after_prefix(prefix);
        match self {
            ContextDatabase::Sqlite(connection) => {
                let sql = "SELECT m.owner FROM member m JOIN state s ON s.owner = m.owner AND \
                           s.id = ?3 WHERE m.owner >= ?1 AND m.owner < ?2 ORDER BY m.owner LIMIT 1";
                let mut statement = connection.prepare_cached(sql)?;
                Ok(statement.query_row([prefix, &end, id], |row| row.get(0)).optional()?)
            }
            ContextDatabase::Postgres(server) => {
                let client = server.connected()?;
                let sql = "SELECT m.owner FROM member m JOIN state s ON s.owner = m.owner AND \
                           s.id = $3 WHERE m.owner >= $1 AND m.owner < $2 ORDER BY m.owner LIMIT 1";
                Ok(client.query_opt(sql, &[&prefix, &end, &id])?.map(|row| row.get(0)))
            }
        }
    }

    /// Returns those of the contexts that a member whose name begins with `prefix` has.
    pub(crate) fn existing(
        &mut self,
        prefix: &str,
        ids: &[String],
    ) -> Result<Vec<String>, StoreError> {
        match self {
            ContextDatabase::Sqlite(_) => {
                let mut all = Vec::new();
                for id in ids {
                    all.extend(self.owner_of(prefix, id)?.map(|_| id.clone()));
                }
                Ok(all)
            }
            ContextDatabase::Postgres(server) => {
                let client = server.connected()?;
                let sql = "SELECT s.id FROM member m JOIN state s ON s.owner = m.owner AND s.id = \
                           ANY($3) WHERE m.owner >= $1 AND m.owner < $2";
                let rows = client.query(sql, &[&prefix, &after_prefix(prefix), &ids])?;
                Ok(rows.iter().map(|row| row.get(0)).collect())
            }
        }
    }

    /// Returns one context, still encrypted.
    pub(crate) fn get(&mut self, owner: &str, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match self {
            ContextDatabase::Sqlite(connection) => {
                let mut statement =
                    connection.prepare("SELECT value FROM state WHERE owner = ?1 AND id = ?2")?;
                let mut rows = statement.query_map([owner, id], |row| row.get(0))?;
                Ok(rows.next().transpose()?)
            }
            ContextDatabase::Postgres(server) => {
                let client = server.connected()?;
                let sql = "SELECT value FROM state WHERE owner = $1 AND id = $2";
                Ok(client.query_opt(sql, &[&owner, &id])?.map(|row| row.get(0)))
            }
        }
    }

    /// Takes contexts over from an owner whose lease has expired, all in one transaction. Where the
    /// claimant has a name, they are its own in the same transaction, so that none is lost with an
    /// answer of the database or with the claimant. `lease` is the length of the set's leases.
    pub(crate) fn claim(
        &mut self,
        owner: &str,
        ids: &[String],
        claimant: Option<&NewOwner<'_>>,
        lease: Duration,
    ) -> Result<Claim, StoreError> {
        match self {
            ContextDatabase::Sqlite(connection) => {
                claim_sqlite(connection, owner, ids, claimant, lease)
            }
            ContextDatabase::Postgres(server) => {
                server.connected()?;
                claim_postgres(server, owner, ids, claimant, lease)
            }
        }
    }

    /// Reads the leases of the members whose names begin with `prefix`, so that a takeover knows
    /// which were not renewed. Nothing for a file, whose users share a clock.
    pub(crate) fn observe_leases(&mut self, prefix: &str) -> Result<(), StoreError> {
        let ContextDatabase::Postgres(server) = self else { return Ok(()) };
        let sql = "SELECT owner, until, renewals FROM member WHERE owner >= $1 AND owner < $2";
        let rows = server.connected()?.query(sql, &[&prefix, &after_prefix(prefix)])?;
        let answered = Instant::now();
        for row in &rows {
            server.leases.observe(row.get(0), (row.get(1), row.get(2)), answered);
        }
        Ok(())
    }

    /// Returns those of a member's contexts that exist, still encrypted.
    pub(crate) fn get_all(
        &mut self,
        owner: &str,
        ids: &[String],
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        match self {
            ContextDatabase::Sqlite(_) => {
                let mut all = Vec::new();
                for id in ids {
                    all.extend(self.get(owner, id)?.map(|value| (id.clone(), value)));
                }
                Ok(all)
            }
            ContextDatabase::Postgres(server) => {
                let client = server.connected()?;
                let sql = "SELECT id, value FROM state WHERE owner = $1 AND id = ANY($2)";
                let rows = client.query(sql, &[&owner, &ids])?;
                Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
            }
        }
    }

    /// Ends the lease, so that another member may take contexts over at once.
    pub(crate) fn release_lease(&mut self, member: &Member) -> Result<(), StoreError> {
        let Some(epoch) = member.epoch else { return Ok(()) };
        match self {
            ContextDatabase::Sqlite(connection) => {
                let sql = "UPDATE member SET until = 0 WHERE owner = ?1 AND epoch = ?2";
                connection.execute(sql, rusqlite::params![member.owner, epoch])?;
            }
            ContextDatabase::Postgres(server) => {
                let client = &mut server.client;
                let sql = "UPDATE member SET until = 0 WHERE owner = $1 AND epoch = $2";
                client.execute(sql, &[&member.owner, &epoch])?;
            }
        }
        Ok(())
    }

    /// Renews the lease and writes the contexts that no other member has taken over, in one
    /// transaction. Of `regaining`, it reads and writes those that are stored under this name.
    pub(crate) fn write(
        &mut self,
        member: &mut Member,
        batch: &Batch,
        regaining: &[String],
    ) -> Result<Renewal, StoreError> {
        match self {
            ContextDatabase::Sqlite(connection) => {
                let (renewal, epoch) = write_sqlite(connection, member, batch, regaining)?;
                member.epoch = epoch;
                Ok(renewal)
            }
            ContextDatabase::Postgres(server) => {
                let client = server.connected()?;
                write_postgres(client, member, batch, regaining)
            }
        }
    }
}

fn claim_sqlite(
    connection: &mut rusqlite::Connection,
    owner: &str,
    ids: &[String],
    claimant: Option<&NewOwner<'_>>,
    lease: Duration,
) -> Result<Claim, StoreError> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let sql = "SELECT until FROM member WHERE owner = ?1";
    let until: Option<i64> = transaction.query_row(sql, [owner], |row| row.get(0)).optional()?;
    if let Some(rest) = until.and_then(|until| remaining(until, now(), lease)) {
        return Ok(Claim::Leased(rest));
    }
    let mut taken = Vec::new();
    for id in ids {
        let sql = "DELETE FROM state WHERE owner = ?1 AND id = ?2 RETURNING value";
        let mut statement = transaction.prepare_cached(sql)?;
        let value: Option<Vec<u8>> =
            statement.query_row([owner, id], |row| row.get(0)).optional()?;
        let Some(value) = value else { continue };
        let sql = "INSERT OR IGNORE INTO taken (owner, id) VALUES (?1, ?2)";
        transaction.prepare_cached(sql)?.execute([owner, id])?;
        if let Some(claimant) = claimant {
            let own: &Vec<u8> = &(claimant.reseal)(id, &value)?;
            let sql = "INSERT INTO state (owner, id, value) VALUES (?1, ?2, ?3) ON CONFLICT \
                       (owner, id) DO UPDATE SET value = excluded.value";
            let row = rusqlite::params![claimant.name, id, own];
            transaction.prepare_cached(sql)?.execute(row)?;
            let sql = "DELETE FROM taken WHERE owner = ?1 AND id = ?2";
            transaction.prepare_cached(sql)?.execute([claimant.name, id])?;
        }
        taken.push((id.clone(), value));
    }
    transaction.commit()?;
    Ok(Claim::Taken(taken))
}

fn claim_postgres(
    server: &mut Server,
    owner: &str,
    ids: &[String],
    claimant: Option<&NewOwner<'_>>,
    lease: Duration,
) -> Result<Claim, StoreError> {
    let mut transaction = server.client.transaction()?;
    let remaining = lock_lease(&mut transaction, &mut server.leases, owner, lease)?;
    if !remaining.is_zero() {
        return Ok(Claim::Leased(remaining));
    }
    let sql = "DELETE FROM state WHERE owner = $1 AND id = ANY($2) RETURNING id, value";
    let rows = transaction.query(sql, &[&owner, &ids])?;
    let taken: Vec<(String, Vec<u8>)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let taken_ids: Vec<&str> = taken.iter().map(|(id, _)| id.as_str()).collect();
    // A row that is there already gets another number: its owner may have read it.
    let sql = "INSERT INTO taken (owner, id) SELECT $1, * FROM unnest($2::text[]) ON CONFLICT \
               (owner, id) DO UPDATE SET number = excluded.number";
    transaction.execute(sql, &[&owner, &taken_ids])?;
    if let Some(claimant) = claimant.filter(|_| !taken.is_empty()) {
        let own = taken.iter().map(|(id, value)| (claimant.reseal)(id, value));
        let own: Vec<Vec<u8>> = own.collect::<Result<_, _>>()?;
        let sql = "INSERT INTO state (owner, id, value) SELECT $1, * FROM unnest($2::text[], \
                   $3::bytea[]) ON CONFLICT (owner, id) DO UPDATE SET value = excluded.value";
        transaction.execute(sql, &[&claimant.name, &taken_ids, &own])?;
        // The claimant may have lost them before, and not know it yet.
        let sql = "DELETE FROM taken WHERE owner = $1 AND id = ANY($2)";
        transaction.execute(sql, &[&claimant.name, &taken_ids])?;
    }
    transaction.commit()?;
    Ok(Claim::Taken(taken))
}

/// Locks a member's row, and returns the rest of its lease.
fn lock_lease(
    transaction: &mut Transaction<'_>,
    leases: &mut ObservedLeases,
    owner: &str,
    lease: Duration,
) -> Result<Duration, StoreError> {
    let sql = "SELECT until, renewals FROM member WHERE owner = $1 FOR UPDATE";
    let sent = Instant::now();
    let Some(row) = transaction.query_opt(sql, &[&owner])? else { return Ok(Duration::ZERO) };
    let until: i64 = row.get(0);
    // It ended in order.
    if until == 0 {
        return Ok(Duration::ZERO);
    }
    Ok(leases.remaining(owner, (until, row.get(1)), (sent, Instant::now()), lease))
}

fn write_sqlite(
    connection: &mut rusqlite::Connection,
    member: &Member,
    batch: &Batch,
    regaining: &[String],
) -> Result<(Renewal, Option<i64>), StoreError> {
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
                return Ok((Renewal::Superseded, Some(epoch)));
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
    let taken_over: Vec<String> = {
        let mut statement = transaction.prepare_cached("SELECT id FROM taken WHERE owner = ?1")?;
        let rows = statement.query_map([owner], |row| row.get(0))?;
        rows.collect::<Result<_, _>>()?
    };
    // The answer of a file is not lost.
    if !taken_over.is_empty() {
        transaction.execute("DELETE FROM taken WHERE owner = ?1", [owner])?;
    }
    let mut regained = Vec::new();
    for id in regaining {
        let sql = "SELECT EXISTS (SELECT 1 FROM state WHERE owner = ?1 AND id = ?2)";
        let is_own: bool =
            transaction.prepare_cached(sql)?.query_row([owner, id], |row| row.get(0))?;
        regained.extend(is_own.then(|| id.clone()));
    }
    let is_only_member = match set_prefix(owner) {
        None => true,
        Some(set) => {
            let mut statement = transaction.prepare_cached(OTHER_MEMBERS)?;
            let others: i64 = statement.query_row([set, owner], |row| row.get(0))?;
            others == 0
        }
    };
    for (id, value) in owned(batch, &taken_over, regaining, &regained) {
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
    Ok((Renewal::Renewed { taken_over, regained, is_only_member }, Some(epoch)))
}

/// The changes of contexts that this member has: not taken over, or stored under its name again.
fn owned<'a>(
    batch: &'a Batch,
    taken_over: &'a [String],
    regaining: &'a [String],
    regained: &'a [String],
) -> impl Iterator<Item = &'a (String, Option<Vec<u8>>)> {
    batch.iter().filter(move |(id, _)| {
        !taken_over.contains(id) && (!regaining.contains(id) || regained.contains(id))
    })
}

fn write_postgres(
    client: &mut Client,
    member: &mut Member,
    batch: &Batch,
    regaining: &[String],
) -> Result<Renewal, StoreError> {
    let owner = member.owner.as_str();
    let mut transaction = client.transaction()?;
    let lease = ms(member.lease);
    let epoch: i64 = match member.epoch {
        Some(epoch) => {
            let sql = format!(
                "UPDATE member SET until = {POSTGRES_NOW} + $3, renewals = renewals + 1 WHERE \
                 owner = $1 AND epoch = $2"
            );
            if transaction.execute(&sql, &[&owner, &epoch, &lease])? == 0 {
                return Ok(Renewal::Superseded);
            }
            epoch
        }
        None => {
            let sql = format!(
                "INSERT INTO member (owner, epoch, until) VALUES ($1, 1, {POSTGRES_NOW} + $2) ON \
                 CONFLICT (owner) DO UPDATE SET epoch = member.epoch + 1, until = excluded.until, \
                 renewals = member.renewals + 1 RETURNING epoch"
            );
            transaction.query_one(&sql, &[&owner, &lease])?.get(0)
        }
    };
    // A statement after the first one: its snapshot is taken once the member's row is locked.
    let sql = "WITH gone AS (DELETE FROM taken WHERE owner = $1 AND number = ANY($3)), unread AS \
               (SELECT id, number FROM taken WHERE owner = $1 AND number <> ALL($3)) SELECT \
               (SELECT coalesce(array_agg(id), '{}') FROM unread), NOT EXISTS (SELECT 1 \
               FROM member WHERE substr(owner, 1, length($2)) = $2 AND owner <> $1 AND until > 0), \
               (SELECT coalesce(array_agg(id), '{}') FROM state WHERE owner = $1 AND id = \
               ANY($4)), (SELECT coalesce(array_agg(number), '{}') FROM unread)";
    // An NF without a set is the only member.
    let prefix = set_prefix(owner);
    let parameters: [&(dyn ToSql + Sync); 4] =
        [&owner, &prefix.unwrap_or(owner), &member.read, &regaining];
    let row = transaction.query_one(sql, &parameters)?;
    let (taken_over, read): (Vec<String>, Vec<i64>) = (row.get(0), row.get(3));
    let is_only_member = row.get::<_, bool>(1) || prefix.is_none();
    let regained: Vec<String> = row.get(2);
    let owned = owned(batch, &taken_over, regaining, &regained);
    let (put, gone): (Vec<_>, Vec<_>) = owned.partition(|(_, value)| value.is_some());
    if !put.is_empty() {
        let (ids, values): (Vec<&str>, Vec<&[u8]>) = put
            .iter()
            .map(|(id, value)| (id.as_str(), value.as_deref().unwrap_or_default()))
            .unzip();
        // One statement for all contexts: one round trip.
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
    (member.epoch, member.read) = (Some(epoch), read);
    Ok(Renewal::Renewed { taken_over, regained, is_only_member })
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_store::testing::TestPostgres;

    /// The connection ends after the commit and before its answer: the process repeats the write.
    #[test]
    fn a_repeated_write_learns_of_the_same_takeovers() {
        let Some(server) = TestPostgres::start("repeated").unwrap() else { return };
        let url = DatabaseUrl::parse(&server.url());
        let mut database = ContextDatabase::open(&url).unwrap();
        let member = |epoch, read| Member {
            owner: "smf-1-1".into(),
            epoch,
            lease: Duration::from_millis(1),
            read,
        };
        let mut owner = member(None, Vec::new());
        let batch = [("7".to_string(), Some(vec![1]))];
        drop(database.write(&mut owner, &batch, &[]).unwrap());
        let ids = ["7".to_string()];
        let take_over = |database: &mut ContextDatabase| {
            let claim =
                |database: &mut ContextDatabase| database.claim("smf-1-1", &ids, None, owner.lease);
            while let Claim::Leased(rest) = claim(database).unwrap() {
                std::thread::sleep(rest);
            }
        };
        take_over(&mut database);
        let taken_over = |database: &mut ContextDatabase, member: &mut Member| match database
            .write(member, &batch, &[])
            .unwrap()
        {
            Renewal::Renewed { taken_over, .. } => taken_over,
            Renewal::Superseded => panic!("superseded"),
        };
        let mut first = member(Some(1), Vec::new());
        assert_eq!(taken_over(&mut database, &mut first), ids);
        let mut repeated = member(Some(1), Vec::new());
        assert_eq!(taken_over(&mut database, &mut repeated), ids);
        assert_eq!(database.get("smf-1-1", "7").unwrap(), None, "what was lost is not written");
        // Now the process knows it, and the row is removed.
        assert!(taken_over(&mut database, &mut repeated).is_empty());
        assert!(database.get("smf-1-1", "7").unwrap().is_some(), "a new context");
        // It is taken over once more, before the member has removed a row that it has read.
        take_over(&mut database);
        assert_eq!(taken_over(&mut database, &mut repeated), ids);
        let mut known = member(Some(1), repeated.read.clone());
        let ContextDatabase::Postgres(server) = &mut database else { panic!("PostgreSQL") };
        let put = "INSERT INTO state (owner, id, value) VALUES ('smf-1-1', '7', '')";
        server.client.execute(put, &[]).unwrap();
        take_over(&mut database);
        assert_eq!(taken_over(&mut database, &mut known), ids);
    }
}

//! The statements of [`SubscriberData`](crate::SubscriberData): each serves several subscribers.
//! All may take effect twice, so that they are repeated when a connection is lost.
use crate::StoreError;
use crate::database::Row;
use crate::postgres_pool::Pool;
use crate::sqn_block::last_of_next_sql;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;
use std::time::Instant;
use tokio_postgres::types::ToSql;

/// Contexts of a subscriber by kind and key.
pub(crate) type Contexts = BTreeMap<(String, String), String>;

/// The SUPI, kind and key of a context.
pub(crate) type ContextName = (String, String, String);

/// The new value of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// `None` removes the context.
    pub value: Option<String>,
    pub accepted: Instant,
}

/// New values of contexts.
pub(crate) type ContextChanges = BTreeMap<ContextName, Change>;

/// What a read of a subscriber also does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadKind {
    /// Nothing.
    Plain,
    /// Advances the sequence number by a block, for authentication vectors.
    Authentication,
}

const READ: &str = "SELECT s.supi, s.gpsi, s.sqn, s.profile, c.kind, c.key, c.value FROM \
                    subscriber s LEFT JOIN context c ON c.supi = s.supi WHERE s.supi = ANY($1)";

/// [`READ`] of subscribers whose sequence number is advanced by a block, above `$2` too.
static READ_AND_ADVANCE: LazyLock<String> = LazyLock::new(|| {
    let last = last_of_next_sql("greatest(s.sqn, r.floor)");
    format!(
        "WITH moved AS (UPDATE subscriber s SET sqn = {last} FROM unnest($1::text[], \
         $2::bigint[]) AS r(supi, floor) WHERE s.supi = r.supi RETURNING s.supi, s.gpsi, s.sqn, \
         s.profile) SELECT m.supi, m.gpsi, m.sqn, m.profile, c.kind, c.key, c.value FROM moved m \
         LEFT JOIN context c ON c.supi = m.supi"
    )
});

/// Writes contexts of the process `$5`.
const PUT: &str = "INSERT INTO context (supi, kind, key, value, writer) SELECT *, $5 FROM \
                   unnest($1::text[], $2::text[], $3::text[], $4::text[]) ON CONFLICT (supi, \
                   kind, key) DO UPDATE SET value = excluded.value, changed = excluded.changed, \
                   writer = excluded.writer";

/// [`PUT`] of contexts that were accepted `$6` milliseconds ago: later values of others stay.
const PUT_LATE: &str = "INSERT INTO context (supi, kind, key, value, writer, changed) SELECT supi, \
                        kind, key, value, $5, clock_timestamp() - age * interval '1 millisecond' \
                        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $6::bigint[]) \
                        AS late(supi, kind, key, value, age) ON CONFLICT (supi, kind, key) DO \
                        UPDATE SET value = excluded.value, changed = excluded.changed, writer = \
                        excluded.writer WHERE context.writer = excluded.writer OR context.changed \
                        IS NULL OR context.changed < excluded.changed";

const REMOVE: &str = "DELETE FROM context WHERE (supi, kind, key) IN (SELECT * FROM \
                      unnest($1::text[], $2::text[], $3::text[]))";

/// [`REMOVE`] by the process `$4` of contexts whose removal was accepted `$5` milliseconds ago.
const REMOVE_LATE: &str = "DELETE FROM context c USING unnest($1::text[], $2::text[], $3::text[], \
                           $5::bigint[]) AS late(supi, kind, key, age) WHERE c.supi = late.supi \
                           AND c.kind = late.kind AND c.key = late.key AND (c.writer = $4 OR \
                           c.changed IS NULL OR c.changed < clock_timestamp() - late.age * \
                           interval '1 millisecond')";

/// [`PUT`] of contexts, and a block for each subscriber of `$6`. The condition has the contexts
/// written first: a removal locks the rows in this order.
static PUT_AND_ADVANCE: LazyLock<String> = LazyLock::new(|| {
    let last = last_of_next_sql("sqn");
    format!(
        "WITH put AS ({PUT} RETURNING 1) UPDATE subscriber SET sqn = {last} WHERE supi = ANY($6) \
         AND (SELECT count(*) FROM put) >= 0 RETURNING supi, sqn"
    )
});

/// Advances the sequence numbers of subscribers by a block. Rows that others change are left out:
/// this statement does not wait for them, so that it causes no rollback of another one.
static ADVANCE_UNLOCKED: LazyLock<String> = LazyLock::new(|| {
    let last = last_of_next_sql("sqn");
    format!(
        "WITH unlocked AS (SELECT supi FROM subscriber WHERE supi = ANY($1) ORDER BY supi FOR \
         UPDATE SKIP LOCKED) UPDATE subscriber SET sqn = {last} WHERE supi IN (SELECT supi FROM \
         unlocked) RETURNING supi, sqn, profile"
    )
});

/// Differs for a subscriber that was changed or replaced: keys are encrypted with new nonces then.
pub(crate) fn revision(profile: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    profile.hash(&mut hasher);
    hasher.finish()
}

/// The sequence number before an advance of both SEQ (43 bits) and IND (5 bits) by one, as the UDM
/// does it (TS 33.102, C.1.1.3 and C.3.2).
pub(crate) fn before_advance(sqn: u64) -> u64 {
    const MAX: u64 = (1 << 48) - 1;
    let seq = (sqn >> 5).wrapping_sub(1);
    ((seq << 5) | (sqn.wrapping_sub(1) & 31)) & MAX
}

/// Reads subscribers with their contexts. For authentications, each has a number that its block is
/// to be above.
pub(crate) async fn read(
    pool: &Pool,
    kind: ReadKind,
    supis: &[String],
    floors: &[i64],
) -> Result<Vec<(Row, Contexts)>, StoreError> {
    let rows = match kind {
        ReadKind::Plain => pool.query(READ, &[&supis]).await?,
        ReadKind::Authentication => pool.query(&READ_AND_ADVANCE, &[&supis, &floors]).await?,
    };
    let mut all: BTreeMap<String, (Row, Contexts)> = BTreeMap::new();
    for row in rows {
        let supi: String = row.get(0);
        let (_, contexts) = all.entry(supi).or_insert_with_key(|supi| {
            let (gpsi, sqn) = (row.get(1), row.get::<_, i64>(2) as u64);
            (Row { supi: supi.clone(), gpsi, sqn, profile: row.get(3) }, Contexts::new())
        });
        if let (Some(kind), Some(key), Some(value)) = (row.get(4), row.get(5), row.get(6)) {
            contexts.insert((kind, key), value);
        }
    }
    Ok(all.into_values().collect())
}

/// Columns of contexts: SUPIs, kinds, keys.
fn columns(rows: &[Changed<'_>]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let of = |n: usize| -> Vec<String> {
        let name = |(supi, kind, key): &ContextName| [supi, kind, key][n].clone();
        rows.iter().map(|(row, _)| name(row)).collect()
    };
    (of(0), of(1), of(2))
}

/// Milliseconds since each change was accepted.
fn ages(rows: &[Changed<'_>]) -> Vec<i64> {
    rows.iter().map(|(_, change)| change.accepted.elapsed().as_millis() as i64).collect()
}

/// Writes and removes contexts: one statement for those that are written, one for others. The
/// first one also advances the sequence numbers of the subscribers in `renew` by a block. Returns
/// these with the last numbers of their blocks. `writer` is the number of this process.
pub(crate) async fn write(
    pool: &Pool,
    writer: i64,
    changes: &ContextChanges,
    renew: &[String],
) -> Result<Vec<(String, u64)>, StoreError> {
    let mut renewed = Vec::new();
    let (put, gone) = put_and_gone(changes);
    if !put.is_empty() {
        let ((supis, kinds, keys), values) = (columns(&put), values(&put));
        let rows = match renew.is_empty() {
            true => pool.query(PUT, &[&supis, &kinds, &keys, &values, &writer]).await?,
            false => {
                let parameters: [&(dyn ToSql + Sync); 6] =
                    [&supis, &kinds, &keys, &values, &writer, &renew];
                pool.query(&PUT_AND_ADVANCE, &parameters).await?
            }
        };
        renewed = rows.iter().map(|row| (row.get(0), row.get::<_, i64>(1) as u64)).collect();
    }
    if !gone.is_empty() {
        let (supis, kinds, keys) = columns(&gone);
        pool.query(REMOVE, &[&supis, &kinds, &keys]).await?;
    }
    Ok(renewed)
}

/// As [`write`], for changes that could not be written for a while: what other processes wrote
/// after a change was accepted stays. Times are compared by the server's clock.
pub(crate) async fn write_late(
    pool: &Pool,
    writer: i64,
    changes: &ContextChanges,
) -> Result<(), StoreError> {
    let (put, gone) = put_and_gone(changes);
    if !put.is_empty() {
        let ((supis, kinds, keys), values, ages) = (columns(&put), values(&put), ages(&put));
        pool.query(PUT_LATE, &[&supis, &kinds, &keys, &values, &writer, &ages]).await?;
    }
    if !gone.is_empty() {
        let ((supis, kinds, keys), ages) = (columns(&gone), ages(&gone));
        pool.query(REMOVE_LATE, &[&supis, &kinds, &keys, &writer, &ages]).await?;
    }
    Ok(())
}

type Changed<'a> = (&'a ContextName, &'a Change);

/// The contexts to write and those to remove, in the order of the names, so that two processes lock
/// rows in the same order.
fn put_and_gone(changes: &ContextChanges) -> (Vec<Changed<'_>>, Vec<Changed<'_>>) {
    changes.iter().partition(|(_, change)| change.value.is_some())
}

fn values<'a>(put: &[Changed<'a>]) -> Vec<&'a str> {
    put.iter().map(|(_, change)| change.value.as_deref().unwrap_or_default()).collect()
}

/// The SUPIs of subscribers after `after`, in their order.
pub(crate) async fn supis(pool: &Pool, after: &str, limit: i64) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT supi FROM subscriber WHERE supi > $1 ORDER BY supi LIMIT $2";
    Ok(pool.query(sql, &[&after, &limit]).await?.iter().map(|row| row.get(0)).collect())
}

/// A block for each of these subscribers whose row is not locked: SUPI, last number, revision.
pub(crate) async fn advance_unlocked(
    pool: &Pool,
    supis: &[String],
) -> Result<Vec<(String, u64, u64)>, StoreError> {
    let rows = pool.query(&ADVANCE_UNLOCKED, &[&supis]).await?;
    let block =
        |row: &tokio_postgres::Row| (row.get(0), row.get::<_, i64>(1) as u64, revision(row.get(2)));
    Ok(rows.iter().map(block).collect())
}

/// Advances a sequence number if it is `from`. Returns whether it was.
pub(crate) async fn advance(
    pool: &Pool,
    supi: &str,
    from: u64,
    to: u64,
) -> Result<bool, StoreError> {
    let sql = "UPDATE subscriber SET sqn = $3 WHERE supi = $1 AND sqn = $2 RETURNING supi";
    Ok(!pool.query(sql, &[&supi, &(from as i64), &(to as i64)]).await?.is_empty())
}

/// Sets a sequence number after a resynchronisation, if no block covers it: it is above the last
/// block, or so far below that the USIM accepts none of the block (TS 33.102, C.2.1: 2^28). Returns
/// whether it was set.
pub(crate) async fn resynchronise(pool: &Pool, supi: &str, to: u64) -> Result<bool, StoreError> {
    let sql = "UPDATE subscriber SET sqn = $2 WHERE supi = $1 AND (sqn < $2 OR (sqn >> 5) - \
               ($2::bigint >> 5) > 268435456) RETURNING supi";
    Ok(!pool.query(sql, &[&supi, &(to as i64)]).await?.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_before_an_advance_is_the_exact_inverse() {
        let next = |sqn: u64| ((((sqn >> 5) + 1) << 5) | ((sqn + 1) & 31)) & ((1 << 48) - 1);
        for sqn in [0, 1, 31, 32, 63, 0x2a1f, (1 << 48) - 1, (1 << 48) - 32] {
            assert_eq!(before_advance(next(sqn)), sqn, "{sqn}");
        }
    }
}

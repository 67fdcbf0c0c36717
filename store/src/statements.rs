//! The statements of [`SubscriberData`](crate::SubscriberData): each serves several subscribers.
//! All may take effect twice, so that they are repeated when a connection is lost.
use crate::StoreError;
use crate::database::Row;
use crate::postgres_pool::Pool;
use std::collections::BTreeMap;

/// Contexts of a subscriber by kind and key.
pub(crate) type Contexts = BTreeMap<(String, String), String>;

/// The SUPI, kind and key of a context.
pub(crate) type ContextName = (String, String, String);

/// New values of contexts; `None` removes one.
pub(crate) type ContextChanges = BTreeMap<ContextName, Option<String>>;

/// What a read of a subscriber also does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadKind {
    /// Nothing.
    Plain,
    /// Advances the sequence number, for an authentication vector.
    Authentication,
}

const READ: &str = "SELECT s.supi, s.gpsi, s.sqn, s.profile, c.kind, c.key, c.value FROM \
                    subscriber s LEFT JOIN context c ON c.supi = s.supi WHERE s.supi = ANY($1)";

/// Both SEQ (43 bits) and IND (5 bits) go one up (TS 33.102, C.1.1.3 and C.3.2).
const READ_AND_ADVANCE: &str = "WITH moved AS (UPDATE subscriber SET sqn = (((((sqn >> 5) + 1) << \
                                5) | ((sqn + 1) & 31)) & 281474976710655) WHERE supi = ANY($1) \
                                RETURNING supi, gpsi, sqn, profile) SELECT m.supi, m.gpsi, m.sqn, \
                                m.profile, c.kind, c.key, c.value FROM moved m LEFT JOIN context \
                                c ON c.supi = m.supi";

/// The sequence number before [`READ_AND_ADVANCE`].
pub(crate) fn before_advance(sqn: u64) -> u64 {
    const MAX: u64 = (1 << 48) - 1;
    let seq = (sqn >> 5).wrapping_sub(1);
    ((seq << 5) | (sqn.wrapping_sub(1) & 31)) & MAX
}

/// Reads subscribers with their contexts.
pub(crate) async fn read(
    pool: &Pool,
    kind: ReadKind,
    supis: &[String],
) -> Result<Vec<(Row, Contexts)>, StoreError> {
    let sql = match kind {
        ReadKind::Plain => READ,
        ReadKind::Authentication => READ_AND_ADVANCE,
    };
    let mut all: BTreeMap<String, (Row, Contexts)> = BTreeMap::new();
    for row in pool.query(sql, &[&supis]).await? {
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

/// Writes and removes contexts: one statement for those that are written, one for others.
pub(crate) async fn write(pool: &Pool, changes: &ContextChanges) -> Result<(), StoreError> {
    // In the order of the names, so that two processes lock rows in the same order.
    let (put, gone): (Vec<_>, Vec<_>) = changes.iter().partition(|(_, value)| value.is_some());
    let columns = |rows: &[(&ContextName, &Option<String>)]| {
        let of = |n: usize| -> Vec<String> {
            let name = |(supi, kind, key): &ContextName| [supi, kind, key][n].clone();
            rows.iter().map(|(row, _)| name(row)).collect()
        };
        (of(0), of(1), of(2))
    };
    if !put.is_empty() {
        let (supis, kinds, keys) = columns(&put);
        let values: Vec<&str> =
            put.iter().map(|(_, value)| value.as_deref().unwrap_or_default()).collect();
        let sql = "INSERT INTO context (supi, kind, key, value) SELECT * FROM unnest($1::text[], \
                   $2::text[], $3::text[], $4::text[]) ON CONFLICT (supi, kind, key) DO UPDATE \
                   SET value = excluded.value";
        pool.query(sql, &[&supis, &kinds, &keys, &values]).await?;
    }
    if !gone.is_empty() {
        let (supis, kinds, keys) = columns(&gone);
        let sql = "DELETE FROM context WHERE (supi, kind, key) IN (SELECT * FROM \
                   unnest($1::text[], $2::text[], $3::text[]))";
        pool.query(sql, &[&supis, &kinds, &keys]).await?;
    }
    Ok(())
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

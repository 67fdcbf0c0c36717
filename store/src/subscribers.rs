//! Subscribers in the store.
use crate::sqlite::{Inner, MOST_REMEMBERED};
use crate::{Store, StoreError, Subscriber};
use rusqlite::{OptionalExtension, params};
use std::sync::Arc;

impl Store {
    /// Adds subscribers, all or none; with `replace`, in place of those that are there.
    pub fn add(&self, subscribers: &[Subscriber], replace: bool) -> Result<(), StoreError> {
        let mut inner = self.inner();
        let transaction = inner.connection.transaction()?;
        for subscriber in subscribers {
            subscriber.check()?;
            let profile = serde_json::to_string(subscriber)?;
            let gpsi = subscriber.msisdn.as_ref().map(|number| format!("msisdn-{number}"));
            let sql = match replace {
                true => "INSERT OR REPLACE INTO subscriber (supi, gpsi, sqn, profile) VALUES (?1, ?2, ?3, ?4)",
                false => "INSERT INTO subscriber (supi, gpsi, sqn, profile) VALUES (?1, ?2, ?3, ?4)",
            };
            let outcome = transaction.prepare_cached(sql)?.execute(params![
                subscriber.supi,
                gpsi,
                subscriber.sqn as i64,
                profile
            ]);
            match outcome {
                Err(rusqlite::Error::SqliteFailure(error, _))
                    if error.code == rusqlite::ErrorCode::ConstraintViolation =>
                {
                    return Err(StoreError::Exists(format!("{} (or its telephone number)", subscriber.supi)));
                }
                outcome => outcome?,
            };
        }
        transaction.commit()?;
        inner.remembered.clear();
        Ok(())
    }

    /// Removes a subscriber with its contexts: whether it was there.
    pub fn remove(&self, supi: &str) -> Result<bool, StoreError> {
        let mut inner = self.inner();
        let transaction = inner.connection.transaction()?;
        transaction.execute("DELETE FROM context WHERE supi = ?1", [supi])?;
        let removed = transaction.execute("DELETE FROM subscriber WHERE supi = ?1", [supi])? > 0;
        transaction.commit()?;
        inner.remembered.remove(supi);
        Ok(removed)
    }

    /// A subscriber by SUPI.
    pub fn subscriber(&self, supi: &str) -> Result<Option<Arc<Subscriber>>, StoreError> {
        self.inner().subscriber(supi)
    }

    /// The SUPI of a telephone number, as `msisdn-` and digits.
    pub fn supi_of(&self, gpsi: &str) -> Result<Option<String>, StoreError> {
        let inner = self.inner();
        let mut statement = inner.connection.prepare_cached("SELECT supi FROM subscriber WHERE gpsi = ?1")?;
        Ok(statement.query_row([gpsi], |row| row.get(0)).optional()?)
    }

    /// Subscribers in the order of their SUPI, from the one after `after` on.
    pub fn list(&self, after: &str, limit: usize) -> Result<Vec<Subscriber>, StoreError> {
        let inner = self.inner();
        let sql = "SELECT profile, sqn FROM subscriber WHERE supi > ?1 ORDER BY supi LIMIT ?2";
        let mut statement = inner.connection.prepare_cached(sql)?;
        let rows = statement
            .query_map(params![after, limit as i64], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
        rows.map(|row| row.map_err(StoreError::from).and_then(|(profile, sqn)| parse(&profile, sqn))).collect()
    }

    /// How many subscribers there are.
    pub fn count(&self) -> Result<u64, StoreError> {
        let inner = self.inner();
        let count: i64 =
            inner.connection.prepare_cached("SELECT count(*) FROM subscriber")?.query_row([], |row| row.get(0))?;
        Ok(count as u64)
    }

    /// Moves the sequence number on from one value to another: false where it was not at the first any more, so that
    /// of two who read the same number only one may use the next.
    pub fn move_sqn(&self, supi: &str, from: u64, to: u64) -> Result<bool, StoreError> {
        let mut inner = self.inner();
        let sql = "UPDATE subscriber SET sqn = ?3 WHERE supi = ?1 AND sqn = ?2";
        let moved = inner.connection.prepare_cached(sql)?.execute(params![supi, from as i64, to as i64])? == 1;
        match inner.remembered.get_mut(supi) {
            Some(remembered) if moved => Arc::make_mut(remembered).sqn = to,
            _ => {
                inner.remembered.remove(supi);
            }
        }
        Ok(moved)
    }
}

impl Inner {
    fn subscriber(&mut self, supi: &str) -> Result<Option<Arc<Subscriber>>, StoreError> {
        self.freshen()?;
        if let Some(remembered) = self.remembered.get(supi) {
            return Ok(Some(remembered.clone()));
        }
        let row = self
            .connection
            .prepare_cached("SELECT profile, sqn FROM subscriber WHERE supi = ?1")?
            .query_row([supi], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))
            .optional()?;
        let Some((profile, sqn)) = row else { return Ok(None) };
        let subscriber = Arc::new(parse(&profile, sqn)?);
        if self.remembered.len() >= MOST_REMEMBERED {
            self.remembered.clear();
        }
        self.remembered.insert(supi.to_string(), subscriber.clone());
        Ok(Some(subscriber))
    }
}

fn parse(profile: &str, sqn: i64) -> Result<Subscriber, StoreError> {
    let mut subscriber: Subscriber = serde_json::from_str(profile)?;
    subscriber.sqn = sqn as u64;
    Ok(subscriber)
}

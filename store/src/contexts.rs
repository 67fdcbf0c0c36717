//! Contexts of subscribers: JSON values by kind and key, such as which AMF is registered.
use crate::{Store, StoreError};
use rusqlite::{OptionalExtension, params};

impl Store {
    /// Puts a value in its place: true where there was none before.
    pub fn put_context(&self, supi: &str, kind: &str, key: &str, value: &str) -> Result<bool, StoreError> {
        let inner = self.inner();
        let sql = "UPDATE context SET value = ?4 WHERE supi = ?1 AND kind = ?2 AND key = ?3";
        if inner.connection.prepare_cached(sql)?.execute(params![supi, kind, key, value])? > 0 {
            return Ok(false);
        }
        let sql = "INSERT INTO context (supi, kind, key, value) VALUES (?1, ?2, ?3, ?4)";
        inner.connection.prepare_cached(sql)?.execute(params![supi, kind, key, value])?;
        Ok(true)
    }

    /// A value.
    pub fn context(&self, supi: &str, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
        let inner = self.inner();
        let sql = "SELECT value FROM context WHERE supi = ?1 AND kind = ?2 AND key = ?3";
        Ok(inner.connection.prepare_cached(sql)?.query_row(params![supi, kind, key], |row| row.get(0)).optional()?)
    }

    /// All values of a kind with their keys.
    pub fn contexts(&self, supi: &str, kind: &str) -> Result<Vec<(String, String)>, StoreError> {
        let inner = self.inner();
        let sql = "SELECT key, value FROM context WHERE supi = ?1 AND kind = ?2 ORDER BY key";
        let mut statement = inner.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![supi, kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Takes a value away: whether it was there.
    pub fn remove_context(&self, supi: &str, kind: &str, key: &str) -> Result<bool, StoreError> {
        let inner = self.inner();
        let sql = "DELETE FROM context WHERE supi = ?1 AND kind = ?2 AND key = ?3";
        Ok(inner.connection.prepare_cached(sql)?.execute(params![supi, kind, key])? > 0)
    }
}

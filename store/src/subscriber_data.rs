//! Asynchronous access to subscribers and their contexts, for the UDR.
//!
//! With PostgreSQL a registration costs two statements: one reads the subscriber with its contexts,
//! one writes the contexts of the registration, which is the only commit. Sequence numbers are
//! committed in blocks: at the start ([`SubscriberData::lease_ahead`]), in the statement that
//! reads, or with the contexts. Requests that wait at the same time share a statement and so a
//! commit. Subscribers are cached; a notification of the server (LISTEN), or a look at the changes,
//! invalidates them. An authentication uses no cache.
//!
//! # Durability
//!
//! The block of a sequence number is committed before the number is returned. Contexts are written
//! a flush interval later, unless the last write failed: then a call waits for its write. A context
//! that is put with [`Urgency::WithNext`] waits for the next one, a second at most.
//!
//! # Cancel safety
//!
//! Statements run in tasks of their own: a dropped future cancels no write.
use crate::remote_subscribers::{Remote, lock};
use crate::statements;
use crate::subscriber_cache::{CONTEXT_VALIDITY, Reservation};
use crate::write_behind::Urgency;
use crate::{DatabaseUrl, Store, StoreError, Subscriber};
use std::sync::Arc;
use std::time::Duration;

/// Access to a store's subscribers and contexts that does not block the thread.
pub struct SubscriberData {
    store: Arc<Store>,
    remote: Option<Arc<Remote>>,
}

impl SubscriberData {
    /// Access to `store`, which was opened at `url`. A server gets at most `connections`, and
    /// contexts are written to it after `flush_interval`.
    ///
    /// # Errors
    /// The URL is wrong.
    pub fn new(
        store: Arc<Store>,
        url: &DatabaseUrl,
        connections: usize,
        flush_interval: Duration,
    ) -> Result<SubscriberData, StoreError> {
        let remote = match url {
            DatabaseUrl::Postgres(url) => {
                let remote = Remote::new(store.clone(), url, connections, flush_interval)?;
                Some(Arc::new(remote))
            }
            _ => None,
        };
        Ok(SubscriberData { store, remote })
    }

    /// Returns a subscriber by SUPI.
    ///
    /// # Errors
    /// The database fails.
    pub async fn subscriber(&self, supi: &str) -> Result<Option<Arc<Subscriber>>, StoreError> {
        let Some(remote) = &self.remote else { return self.store.subscriber(supi) };
        Ok(remote.record(supi, None).await?.map(|record| record.subscriber.clone()))
    }

    /// Returns a subscriber whose sequence number is to be advanced. A server has advanced it
    /// already by a block, for [`SubscriberData::advance_sqn`]. The subscriber is read from the
    /// database during this call: `None` as soon as its removal is committed.
    ///
    /// # Errors
    /// The database fails.
    pub async fn for_authentication(
        &self,
        supi: &str,
    ) -> Result<Option<Arc<Subscriber>>, StoreError> {
        let Some(remote) = &self.remote else { return self.store.subscriber(supi) };
        remote.for_authentication(supi).await
    }

    /// The states of a subscriber from which its sequence number may be advanced: those that
    /// [`SubscriberData::for_authentication`] returned, and the present one.
    ///
    /// # Errors
    /// The database fails.
    pub async fn before_advance(&self, supi: &str) -> Result<Vec<Arc<Subscriber>>, StoreError> {
        let Some(subscriber) = self.subscriber(supi).await? else { return Ok(Vec::new()) };
        let Some(remote) = &self.remote else { return Ok(vec![subscriber]) };
        let reserved = lock(&remote.cache).reserved(supi).to_vec();
        let at = |sqn: u64| Arc::new(Subscriber { sqn, ..(*subscriber).clone() });
        let mut all: Vec<_> = reserved.iter().map(|reservation| at(reservation.from)).collect();
        all.push(subscriber);
        Ok(all)
    }

    /// Advances a sequence number from `from` to `to`. Returns whether it was `from`. The number
    /// is committed when the call returns.
    ///
    /// # Errors
    /// The database failed. The number must not be used.
    pub async fn advance_sqn(&self, supi: &str, from: u64, to: u64) -> Result<bool, StoreError> {
        let Some(remote) = &self.remote else {
            return self.store.advance_sqn_in_group(supi, from, to).await;
        };
        let reservation = lock(&remote.cache).take_reservation(supi, from);
        let outcome = match reservation {
            Some(Reservation { to: own, .. }) if to == own || from < to && to < own => {
                return Ok(true);
            }
            Some(_) => statements::resynchronise(&remote.pool, supi, to).await,
            None => statements::advance(&remote.pool, supi, from, to).await,
        };
        // The cached number may differ from the database's, and the USIM may not accept the rest of
        // the block.
        lock(&remote.cache).invalidate(supi);
        outcome
    }

    /// Writes a context of a subscriber. Returns whether it is new.
    ///
    /// # Errors
    /// The database fails.
    pub async fn put(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        value: String,
        urgency: Urgency,
    ) -> Result<bool, StoreError> {
        let Some(remote) = &self.remote else {
            return self.store.put_context(supi, kind, key, &value);
        };
        let held = remote.context(supi, kind, key).await?;
        if held.as_ref() == Some(&value) {
            return Ok(false);
        }
        remote.write(supi, kind, key, Some(value), urgency).await?;
        Ok(held.is_none())
    }

    /// Returns a context.
    ///
    /// # Errors
    /// The database fails.
    pub async fn context(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
    ) -> Result<Option<String>, StoreError> {
        match &self.remote {
            None => self.store.context(supi, kind, key),
            Some(remote) => remote.context(supi, kind, key).await,
        }
    }

    /// Returns all contexts of a kind with their keys.
    ///
    /// # Errors
    /// The database fails.
    pub async fn contexts(
        &self,
        supi: &str,
        kind: &str,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let Some(remote) = &self.remote else { return self.store.contexts(supi, kind) };
        let record = remote.record(supi, Some(CONTEXT_VALIDITY)).await?;
        let of_kind = record.iter().flat_map(|record| &record.contexts);
        let of_kind = of_kind.filter(|((of, _), _)| of == kind);
        Ok(of_kind.map(|((_, key), value)| (key.clone(), value.clone())).collect())
    }

    /// Removes a context. Returns whether it existed.
    ///
    /// # Errors
    /// The database fails.
    pub async fn remove(&self, supi: &str, kind: &str, key: &str) -> Result<bool, StoreError> {
        let Some(remote) = &self.remote else {
            return self.store.remove_context(supi, kind, key);
        };
        if remote.context(supi, kind, key).await?.is_none() {
            return Ok(false);
        }
        remote.write(supi, kind, key, None, Urgency::Soon).await?;
        Ok(true)
    }

    /// Waits until all contexts so far are written, or an attempt to write them failed.
    ///
    /// # Errors
    /// The database fails.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let Some(remote) = &self.remote else { return Ok(()) };
        match remote.writes.unwritten() {
            Some(batch) => {
                remote.writes.hurry();
                remote.writes.attempted(batch).await
            }
            None => Ok(()),
        }
    }

    /// Waits for `interval`, or until the server notifies changes, and reads them within `limit`.
    /// Call it in a loop: subscribers are cached only while one is running. Returns whether there
    /// may be any.
    ///
    /// # Errors
    /// The database fails, or does not answer within the limit.
    pub async fn follow(&self, interval: Duration, limit: Duration) -> Result<bool, StoreError> {
        let Some(remote) = &self.remote else {
            tokio::time::sleep(interval).await;
            return Ok(true);
        };
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = remote.changed.notified() => {}
        }
        remote.look_at_changes(limit).await
    }

    /// Commits blocks of sequence numbers before the first authentications of subscribers, until
    /// the future is dropped. Only waits where numbers are committed one by one.
    pub async fn lease_ahead(&self) {
        match &self.remote {
            None => std::future::pending().await,
            Some(remote) => remote.ahead.run(&remote.pool, &remote.cache).await,
        }
    }

    /// Listens to notifications of changes, which wake [`SubscriberData::follow`], until the future
    /// is dropped. Only waits where there are none.
    pub async fn listen(&self) {
        let Some(remote) = &self.remote else { return std::future::pending().await };
        remote.listen().await
    }
}

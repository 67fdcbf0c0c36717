//! Boxed futures.

use std::future::Future;
use std::pin::Pin;

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

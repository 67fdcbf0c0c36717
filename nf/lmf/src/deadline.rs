//! The time limit of a wait for several messages of a peer.
use std::time::Instant;
use tokio::sync::mpsc;

/// Messages that are read after the time limit: those that waited in the queue when it passed.
const LATE: usize = 64;

/// A time limit. Messages that are in the queue at the limit still count, since a busy process may
/// read them late. But a peer that keeps the queue filled does not extend the wait.
#[derive(Debug)]
pub(crate) struct Deadline {
    until: Instant,
    late: usize,
}

impl Deadline {
    pub(crate) fn new(until: Instant) -> Self {
        Deadline { until, late: LATE }
    }

    /// Whether another message may be read now.
    pub(crate) fn admits(&mut self, now: Instant) -> bool {
        if now < self.until {
            return true;
        }
        let left = self.late.checked_sub(1);
        self.late = left.unwrap_or(0);
        left.is_some()
    }

    /// The next message of a queue. None: the limit has passed. `Some(None)`: the queue is closed.
    pub(crate) async fn next<T>(&mut self, queue: &mut mpsc::Receiver<T>) -> Option<Option<T>> {
        if !self.admits(Instant::now()) {
            return None;
        }
        tokio::time::timeout_at(self.until.into(), queue.recv()).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn run<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test)
    }

    #[test]
    fn attack_a_peer_that_keeps_its_queue_filled_does_not_extend_the_wait() {
        run(async {
            let (sender, mut queue) = mpsc::channel(1);
            let mut deadline = Deadline::new(Instant::now());
            sender.try_send(()).unwrap();
            let mut read = 0;
            while deadline.next(&mut queue).await.is_some() {
                read += 1;
                assert!(read <= LATE, "the wait goes on");
                sender.try_send(()).unwrap();
            }
            assert_eq!(read, LATE);
        });
    }

    #[test]
    fn a_message_that_waits_at_the_limit_is_read() {
        run(async {
            let (sender, mut queue) = mpsc::channel(2);
            let mut deadline = Deadline::new(Instant::now());
            sender.try_send(1).unwrap();
            assert_eq!(deadline.next(&mut queue).await, Some(Some(1)));
            assert_eq!(deadline.next(&mut queue).await, None);
            let mut deadline = Deadline::new(Instant::now() + Duration::from_secs(30));
            drop(sender);
            assert_eq!(deadline.next(&mut queue).await, Some(None));
        });
    }
}

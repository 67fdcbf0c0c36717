//! Waits for several futures at the same time, without a task for each.
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

enum Slot<'a, T> {
    Running(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
    Done(Option<T>),
}

/// The outputs of all futures, in their order.
pub(crate) async fn all<'a, F: Future + Send + 'a>(
    futures: impl IntoIterator<Item = F>,
) -> Vec<F::Output>
where
    F::Output: Send,
{
    let mut slots: Vec<Slot<'a, F::Output>> =
        futures.into_iter().map(|future| Slot::Running(Box::pin(future))).collect();
    poll_fn(move |context| {
        let mut running = false;
        for slot in &mut slots {
            if let Slot::Running(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(output) => *slot = Slot::Done(Some(output)),
                    Poll::Pending => running = true,
                }
            }
        }
        if running {
            return Poll::Pending;
        }
        let outputs = slots.iter_mut().filter_map(|slot| match slot {
            Slot::Done(output) => output.take(),
            Slot::Running(_) => None,
        });
        Poll::Ready(outputs.collect())
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::all;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn outputs_come_in_their_order_after_the_longest() {
        let wait = |n: u64| async move {
            tokio::time::sleep(Duration::from_millis(n)).await;
            n
        };
        let started = tokio::time::Instant::now();
        assert_eq!(all([wait(30), wait(10), wait(20)]).await, [30, 10, 20]);
        assert_eq!(started.elapsed().as_millis(), 30);
        assert!(all(Vec::<std::future::Ready<()>>::new()).await.is_empty());
    }
}

//! What a client says first goes in one piece: the preface, its settings, and a request (RFC 9113,
//! 3.4 allows it).
//!
//! Written as it comes it would be three or four pieces with a turn of a task between them. A
//! server that waits for a request for no longer than a millisecond after the preface, as those of
//! free5GC do, would have closed the connection before the request on a busy machine.
use std::future::Future;
use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// "PRI * HTTP/2.0" and what follows, octets.
const PREFACE: usize = 24;
/// Length, type, flags and stream of a frame, octets (RFC 9113, 4.1).
const FRAME_HEADER: usize = 9;
/// The type of HEADERS (RFC 9113, 6.2).
const HEADERS: u8 = 1;
/// How long a request is waited for: a connection is made for one, which may have been given up
/// meanwhile.
const PATIENCE: Duration = Duration::from_millis(10);
/// How much is kept back at the most, octets.
const MOST: usize = 16 << 10;

/// A stream whose first octets wait for a request.
pub struct FirstFlight<S> {
    stream: S,
    /// What waits, and how much of it has gone since it was let go.
    held: Vec<u8>,
    gone: usize,
    /// Where the next frame begins in what waits.
    frame: usize,
    /// Until when; none once all has gone.
    patience: Option<Pin<Box<Sleep>>>,
    let_go: bool,
}

impl<S> FirstFlight<S> {
    /// Of a connection on which nothing was said yet.
    pub fn new(stream: S) -> Self {
        Self::waiting(stream, PATIENCE)
    }

    fn waiting(stream: S, patience: Duration) -> Self {
        let patience = Some(Box::pin(tokio::time::sleep(patience)));
        FirstFlight {
            stream,
            held: Vec::with_capacity(1 << 10),
            gone: 0,
            frame: PREFACE,
            patience,
            let_go: false,
        }
    }

    fn is_holding(&self) -> bool {
        self.patience.is_some()
    }

    /// Keeps octets back, and sees whether a request is among them.
    fn hold(&mut self, octets: &[u8]) {
        self.held.extend_from_slice(octets);
        while let Some(header) = self.held.get(self.frame..self.frame + FRAME_HEADER) {
            self.let_go |= header[3] == HEADERS;
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
            self.frame += FRAME_HEADER + length;
        }
        self.let_go |= self.held.len() >= MOST;
    }
}

impl<S: AsyncWrite + Unpin> FirstFlight<S> {
    /// Sends what was kept back, if it may go by now; whether it has gone.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool>> {
        let Some(patience) = &mut self.patience else { return Poll::Ready(Ok(true)) };
        if !self.let_go && patience.as_mut().poll(cx).is_pending() {
            return Poll::Ready(Ok(false));
        }
        self.let_go = true;
        while self.gone < self.held.len() {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, &self.held[self.gone..]))? {
                0 => return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into())),
                some => self.gone += some,
            }
        }
        (self.held, self.patience) = (Vec::new(), None);
        Poll::Ready(Ok(true))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FirstFlight<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FirstFlight<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<Result<usize>> {
        if !self.is_holding() || self.let_go && ready!(self.poll_gone(cx))? {
            return Pin::new(&mut self.stream).poll_write(cx, octets);
        }
        self.hold(octets);
        Poll::Ready(Ok(octets.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        if !self.is_holding() || self.let_go && ready!(self.poll_gone(cx))? {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        }
        slices.iter().for_each(|octets| self.hold(octets));
        Poll::Ready(Ok(slices.iter().map(|octets| octets.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        match ready!(self.poll_gone(cx))? {
            true => Pin::new(&mut self.stream).poll_flush(cx),
            // Nobody waits for it: what comes next is the request, or the end of patience, which
            // has this asked again.
            false => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.let_go = true;
        ready!(self.poll_gone(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const SETTINGS: &[u8] = &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];
    const REQUEST: &[u8] = &[0, 0, 1, 1, 5, 0, 0, 0, 1, 0x82];

    #[tokio::test]
    async fn settings_wait_for_the_request_and_go_with_it() {
        let (near, mut far) = duplex(1 << 10);
        let mut near = FirstFlight::waiting(near, Duration::MAX);
        near.write_all(&[b'p'; PREFACE]).await.unwrap();
        near.write_all(SETTINGS).await.unwrap();
        near.flush().await.unwrap();
        let mut buffer = [0; 200];
        let early = tokio::time::timeout(Duration::from_millis(2), far.read(&mut buffer)).await;
        assert!(early.is_err(), "{early:?}");
        // A frame in two pieces.
        near.write_all(&REQUEST[..4]).await.unwrap();
        near.write_all(&REQUEST[4..]).await.unwrap();
        near.flush().await.unwrap();
        let read = far.read(&mut buffer).await.unwrap();
        assert_eq!(buffer[..read], [&[b'p'; PREFACE], SETTINGS, REQUEST].concat());
        // From then on nothing waits.
        near.write_all(SETTINGS).await.unwrap();
        near.flush().await.unwrap();
        let read = far.read(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..read], SETTINGS);
    }

    #[tokio::test]
    async fn without_a_request_they_go_after_a_moment_or_at_the_end() {
        let mut buffer = [0; 200];
        let (near, mut far) = duplex(1 << 10);
        let mut near = FirstFlight::new(near);
        near.write_all(&[b'p'; PREFACE]).await.unwrap();
        tokio::time::sleep(2 * PATIENCE).await;
        near.flush().await.unwrap();
        assert_eq!(far.read(&mut buffer).await.unwrap(), PREFACE);
        let (near, mut far) = duplex(1 << 10);
        let mut near = FirstFlight::waiting(near, Duration::MAX);
        near.write_all(&[b'p'; PREFACE]).await.unwrap();
        near.shutdown().await.unwrap();
        assert_eq!(far.read(&mut buffer).await.unwrap(), PREFACE);
        assert_eq!(far.read(&mut buffer).await.unwrap(), 0);
    }
}

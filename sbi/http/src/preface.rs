//! Sends the client's preface, its settings and its first request in one write, as RFC 9113, 3.4
//! allows.
//!
//! hyper writes them in three or four pieces, with a tick of the scheduler between them. Servers
//! such as free5GC's close a connection without a request one millisecond after the preface, which
//! happens on a busy machine.
use std::future::Future;
use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Length of the client connection preface in bytes.
const PREFACE: usize = 24;
/// Length of a frame header in bytes (RFC 9113, 4.1).
const FRAME_HEADER: usize = 9;
/// The frame type of HEADERS (RFC 9113, 6.2).
const HEADERS: u8 = 1;
/// How long to wait for the first request. It may have been cancelled meanwhile.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(10);
/// Maximum number of buffered bytes.
const MAX_BUFFERED: usize = 16 << 10;

/// A stream that buffers its first bytes until there is a request.
pub struct CoalescePreface<S> {
    stream: S,
    buffered: Vec<u8>,
    /// Number of buffered bytes that were written.
    flushed: usize,
    /// Offset of the next frame in `buffered`.
    next_frame: usize,
    /// `None` once the buffer is written.
    timeout: Option<Pin<Box<Sleep>>>,
    /// The buffer may be written.
    release: bool,
}

impl<S> CoalescePreface<S> {
    /// Wraps an unused connection.
    pub fn new(stream: S) -> Self {
        Self::with_timeout(stream, REQUEST_TIMEOUT)
    }

    fn with_timeout(stream: S, timeout: Duration) -> Self {
        let timeout = Some(Box::pin(tokio::time::sleep(timeout)));
        CoalescePreface {
            stream,
            buffered: Vec::with_capacity(1 << 10),
            flushed: 0,
            next_frame: PREFACE,
            timeout,
            release: false,
        }
    }

    fn is_buffering(&self) -> bool {
        self.timeout.is_some()
    }

    /// Buffers bytes, and checks whether they contain a request.
    fn buffer_bytes(&mut self, bytes: &[u8]) {
        self.buffered.extend_from_slice(bytes);
        while let Some(header) = self.buffered.get(self.next_frame..self.next_frame + FRAME_HEADER)
        {
            self.release |= header[3] == HEADERS;
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
            self.next_frame += FRAME_HEADER + length;
        }
        self.release |= self.buffered.len() >= MAX_BUFFERED;
    }
}

impl<S: AsyncWrite + Unpin> CoalescePreface<S> {
    /// Writes the buffer if it may be written. Yields whether it is written completely.
    fn poll_release(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool>> {
        let Some(timeout) = &mut self.timeout else { return Poll::Ready(Ok(true)) };
        if !self.release && timeout.as_mut().poll(cx).is_pending() {
            return Poll::Ready(Ok(false));
        }
        self.release = true;
        while self.flushed < self.buffered.len() {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, &self.buffered[self.flushed..]))?
            {
                0 => return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into())),
                some => self.flushed += some,
            }
        }
        (self.buffered, self.timeout) = (Vec::new(), None);
        Poll::Ready(Ok(true))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CoalescePreface<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CoalescePreface<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        if !self.is_buffering() || self.release && ready!(self.poll_release(cx))? {
            return Pin::new(&mut self.stream).poll_write(cx, bytes);
        }
        self.buffer_bytes(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        if !self.is_buffering() || self.release && ready!(self.poll_release(cx))? {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        }
        slices.iter().for_each(|bytes| self.buffer_bytes(bytes));
        Poll::Ready(Ok(slices.iter().map(|bytes| bytes.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        match ready!(self.poll_release(cx))? {
            true => Pin::new(&mut self.stream).poll_flush(cx),
            // Report success: the request or the timeout causes another flush.
            false => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.release = true;
        ready!(self.poll_release(cx))?;
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
    async fn settings_are_sent_together_with_the_first_request() {
        let (near, mut far) = duplex(1 << 10);
        let mut near = CoalescePreface::with_timeout(near, Duration::MAX);
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
        // Nothing is buffered afterwards.
        near.write_all(SETTINGS).await.unwrap();
        near.flush().await.unwrap();
        let read = far.read(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..read], SETTINGS);
    }

    #[tokio::test]
    async fn without_a_request_the_preface_is_sent_after_the_timeout_or_at_shutdown() {
        let mut buffer = [0; 200];
        let (near, mut far) = duplex(1 << 10);
        let mut near = CoalescePreface::new(near);
        near.write_all(&[b'p'; PREFACE]).await.unwrap();
        tokio::time::sleep(2 * REQUEST_TIMEOUT).await;
        near.flush().await.unwrap();
        assert_eq!(far.read(&mut buffer).await.unwrap(), PREFACE);
        let (near, mut far) = duplex(1 << 10);
        let mut near = CoalescePreface::with_timeout(near, Duration::MAX);
        near.write_all(&[b'p'; PREFACE]).await.unwrap();
        near.shutdown().await.unwrap();
        assert_eq!(far.read(&mut buffer).await.unwrap(), PREFACE);
        assert_eq!(far.read(&mut buffer).await.unwrap(), 0);
    }
}

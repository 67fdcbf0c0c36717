//! Limits of the number of channels: in all, and from one source address, so that one UE cannot
//! take the channels of all others.
use martlet_tasks::connections::origin;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The limit that a new channel would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChannelLimit {
    /// Channels of all UEs.
    Total,
    /// Channels from one source address.
    PerAddress,
}

impl ChannelLimit {
    /// The value of the metric's label.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            ChannelLimit::Total => "too_many_channels",
            ChannelLimit::PerAddress => "too_many_channels_per_address",
        }
    }
}

#[derive(Default)]
struct Open {
    total: usize,
    by_source: HashMap<IpAddr, usize>,
}

/// The open channels, and those whose handshake is in progress.
pub(crate) struct ChannelLimits {
    max: usize,
    max_per_address: usize,
    open: Arc<Mutex<Open>>,
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ChannelLimits {
    pub(crate) fn new(max: usize, max_per_address: usize) -> Self {
        ChannelLimits { max, max_per_address, open: Arc::default() }
    }

    /// Admits a channel from an address.
    ///
    /// # Errors
    /// The channel exceeds a limit.
    pub(crate) fn admit(&self, address: IpAddr) -> Result<Admitted, ChannelLimit> {
        // A UE has all addresses of the /64 prefix of its session.
        let source = origin(address);
        let mut open = lock(&self.open);
        if open.total >= self.max {
            return Err(ChannelLimit::Total);
        }
        let own = open.by_source.get(&source).copied().unwrap_or(0);
        if own >= self.max_per_address {
            return Err(ChannelLimit::PerAddress);
        }
        open.total += 1;
        open.by_source.insert(source, own + 1);
        Ok(Admitted { source, open: self.open.clone() })
    }
}

/// A channel that counts until it is dropped.
pub(crate) struct Admitted {
    source: IpAddr,
    open: Arc<Mutex<Open>>,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut open = lock(&self.open);
        open.total -= 1;
        if let Some(own) = open.by_source.get_mut(&self.source) {
            *own -= 1;
            if *own == 0 {
                open.by_source.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_address_leaves_channels_for_others() {
        let limits = ChannelLimits::new(3, 2);
        let admit = |from| limits.admit(address(from)).map_err(ChannelLimit::reason);
        let first = admit("10.45.0.2").unwrap();
        let _second = admit("::ffff:10.45.0.2").unwrap();
        assert_eq!(admit("10.45.0.2").err(), Some("too_many_channels_per_address"));
        let other = admit("10.45.0.3").unwrap();
        assert_eq!(admit("10.45.0.4").err(), Some("too_many_channels"));
        drop(other);
        assert_eq!(admit("10.45.0.2").err(), Some("too_many_channels_per_address"));
        drop(first);
        assert!(admit("10.45.0.2").is_ok());
    }

    #[test]
    fn the_addresses_of_a_prefix_count_together() {
        let limits = ChannelLimits::new(9, 1);
        let admit = |from| limits.admit(address(from)).ok();
        let first = admit("fd45:0:0:2::1");
        assert!(first.is_some() && admit("fd45:0:0:2:ffff::7").is_none());
        assert!(admit("fd45:0:0:3::1").is_some());
        drop(first);
        assert!(admit("fd45:0:0:2:ffff::7").is_some());
        assert!(lock(&limits.open).by_source.is_empty());
    }
}

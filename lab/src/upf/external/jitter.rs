//! Packet delay variation, from the latencies of packets in the order of their reception.

/// The mean difference between the latencies of consecutive packets, without sign: the inter-packet
/// delay variation of RFC 3393. `None` for fewer than two packets.
pub(super) fn mean_change(latencies: &[f64]) -> Option<f64> {
    let sum: f64 = latencies.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
    let changes = latencies.len().checked_sub(1).filter(|changes| *changes > 0)?;
    Some(sum / changes as f64)
}

/// Each latency less the smallest: the packet delay variation of RFC 5481, 4.2.
pub(super) fn beyond_smallest(latencies: &[f64]) -> Vec<f64> {
    let smallest = latencies.iter().copied().fold(f64::INFINITY, f64::min);
    latencies.iter().map(|latency| latency - smallest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_no_part_of_the_latency_that_all_packets_have() {
        let latencies = [20.0, 22.0, 21.0, 30.0];
        let later = latencies.map(|latency| latency + 500.0);
        assert_eq!(mean_change(&latencies), Some(4.0));
        assert_eq!(mean_change(&later), Some(4.0));
        assert_eq!(beyond_smallest(&latencies), [0.0, 2.0, 1.0, 10.0]);
        assert_eq!(beyond_smallest(&later), [0.0, 2.0, 1.0, 10.0]);
        assert_eq!((mean_change(&[7.0]), mean_change(&[])), (None, None));
        assert!(beyond_smallest(&[]).is_empty());
    }
}

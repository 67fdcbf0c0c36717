//! The lower bound of TLS: the time in which this machine encrypts and decrypts records with
//! AES-128-GCM by AWS-LC.
//!
//!     cargo bench -p martlet-lcs-channel --bench aes

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use std::time::Instant;

/// Microseconds of the best of many runs, which other load on the machine disturbs least.
fn best(mut run: impl FnMut()) -> f64 {
    let once = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64() * 1e6
    };
    (0..3000).map(|_| once(&mut run)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &[7; 16]).expect("a key"));
    let nonce = || Nonce::assume_unique_for_key([1; 12]);
    println!("{:>7} {:>10} {:>10} {:>9}", "bytes", "seal, µs", "open, µs", "GB/s");
    for size in [64, 1024, 4096, 16_384] {
        let plain = vec![9u8; size];
        let (mut sealed, mut tag, mut opened) = (vec![0; size], [0; 17], vec![0; size + 1]);
        let seal = best(|| {
            let done = key.seal_out_of_place_scatter(
                nonce(),
                Aad::empty(),
                &plain,
                &mut sealed,
                &[23],
                &mut tag,
            );
            done.expect("the record is sealed");
        });
        let mut whole = sealed.clone();
        whole.push(tag[0]);
        let open = best(|| {
            let done =
                key.open_separate_gather(nonce(), Aad::empty(), &whole, &tag[1..], &mut opened);
            done.expect("the record is opened");
        });
        println!(
            "{size:>7} {seal:>10.2} {open:>10.2} {:>9.1}",
            2.0 * size as f64 / (seal + open) / 1e3
        );
    }
}

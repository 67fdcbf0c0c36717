//! Bodies of service operations in compact form; the first byte selects the type.
#![no_main]

#[macro_use]
mod bodies;

use martlet_sbi::compact;
use martlet_sbi_api as api;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    macro_rules! one_of {
        ($($kind:ty),* $(,)?) => {{
            let readers: &[fn(&[u8])] = &[$(|bytes| {
                let Ok(value) = compact::from_slice::<$kind>(bytes) else { return };
                let mut written = Vec::new();
                compact::to_vec(&value, &mut written);
                let again: $kind =
                    compact::from_slice(&written).expect("an encoded value decodes");
                let mut twice = Vec::new();
                compact::to_vec(&again, &mut twice);
                assert_eq!(written, twice);
            }),*];
            readers[usize::from(*choice) % readers.len()](bytes);
        }};
    }
    with_bodies!(one_of);
});

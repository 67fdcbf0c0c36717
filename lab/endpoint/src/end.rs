//! The options of an end.
use crate::Variant;
use anyhow::{Context, Result, bail};
use martlet_lab_channels::Options;
use std::time::Duration;

/// The options of an end, converted to and from command line arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// How messages are transported.
    pub variant: Variant,
    /// Microseconds to poll for a response before sleeping.
    pub spin: u64,
    /// Bytes of an IP packet on the path, for QUIC and UDP.
    pub mtu: u16,
    /// SCHED_FIFO with priority 1, locked memory, and the CPU frequency governor `performance`.
    pub realtime: bool,
}

impl End {
    /// The arguments that [`End::of_words`] parses.
    pub fn words(&self) -> Vec<String> {
        let mut words =
            vec!["--variant".into(), self.variant.name(), "--spin".into(), self.spin.to_string()];
        words.extend(["--mtu".into(), self.mtu.to_string()]);
        words.extend(self.realtime.then(|| "--realtime".into()));
        words
    }

    /// Parses the arguments. `address_option` is the option that has the address.
    ///
    /// # Errors
    /// An argument is invalid or missing: which one.
    pub fn of_words(words: &[String], address_option: &str) -> Result<(String, End)> {
        let (mut address, mut variant) = (None, None);
        let (mut spin, mut mtu, mut realtime) = (0, 65_535, false);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--realtime" => realtime = true,
                "--variant" => variant = Some(value()?.clone()),
                "--spin" => spin = value()?.parse().context("--spin")?,
                "--mtu" => mtu = value()?.parse().context("--mtu")?,
                name if name == address_option => address = Some(value()?.clone()),
                other => bail!(
                    "unknown option {other}: use {address_option}, --variant, --spin, --mtu or \
                     --realtime"
                ),
            }
        }
        let variant = variant.context("--variant is missing, for example --variant rustls")?;
        let known =
            || Variant::all().iter().map(|variant| variant.name()).collect::<Vec<_>>().join(", ");
        let variant = Variant::from_name(&variant)
            .with_context(|| format!("unknown variant {variant:?}: use one of {}", known()))?;
        Ok((
            address.with_context(|| format!("{address_option} is missing"))?,
            End { variant, spin, mtu, realtime },
        ))
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            timeout: Duration::from_secs(10),
            spin: Duration::from_micros(self.spin),
            no_delay: self.variant.no_delay(),
            mtu: self.mtu,
            early_data: false,
            keep_alive: self.variant.keep_alive(),
        }
    }

    pub(crate) fn enter(&self) -> Result<()> {
        if self.realtime {
            martlet_lcs_realtime::enter(martlet_lcs_realtime::Wanted::ALL)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_lab_channels::Kind;

    #[test]
    fn words_are_read_as_they_are_written() {
        let end =
            End { variant: Variant::Channel(Kind::Rustls), spin: 7, mtu: 1400, realtime: true };
        let mut words = vec!["--to".into(), "127.0.0.1:1".into()];
        words.extend(end.words());
        assert_eq!(End::of_words(&words, "--to").unwrap(), ("127.0.0.1:1".into(), end));
        for wrong in [
            vec!["--variant"],
            vec!["--variant", "pigeon", "--to", "x"],
            vec!["--to", "x"],
            vec!["--feet", "2"],
        ] {
            let words: Vec<String> = wrong.into_iter().map(String::from).collect();
            assert!(End::of_words(&words, "--to").is_err(), "{words:?}");
        }
    }
}

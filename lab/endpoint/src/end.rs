//! What an end is told.
use crate::Way;
use anyhow::{Context, Result, bail};
use martlet_lab_channels::Options;
use std::time::Duration;

/// What an end is told, as words of a command line and back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// How messages get to the other end.
    pub way: Way,
    /// Microseconds to look for an answer again and again before sleeping.
    pub spin: u64,
    /// Octets of an IP packet of the path, for QUIC and UDP.
    pub mtu: u16,
    /// SCHED_FIFO with priority 1, memory locked, processors at full speed.
    pub realtime: bool,
}

impl End {
    /// As [`End::of_words`] reads it.
    pub fn words(&self) -> Vec<String> {
        let mut words =
            vec!["--way".into(), self.way.name(), "--spin".into(), self.spin.to_string()];
        words.extend(["--mtu".into(), self.mtu.to_string()]);
        words.extend(self.realtime.then(|| "--realtime".into()));
        words
    }

    /// From words, of which the first is the name of an address, and the second the address.
    ///
    /// # Errors
    /// A word is wrong or missing: which one.
    pub fn of_words(words: &[String], place: &str) -> Result<(String, End)> {
        let (mut address, mut way) = (None, None);
        let (mut spin, mut mtu, mut realtime) = (0, 65_535, false);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--realtime" => realtime = true,
                "--way" => way = Some(value()?.clone()),
                "--spin" => spin = value()?.parse().context("--spin")?,
                "--mtu" => mtu = value()?.parse().context("--mtu")?,
                name if name == place => address = Some(value()?.clone()),
                other => bail!(
                    "{other} is not known here: write {place}, --way, --spin, --mtu or --realtime"
                ),
            }
        }
        let way = way.context("say --way, such as rustls")?;
        let known = || Way::all().iter().map(|way| way.name()).collect::<Vec<_>>().join(", ");
        let way = Way::from_name(&way)
            .with_context(|| format!("there is no channel {way:?}; there are {}", known()))?;
        Ok((address.with_context(|| format!("say {place}"))?, End { way, spin, mtu, realtime }))
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            timeout: Duration::from_secs(10),
            spin: Duration::from_micros(self.spin),
            no_delay: self.way.no_delay(),
            mtu: self.mtu,
            early_data: false,
            keep_alive: self.way.keep_alive(),
        }
    }

    pub(crate) fn enter(&self) -> Result<()> {
        if self.realtime {
            martlet_lcs_realtime::enter(martlet_lcs_realtime::Wanted::ALL)
                .map_err(anyhow::Error::msg)?;
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
        let end = End { way: Way::Channel(Kind::Rustls), spin: 7, mtu: 1400, realtime: true };
        let mut words = vec!["--to".into(), "127.0.0.1:1".into()];
        words.extend(end.words());
        assert_eq!(End::of_words(&words, "--to").unwrap(), ("127.0.0.1:1".into(), end));
        for wrong in [
            vec!["--way"],
            vec!["--way", "pigeon", "--to", "x"],
            vec!["--to", "x"],
            vec!["--feet", "2"],
        ] {
            let words: Vec<String> = wrong.into_iter().map(String::from).collect();
            assert!(End::of_words(&words, "--to").is_err(), "{words:?}");
        }
    }
}

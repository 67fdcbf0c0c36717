//! Packet flow descriptions of applications (TS 29.244, 7.4.3.1).
use super::ApplicationId;
use super::address::Reader;
use crate::grouped::group;
use crate::{DecodeError, IeValue};

group! {
    /// An application and its packet flow descriptions; without any, the UP function removes it
    /// (7.4.3.1-2).
    ApplicationIdsPfds = 58 {
        /** The application. */ req application_id: ApplicationId,
        /** Its descriptions. */ list contexts: PfdContext,
    }
}

group! {
    /// Packet flow descriptions (7.4.3.1-3).
    PfdContext = 59 { /** Each. */ list contents: PfdContents, }
}

/// One packet flow description (8.2.39): alternatives, of which one has to match.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PfdContents {
    /// Flow descriptions in the form of SDF filters: the first, then additional ones.
    pub flow_descriptions: Vec<String>,
    /// Parts of URLs, as bytes.
    pub urls: Vec<Vec<u8>>,
    /// Domain names, each with its protocol, if any.
    pub domain_names: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Custom PFD content, as operators agree.
    pub custom: Option<Vec<u8>>,
}

const FD: u8 = 0x01;
const URL: u8 = 0x02;
const DN: u8 = 0x04;
const CP: u8 = 0x08;
const DNP: u8 = 0x10;
const AFD: u8 = 0x20;
const AURL: u8 = 0x40;
const ADNP: u8 = 0x80;

fn text(bytes: &[u8]) -> Result<String, DecodeError> {
    std::str::from_utf8(bytes)
        .map(str::to_string)
        .map_err(|_| DecodeError::Incorrect(PfdContents::TYPE))
}

/// Values in a field, each preceded by its length.
fn each(field: &[u8]) -> Result<Vec<&[u8]>, DecodeError> {
    let mut reader = Reader::new(field, PfdContents::TYPE);
    let mut values = Vec::new();
    while !reader.bytes.is_empty() {
        values.push(sized(&mut reader)?);
    }
    Ok(values)
}

fn sized<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let length = reader.u16()?;
    reader.take(usize::from(length))
}

fn put(bytes: &[u8], out: &mut Vec<u8>) {
    let bytes = bytes.get(..usize::from(u16::MAX)).unwrap_or(bytes);
    out.extend((bytes.len() as u16).to_be_bytes());
    out.extend(bytes);
}

fn put_all<'a>(values: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let mut field = Vec::new();
    values.for_each(|value| put(value, &mut field));
    put(&field, out);
}

impl IeValue for PfdContents {
    const TYPE: u16 = 61;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let flags = reader.u8()?;
        reader.u8()?;
        let mut found = PfdContents::default();
        if flags & FD != 0 {
            found.flow_descriptions.push(text(sized(&mut reader)?)?);
        }
        if flags & URL != 0 {
            found.urls.push(sized(&mut reader)?.to_vec());
        }
        let name = (flags & DN != 0).then(|| sized(&mut reader)).transpose()?;
        if flags & CP != 0 {
            found.custom = Some(sized(&mut reader)?.to_vec());
        }
        let protocol = (flags & DNP != 0).then(|| sized(&mut reader)).transpose()?;
        match (name, protocol) {
            (Some(name), protocol) => {
                found.domain_names.push((name.to_vec(), protocol.map(<[u8]>::to_vec)))
            }
            // A protocol belongs to a domain name (8.2.39).
            (None, Some(_)) => return Err(DecodeError::Incorrect(Self::TYPE)),
            (None, None) => {}
        }
        if flags & AFD != 0 {
            for value in each(sized(&mut reader)?)? {
                found.flow_descriptions.push(text(value)?);
            }
        }
        if flags & AURL != 0 {
            found.urls.extend(each(sized(&mut reader)?)?.into_iter().map(<[u8]>::to_vec));
        }
        if flags & ADNP != 0 {
            // Alternating names and protocols; an empty protocol means none.
            for pair in each(sized(&mut reader)?)?.chunks(2) {
                let protocol = pair
                    .get(1)
                    .filter(|protocol| !protocol.is_empty())
                    .map(|protocol| protocol.to_vec());
                found.domain_names.push((pair[0].to_vec(), protocol));
            }
        }
        Ok(found)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let (flow, flows) = self.flow_descriptions.split_first().unzip();
        let (url, urls) = self.urls.split_first().unzip();
        let (name, names) = self.domain_names.split_first().unzip();
        let protocol = name.and_then(|(_, protocol)| protocol.as_ref());
        let bits = [
            (flow.is_some(), FD),
            (url.is_some(), URL),
            (name.is_some(), DN),
            (self.custom.is_some(), CP),
            (protocol.is_some(), DNP),
            (flows.is_some_and(|more| !more.is_empty()), AFD),
            (urls.is_some_and(|more| !more.is_empty()), AURL),
            (names.is_some_and(|more| !more.is_empty()), ADNP),
        ];
        out.push(bits.iter().map(|(set, bit)| if *set { *bit } else { 0 }).sum());
        out.push(0);
        flow.into_iter().for_each(|text| put(text.as_bytes(), out));
        url.into_iter().for_each(|url| put(url, out));
        name.into_iter().for_each(|(name, _)| put(name, out));
        self.custom.iter().for_each(|custom| put(custom, out));
        protocol.into_iter().for_each(|protocol| put(protocol, out));
        if let Some(more) = flows.filter(|more| !more.is_empty()) {
            put_all(more.iter().map(String::as_bytes), out);
        }
        if let Some(more) = urls.filter(|more| !more.is_empty()) {
            put_all(more.iter().map(Vec::as_slice), out);
        }
        if let Some(more) = names.filter(|more| !more.is_empty()) {
            let values = more
                .iter()
                .flat_map(|(name, protocol)| [&name[..], protocol.as_deref().unwrap_or_default()]);
            put_all(values, out);
        }
    }
}

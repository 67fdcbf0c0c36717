//! What attackers send: messages of a grammar, those of tests and captures, mutated and replayed.
use super::model::UNPROTECTED;
use martlet_nas::Nas5gsMessage;
use martlet_tests::RawGnb;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// Messages that are kept to be replayed.
const REPLAYED: usize = 256;

/// Messages of the tests of NGAP and NAS, from another implementation.
fn vectors(text: &str) -> Vec<Vec<u8>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| hex::decode(line.split_whitespace().last()?).ok()).collect()
}

/// Messages of captures, without the subscriber that all tests have: a valid message about a
/// bystander may have an effect.
fn captured(text: &str) -> Vec<Vec<u8>> {
    text.lines().filter_map(|line| hex::decode(line).ok()).collect()
}

/// Replaces one sequence of bytes by another of the same length.
fn replaced(mut message: Vec<u8>, what: &[u8], by: &[u8]) -> Vec<u8> {
    let mut at = 0;
    while let Some(found) = message[at..].windows(what.len()).position(|window| window == what) {
        message[at + found..][..by.len()].copy_from_slice(by);
        at += found + by.len();
    }
    message
}

/// Chooses messages.
pub struct Grammar {
    pub random: StdRng,
    ngap: Vec<Vec<u8>>,
    nas: Vec<Vec<u8>>,
    pfcp: Vec<Vec<u8>>,
    lcs_upp: Vec<Vec<u8>>,
    bodies: Vec<Vec<u8>>,
    /// NGAP messages that were sent.
    sent: Vec<Vec<u8>>,
    /// SEIDs of the UPF that it gave to the additional SMF.
    pub seids: Vec<[u8; 8]>,
    guti: [u8; 11],
}

impl Grammar {
    pub fn new(seed: u64, guti: [u8; 11]) -> Grammar {
        let ngap = [
            include_str!("../../../../wire/ngap/tests/vectors/pycrate.tsv"),
            include_str!("../../../../wire/ngap/tests/vectors/ours.tsv"),
        ];
        let nas = [
            include_str!("../../../../wire/nas/tests/vectors/pycrate.tsv"),
            include_str!("../../../../wire/nas/tests/vectors/ours.tsv"),
        ];
        let lcs_upp = include_str!("../../../../wire/lcsupp/tests/vectors/messages.tsv").lines();
        // The first byte of these selects a type for the fuzz target.
        let bodies = captured(include_str!("../../../../fuzz/seeds/sbi_json.hex"));
        let bodies = bodies.into_iter().map(|body| body[1..].to_vec());
        // Without certificates, everyone may register a function, and is asked then.
        let registers_a_function =
            |body: &Vec<u8>| String::from_utf8_lossy(body).contains("nfInstanceId");
        let of_unknown = |body| replaced(body, b"0000000001", b"0000000099");
        Grammar {
            random: StdRng::seed_from_u64(seed),
            ngap: ngap.iter().flat_map(|text| vectors(text)).collect(),
            nas: nas.iter().flat_map(|text| vectors(text)).collect(),
            pfcp: captured(include_str!("../../../../fuzz/seeds/pfcp.hex")),
            lcs_upp: lcs_upp
                .filter_map(|line| hex::decode(line.split('\t').nth(2)?).ok())
                .collect(),
            bodies: bodies.filter(|body| !registers_a_function(body)).map(of_unknown).collect(),
            sent: Vec::new(),
            seids: Vec::new(),
            guti,
        }
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.random.random()).collect()
    }

    /// The bytes of a message of the model.
    pub fn unprotected(&mut self, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        for word in text.split(' ') {
            match word {
                "G" => out.extend(self.guti),
                // AMF set and pointer, and 5G-TMSI.
                "T" => out.extend([&[0xf4], &self.guti[5..]].concat()),
                // Most are unknown; few are bystanders.
                "S" => {
                    let last = self.random.random_range(0..40u8);
                    out.extend([0, 0, 0, 0, 0, ((last % 10) << 4) | (last / 10)]);
                    out.truncate(out.len() - 1);
                }
                word if word.starts_with('R') => out.extend(self.bytes(word.len() * 4)),
                word => out.extend(hex::decode(word).expect("hexadecimal digits")),
            }
        }
        out
    }

    /// A NAS message: of the model, plain or under a wrong MAC, or any other; perhaps mutated.
    pub fn nas(&mut self) -> Vec<u8> {
        let mut message = match self.random.random_range(0..10) {
            0..7 => {
                let (_, _, _, text) = *UNPROTECTED.choose(&mut self.random).expect("messages");
                self.unprotected(text)
            }
            7 | 8 => self.nas.choose(&mut self.random).cloned().unwrap_or_default(),
            _ => {
                let length = self.random.random_range(0..64);
                self.bytes(length)
            }
        };
        if self.random.random_bool(0.4) {
            let header = self.random.random_range(1..5u8);
            message =
                [&[0x7e, header][..], &self.bytes(4), &[self.random.random()], &message].concat();
        }
        if self.random.random_bool(0.3) { self.mutated(message) } else { message }
    }

    fn mutated(&mut self, mut message: Vec<u8>) -> Vec<u8> {
        for _ in 0..self.random.random_range(1..4) {
            if message.is_empty() {
                break;
            }
            let at = self.random.random_range(0..message.len());
            match self.random.random_range(0..5) {
                0 => message[at] ^= 1 << self.random.random_range(0..8),
                1 => message[at] = *[0, 0x7f, 0x80, 0xff].choose(&mut self.random).unwrap_or(&0),
                2 => message.truncate(at),
                3 => message.insert(at, self.random.random()),
                _ => {
                    let tail = message.split_off(at);
                    message.extend_from_slice(&tail);
                    message.extend_from_slice(&tail);
                }
            }
        }
        message.truncate(4096);
        message
    }

    /// An NGAP message of a gNB.
    pub fn ngap(&mut self, gnb: &RawGnb) -> Vec<u8> {
        let ran_id = self.random.random_range(0..64u32);
        // Identifiers of UEs are counted up: those of other gNBs' UEs can be guessed.
        let amf_id = self.random.random_range(0..64u64);
        let message = match self.random.random_range(0..20) {
            0..7 => {
                let nas = self.nas();
                gnb.initial_ue_message(ran_id, &nas).to_vec()
            }
            7..10 => {
                let nas = self.nas();
                gnb.uplink_nas_transport(amf_id, ran_id, &nas).to_vec()
            }
            10 => gnb.release_complete(amf_id, ran_id).to_vec(),
            11 => gnb.ng_setup("001", 1).to_vec(),
            12..14 if !self.sent.is_empty() => {
                self.sent.choose(&mut self.random).cloned().unwrap_or_default()
            }
            14..17 => {
                let vector = self.ngap.choose(&mut self.random).cloned().unwrap_or_default();
                self.mutated(vector)
            }
            _ => self.ngap.choose(&mut self.random).cloned().unwrap_or_default(),
        };
        if self.sent.len() == REPLAYED {
            let at = self.random.random_range(0..REPLAYED);
            self.sent.swap_remove(at);
        }
        self.sent.push(message.clone());
        message
    }

    /// A 5GMM or 5GSM message that decodes, for a UE with keys.
    pub fn decoded(&mut self) -> Option<Nas5gsMessage> {
        let message = match self.random.random_bool(0.3) {
            true => {
                let (_, _, _, text) = *UNPROTECTED.choose(&mut self.random)?;
                self.unprotected(text)
            }
            false => self.nas.choose(&mut self.random).cloned()?,
        };
        let message = if self.random.random_bool(0.6) { self.mutated(message) } else { message };
        Nas5gsMessage::decode(&message).ok()
    }

    /// A PFCP message of an additional SMF, for sessions of its own and UE addresses of its own.
    pub fn pfcp_of_smf(&mut self, own: [u8; 4]) -> Vec<u8> {
        let message = self.pfcp.choose(&mut self.random).cloned().unwrap_or_default();
        let message = replaced(message, &[127, 0, 0, 7], &own);
        let mut message = replaced(message, &[10, 45, 0], &[10, 99, 0]);
        let sequence = self.random.random_range(0..1u32 << 20).to_be_bytes();
        let has_seid = message[0] & 1 == 1;
        let at = if has_seid { 12 } else { 4 };
        message[at..at + 3].copy_from_slice(&sequence[1..]);
        // A session establishment request has SEID 0.
        if has_seid
            && message[1] != 50
            && let Some(seid) = self.seids.choose(&mut self.random)
        {
            message[4..12].copy_from_slice(seid);
        }
        if self.random.random_bool(0.4) { self.mutated(message) } else { message }
    }

    /// A packet on N3: GTP-U with any TEID, or any bytes.
    pub fn gtpu(&mut self) -> Vec<u8> {
        let length = self.random.random_range(0..60);
        let mut packet = self.bytes(length + 8);
        if self.random.random_bool(0.8) {
            let kind = *[255, 255, 26, 1, 2, 254, 31].choose(&mut self.random).unwrap_or(&255);
            let length = (length as u16).to_be_bytes();
            packet[..4].copy_from_slice(&[0x30, kind, length[0], length[1]]);
        }
        packet
    }

    /// An LCS-UPP message of a UE.
    pub fn lcs_upp_message(&mut self) -> Vec<u8> {
        let message = self.lcs_upp.choose(&mut self.random).cloned().unwrap_or_default();
        if self.random.random_bool(0.5) { self.mutated(message) } else { message }
    }

    /// A PFCP message of a host that is no SMF, under its own node ID.
    pub fn pfcp(&mut self) -> Vec<u8> {
        let node = [0, 60, 0, 5, 0, 127, 0, 0, 99];
        let seid = self.random.random_range(0..64u64);
        let sequence = self.random.random_range(0..32u32);
        let (kind, has_seid, elements) = match self.random.random_range(0..8) {
            0 => (1, false, vec![0, 96, 0, 4, 0xe8, 0, 0, 1]),
            1 => (5, false, [&node[..], &[0, 96, 0, 4, 0xe8, 0, 0, 1]].concat()),
            2 => (9, false, node.to_vec()),
            3 => {
                let length = self.random.random_range(0..80);
                let more = self.bytes(length);
                let fseid =
                    [&[0, 57, 0, 13, 2][..], &seid.to_be_bytes(), &[127, 0, 0, 99]].concat();
                (50, true, [&node[..], &fseid, &more].concat())
            }
            4 => (52, true, self.bytes(24)),
            5 => (54, true, Vec::new()),
            6 => (57, true, self.bytes(6)),
            _ => (self.random.random_range(0..60), self.random.random(), self.bytes(16)),
        };
        let mut message = vec![0x20 | u8::from(has_seid), kind, 0, 0];
        if has_seid {
            message.extend(seid.to_be_bytes());
        }
        message.extend(&sequence.to_be_bytes()[1..]);
        message.push(0);
        message.extend(elements);
        let length = (message.len() - 4) as u16;
        message[2..4].copy_from_slice(&length.to_be_bytes());
        if self.random.random_bool(0.3) { self.mutated(message) } else { message }
    }

    /// What a host sends to a function's HTTP/2 port.
    pub fn sbi(&mut self) -> Vec<u8> {
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let body = match self.random.random_bool(0.2) {
            true => br#"{"nfInstanceId":"3fa85f64-5717-4562-b3fc-2c963f66afa6","nfType":"AMF"}"#
                .to_vec(),
            false => {
                let body = self.bodies.choose(&mut self.random).cloned().unwrap_or_default();
                if self.random.random_bool(0.3) { self.mutated(body) } else { body }
            }
        };
        let paths = [
            "/nnrf-nfm/v1/nf-instances/x",
            "/nudm-ueau/v1/x/y",
            "/namf-comm/v1/ue-contexts",
            "/nausf-auth/v1/ue-authentications",
            "/nsmf-pdusession/v1/sm-contexts/9999/modify",
            "/npcf-am-policy-control/v1/policies/9999",
            "/nudr-dr/v2/subscription-data/imsi-001010000000099/authentication-data",
            "/nchf-convergedcharging/v3/chargingdata",
            "/nausf-auth/v1/ue-authentications/9999/5g-aka-confirmation",
            "/nudm-sdm/v2/imsi-001010000000099/am-data",
            "/nudm-uecm/v1/imsi-001010000000099/registrations/amf-3gpp-access",
            "/nudr-dr/v2/subscription-data/imsi-001010000000099/context-data/amf-3gpp-access",
            "/namf-comm/v1/ue-contexts/imsi-001010000000099/n1-n2-messages",
            "/namf-loc/v1/imsi-001010000000099/provide-pos-info",
            "/nsmf-pdusession/v1/sm-contexts",
            "/npcf-smpolicycontrol/v1/sm-policies",
            "/nlmf-loc/v1/determine-location",
            "/nnssf-nsselection/v2/network-slice-information",
            "/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF",
            "/nnrf-nfm/v1/subscriptions",
        ];
        let path = paths.choose(&mut self.random).copied().unwrap_or_default();
        let methods = ["PUT", "POST", "GET", "PATCH", "DELETE"];
        let method = methods.choose(&mut self.random).copied().unwrap_or_default();
        // Headers with literal names and values (RFC 7541, 6.2.2), then DATA.
        let mut block = Vec::new();
        let content = ("content-type", "application/json");
        let head = [(":method", method), (":scheme", "http"), (":path", path), content];
        for (name, value) in head {
            block.push(0);
            for text in [name, value] {
                // Shorter than 127 bytes, and not in Huffman's code (RFC 7541, 5.2).
                block.push(text.len() as u8);
                block.extend_from_slice(text.as_bytes());
            }
        }
        let stream = self.random.random_range(0..4u8) * 2 + 1;
        let frame = |kind: u8, flags: u8, payload: &[u8]| {
            let length = payload.len() as u32;
            [&length.to_be_bytes()[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
        };
        let mut frames = vec![frame(1, 4, &block), frame(0, 1, &body)];
        for _ in 0..self.random.random_range(0..3) {
            let length = self.random.random_range(0..40);
            let payload = self.bytes(length);
            let (kind, flags) = (self.random.random_range(0..12), self.random.random());
            let at = self.random.random_range(0..=frames.len());
            frames.insert(at, frame(kind, flags, &payload));
        }
        let message = [&preface[..], &frames.concat()].concat();
        if self.random.random_bool(0.5) { self.mutated(message) } else { message }
    }

    /// What a host sends to the LMF's port: the start of a TLS handshake, or anything.
    pub fn lcs_upp(&mut self) -> Vec<u8> {
        let random = self.bytes(32);
        let hello = [&[1, 0, 0, 0x2b, 3, 3][..], &random, &[0, 0, 2, 0x13, 1, 1, 0, 0, 0]].concat();
        let record = [&[0x16, 3, 1, 0, hello.len() as u8][..], &hello].concat();
        if self.random.random_bool(0.8) { self.mutated(record) } else { record }
    }
}

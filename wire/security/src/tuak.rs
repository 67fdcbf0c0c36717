//! TUAK: the functions f1 to f5* on Keccak (TS 35.231), an alternative to MILENAGE.
//!
//! Bytes are in the permutation's block in the reverse of the specification's order, so that bit 0
//! of each value is bit 0 of the block (TS 35.231, 6.2).

use zeroize::{Zeroize, Zeroizing};

/// Name of the algorithm in the block (TS 35.231, 6.1).
const ALGONAME: [u8; 7] = *b"TUAK1.0";
/// Bytes of the permutation's state.
const STATE: usize = 200;

/// K: 128 or 256 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TuakKey {
    /// 128 bits.
    Short([u8; 16]),
    /// 256 bits.
    Long([u8; 32]),
}

/// The length of a MAC, RES, CK or IK (TS 35.231, 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bits {
    /// 32: RES alone.
    B32,
    /// 64.
    B64,
    /// 128.
    B128,
    /// 256.
    B256,
}

impl Bits {
    /// The length in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Bits::B32 => 4,
            Bits::B64 => 8,
            Bits::B128 => 16,
            Bits::B256 => 32,
        }
    }

    /// The length for a number of bits; `None` where TUAK does not have it.
    pub fn of(bits: u16) -> Option<Bits> {
        match bits {
            32 => Some(Bits::B32),
            64 => Some(Bits::B64),
            128 => Some(Bits::B128),
            256 => Some(Bits::B256),
            _ => None,
        }
    }

    /// Its bits in INSTANCE, for a MAC and for RES.
    fn instance(self) -> u8 {
        match self {
            Bits::B32 => 0,
            Bits::B64 => 0x08,
            Bits::B128 => 0x10,
            Bits::B256 => 0x20,
        }
    }
}

/// The results of f2, f3, f4 and f5. Their memory is overwritten on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct Outputs {
    /// RES.
    pub res: Vec<u8>,
    /// CK.
    pub ck: Vec<u8>,
    /// IK.
    pub ik: Vec<u8>,
    /// AK.
    pub ak: [u8; 6],
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.res.zeroize();
        self.ck.zeroize();
        self.ik.zeroize();
        self.ak.zeroize();
    }
}

/// TUAK under the key of a subscriber. Its memory is overwritten on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct Tuak {
    k: TuakKey,
    topc: [u8; 32],
    iterations: u8,
}

impl Drop for Tuak {
    fn drop(&mut self) {
        match &mut self.k {
            TuakKey::Short(k) => k.zeroize(),
            TuakKey::Long(k) => k.zeroize(),
        }
        self.topc.zeroize();
    }
}

impl std::fmt::Debug for Tuak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tuak(..)")
    }
}

impl Tuak {
    /// K and TOPc of a subscriber. `iterations` is how often Keccak's permutation is applied (TS
    /// 35.231, 7.1); at least 1.
    pub fn new(k: TuakKey, topc: &[u8; 32], iterations: u8) -> Self {
        Tuak { k, topc: *topc, iterations: iterations.max(1) }
    }

    /// K of a subscriber and TOP of the operator, from which TOPc is derived (TS 35.231, 6.2).
    pub fn from_top(k: TuakKey, top: &[u8; 32], iterations: u8) -> Self {
        let mut tuak = Tuak::new(k, top, iterations);
        tuak.topc = reversed(&tuak.permuted(0, None, None)[..32]);
        tuak
    }

    /// TOPc.
    pub fn topc(&self) -> &[u8; 32] {
        &self.topc
    }

    /// MAC-A (f1).
    pub fn f1(&self, rand: &[u8; 16], sqn: &[u8; 6], amf: &[u8; 2], length: Bits) -> Vec<u8> {
        self.mac(length.instance(), rand, sqn, amf, length)
    }

    /// MAC-S (f1*), for resynchronisation.
    pub fn f1_star(&self, rand: &[u8; 16], sqn: &[u8; 6], amf: &[u8; 2], length: Bits) -> Vec<u8> {
        self.mac(0x80 | length.instance(), rand, sqn, amf, length)
    }

    fn mac(
        &self,
        instance: u8,
        rand: &[u8; 16],
        sqn: &[u8; 6],
        amf: &[u8; 2],
        length: Bits,
    ) -> Vec<u8> {
        let out = self.permuted(instance, Some(rand), Some((sqn, amf)));
        out[..length.bytes()].iter().rev().copied().collect()
    }

    /// RES, CK, IK and AK (f2 to f5). CK and IK have 128 bits, or 256 where [`Bits::B256`] is asked
    /// for.
    pub fn f2345(&self, rand: &[u8; 16], res: Bits, ck: Bits, ik: Bits) -> Outputs {
        let long = |length: Bits, bit: u8| if length == Bits::B256 { bit } else { 0 };
        let instance = 0x40 | res.instance() | long(ck, 4) | long(ik, 2);
        let out = self.permuted(instance, Some(rand), None);
        let part = |at: usize, bytes: usize| out[at..at + bytes].iter().rev().copied().collect();
        let key = |length: Bits| if length == Bits::B256 { 32 } else { 16 };
        Outputs {
            res: part(0, res.bytes()),
            ck: part(32, key(ck)),
            ik: part(64, key(ik)),
            ak: reversed(&out[96..102]),
        }
    }

    /// AK for resynchronisation (f5*).
    pub fn f5_star(&self, rand: &[u8; 16]) -> [u8; 6] {
        let out = self.permuted(0xc0, Some(rand), None);
        reversed(&out[96..102])
    }

    /// The block with its inputs after the permutation (TS 35.231, 6.3 to 6.6).
    fn permuted(
        &self,
        instance: u8,
        rand: Option<&[u8; 16]>,
        counted: Option<(&[u8; 6], &[u8; 2])>,
    ) -> Zeroizing<[u8; STATE]> {
        let mut block = Zeroizing::new([0; STATE]);
        let mut put = |at: usize, bytes: &[u8]| {
            for (place, octet) in block[at..].iter_mut().zip(bytes.iter().rev()) {
                *place = *octet;
            }
        };
        let long = match &self.k {
            TuakKey::Short(k) => {
                put(64, k);
                0
            }
            TuakKey::Long(k) => {
                put(64, k);
                1
            }
        };
        put(0, &self.topc);
        put(32, &[instance | long]);
        put(33, &ALGONAME);
        if let Some(rand) = rand {
            put(40, rand);
        }
        if let Some((sqn, amf)) = counted {
            put(56, amf);
            put(58, sqn);
        }
        // Padding of the message of 96 bytes to the rate of 1,088 bits.
        put(96, &[0x1f]);
        put(135, &[0x80]);
        for _ in 0..self.iterations {
            keccak_f(&mut block);
        }
        block
    }
}

fn reversed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut all = [0; N];
    for (place, octet) in all.iter_mut().zip(bytes.iter().rev()) {
        *place = *octet;
    }
    all
}

/// Keccak's permutation on its state in bytes, lanes in little-endian order.
fn keccak_f(block: &mut [u8; STATE]) {
    let mut lanes = Zeroizing::new([0u64; STATE / 8]);
    for (lane, bytes) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
        *lane = u64::from_le_bytes(*bytes);
    }
    keccak::f1600(&mut lanes);
    for (bytes, lane) in block.as_chunks_mut::<8>().0.iter_mut().zip(lanes.iter()) {
        *bytes = lane.to_le_bytes();
    }
}

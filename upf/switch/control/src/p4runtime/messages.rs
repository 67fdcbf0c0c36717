//! The messages of P4Runtime 1.4 that Martlet uses, with the specification's field names and
//! numbers (`p4.v1`, `p4.config.v1`, `google.rpc.Status`).
#![allow(missing_docs)]
use prost::{Enumeration, Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}
#[derive(Clone, PartialEq, Message)]
pub struct Status {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}
/// `p4.v1.Error`: the outcome of one update of a write.
#[derive(Clone, PartialEq, Message)]
pub struct Error {
    #[prost(int32, tag = "1")]
    pub canonical_code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(string, tag = "3")]
    pub space: String,
    #[prost(int32, tag = "4")]
    pub code: i32,
}
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Message)]
pub struct Uint128 {
    #[prost(uint64, tag = "1")]
    pub high: u64,
    #[prost(uint64, tag = "2")]
    pub low: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum UpdateType {
    Unspecified = 0,
    Insert = 1,
    Modify = 2,
    Delete = 3,
}
#[derive(Clone, PartialEq, Message)]
pub struct WriteRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(message, repeated, tag = "4")]
    pub updates: Vec<Update>,
    /// 0: continue after an error; 1: roll back on an error; 2: atomic with respect to packets.
    #[prost(int32, tag = "5")]
    pub atomicity: i32,
    #[prost(string, tag = "6")]
    pub role: String,
}
#[derive(Clone, Copy, PartialEq, Message)]
pub struct WriteResponse {}
#[derive(Clone, PartialEq, Message)]
pub struct Update {
    #[prost(enumeration = "UpdateType", tag = "1")]
    pub r#type: i32,
    #[prost(message, optional, tag = "2")]
    pub entity: Option<Entity>,
}
#[derive(Clone, PartialEq, Message)]
pub struct ReadRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(message, repeated, tag = "2")]
    pub entities: Vec<Entity>,
    #[prost(string, tag = "3")]
    pub role: String,
}
#[derive(Clone, PartialEq, Message)]
pub struct ReadResponse {
    #[prost(message, repeated, tag = "1")]
    pub entities: Vec<Entity>,
}
#[derive(Clone, PartialEq, Message)]
pub struct Entity {
    #[prost(oneof = "entity::Entity", tags = "2, 5, 7, 12")]
    pub entity: Option<entity::Entity>,
}
pub mod entity {
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Entity {
        #[prost(message, tag = "2")]
        Table(super::TableEntry),
        #[prost(message, tag = "5")]
        Meter(super::MeterEntry),
        #[prost(message, tag = "7")]
        Counter(super::CounterEntry),
        #[prost(message, tag = "12")]
        Digest(super::DigestEntry),
    }
}
#[derive(Clone, PartialEq, Message)]
pub struct TableEntry {
    #[prost(uint32, tag = "1")]
    pub table_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub r#match: Vec<FieldMatch>,
    #[prost(message, optional, tag = "3")]
    pub action: Option<TableAction>,
    #[prost(int32, tag = "4")]
    pub priority: i32,
    #[prost(bool, tag = "8")]
    pub is_default_action: bool,
    #[prost(int64, tag = "9")]
    pub idle_timeout_ns: i64,
    #[prost(bytes = "vec", tag = "11")]
    pub metadata: Vec<u8>,
}
#[derive(Clone, PartialEq, Message)]
pub struct FieldMatch {
    #[prost(uint32, tag = "1")]
    pub field_id: u32,
    #[prost(oneof = "MatchValue", tags = "2, 3, 4, 6")]
    pub value: Option<MatchValue>,
}
#[derive(Clone, PartialEq, Oneof)]
pub enum MatchValue {
    #[prost(message, tag = "2")]
    Exact(Exact),
    #[prost(message, tag = "3")]
    Ternary(Ternary),
    #[prost(message, tag = "4")]
    Lpm(Lpm),
    #[prost(message, tag = "6")]
    Range(Range),
}
#[derive(Clone, PartialEq, Message)]
pub struct Exact {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
}
#[derive(Clone, PartialEq, Message)]
pub struct Ternary {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub mask: Vec<u8>,
}
#[derive(Clone, PartialEq, Message)]
pub struct Lpm {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
    #[prost(int32, tag = "2")]
    pub prefix_len: i32,
}
#[derive(Clone, PartialEq, Message)]
pub struct Range {
    #[prost(bytes = "vec", tag = "1")]
    pub low: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub high: Vec<u8>,
}
#[derive(Clone, PartialEq, Message)]
pub struct TableAction {
    #[prost(oneof = "table_action::Type", tags = "1")]
    pub r#type: Option<table_action::Type>,
}
pub mod table_action {
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Type {
        #[prost(message, tag = "1")]
        Action(super::Action),
    }
}
#[derive(Clone, PartialEq, Message)]
pub struct Action {
    #[prost(uint32, tag = "1")]
    pub action_id: u32,
    #[prost(message, repeated, tag = "4")]
    pub params: Vec<Param>,
}
#[derive(Clone, PartialEq, Message)]
pub struct Param {
    #[prost(uint32, tag = "2")]
    pub param_id: u32,
    #[prost(bytes = "vec", tag = "3")]
    pub value: Vec<u8>,
}
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Index {
    #[prost(int64, tag = "1")]
    pub index: i64,
}
#[derive(Clone, Copy, PartialEq, Message)]
pub struct MeterEntry {
    #[prost(uint32, tag = "1")]
    pub meter_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub config: Option<MeterConfig>,
}
/// Rate in bytes per second and burst in bytes; peak equals committed rate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct MeterConfig {
    #[prost(int64, tag = "1")]
    pub cir: i64,
    #[prost(int64, tag = "2")]
    pub cburst: i64,
    #[prost(int64, tag = "3")]
    pub pir: i64,
    #[prost(int64, tag = "4")]
    pub pburst: i64,
}
#[derive(Clone, Copy, PartialEq, Message)]
pub struct CounterEntry {
    #[prost(uint32, tag = "1")]
    pub counter_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub data: Option<CounterData>,
}
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct CounterData {
    #[prost(int64, tag = "1")]
    pub byte_count: i64,
    #[prost(int64, tag = "2")]
    pub packet_count: i64,
}
/// How a digest is sent, not its data: see [`DigestList`].
#[derive(Clone, Copy, PartialEq, Message)]
pub struct DigestEntry {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(message, optional, tag = "2")]
    pub config: Option<DigestConfig>,
}
/// Times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct DigestConfig {
    #[prost(int64, tag = "1")]
    pub max_timeout_ns: i64,
    #[prost(int32, tag = "2")]
    pub max_list_size: i32,
    #[prost(int64, tag = "3")]
    pub ack_timeout_ns: i64,
}
/// `p4.v1.P4Data`, as far as digests of bit strings and structs have it.
#[derive(Clone, PartialEq, Message)]
pub struct Data {
    #[prost(oneof = "data::Data", tags = "1, 3, 4, 5, 6")]
    pub data: Option<data::Data>,
}
pub mod data {
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Data {
        #[prost(bytes, tag = "1")]
        Bits(Vec<u8>),
        #[prost(bool, tag = "3")]
        Bool(bool),
        #[prost(message, tag = "4")]
        Tuple(super::StructLike),
        #[prost(message, tag = "5")]
        Struct(super::StructLike),
        #[prost(message, tag = "6")]
        Header(super::Header),
    }
}
#[derive(Clone, PartialEq, Message)]
pub struct StructLike {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<Data>,
}
#[derive(Clone, PartialEq, Message)]
pub struct Header {
    #[prost(bool, tag = "1")]
    pub is_valid: bool,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub bitstrings: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct StreamMessageRequest {
    #[prost(oneof = "stream_request::Update", tags = "1, 2, 3")]
    pub update: Option<stream_request::Update>,
}
pub mod stream_request {
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Update {
        #[prost(message, tag = "1")]
        Arbitration(super::MasterArbitrationUpdate),
        #[prost(message, tag = "2")]
        Packet(super::Packet),
        #[prost(message, tag = "3")]
        DigestAck(super::DigestListAck),
    }
}
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct DigestListAck {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(uint64, tag = "2")]
    pub list_id: u64,
}
#[derive(Clone, PartialEq, Message)]
pub struct DigestList {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(uint64, tag = "2")]
    pub list_id: u64,
    #[prost(message, repeated, tag = "3")]
    pub data: Vec<Data>,
    /// Nanoseconds since 1970.
    #[prost(int64, tag = "4")]
    pub timestamp: i64,
}
#[derive(Clone, PartialEq, Message)]
pub struct StreamMessageResponse {
    #[prost(oneof = "stream_response::Update", tags = "1, 2, 3, 6")]
    pub update: Option<stream_response::Update>,
}
pub mod stream_response {
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Update {
        #[prost(message, tag = "1")]
        Arbitration(super::MasterArbitrationUpdate),
        #[prost(message, tag = "2")]
        Packet(super::Packet),
        #[prost(message, tag = "3")]
        Digest(super::DigestList),
        #[prost(message, tag = "6")]
        Error(super::StreamError),
    }
}
#[derive(Clone, PartialEq, Message)]
pub struct StreamError {
    #[prost(int32, tag = "1")]
    pub canonical_code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    /// Which kind of message was refused. It is required.
    #[prost(oneof = "stream_error::Details", tags = "5, 6")]
    pub details: Option<stream_error::Details>,
}
pub mod stream_error {
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Details {
        #[prost(message, tag = "5")]
        PacketOut(super::PacketOutError),
        #[prost(message, tag = "6")]
        DigestListAck(super::DigestListAckError),
    }
}
#[derive(Clone, PartialEq, Message)]
pub struct PacketOutError {
    #[prost(message, optional, tag = "1")]
    pub packet_out: Option<Packet>,
}
#[derive(Clone, Copy, PartialEq, Message)]
pub struct DigestListAckError {
    #[prost(message, optional, tag = "1")]
    pub digest_list_ack: Option<DigestListAck>,
}
#[derive(Clone, PartialEq, Message)]
pub struct Role {
    #[prost(message, optional, tag = "2")]
    pub config: Option<Any>,
    #[prost(string, tag = "3")]
    pub name: String,
}
#[derive(Clone, PartialEq, Message)]
pub struct MasterArbitrationUpdate {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(message, optional, tag = "2")]
    pub role: Option<Role>,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(message, optional, tag = "4")]
    pub status: Option<Status>,
}
/// `PacketIn` and `PacketOut`, which have equal fields.
#[derive(Clone, PartialEq, Message)]
pub struct Packet {
    #[prost(bytes = "vec", tag = "1")]
    pub payload: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<PacketMetadata>,
}
#[derive(Clone, PartialEq, Message)]
pub struct PacketMetadata {
    #[prost(uint32, tag = "1")]
    pub metadata_id: u32,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SetForwardingPipelineConfigRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    /// 1 verify, 2 verify and save, 3 verify and commit, 4 commit, 5 reconcile and commit.
    #[prost(int32, tag = "4")]
    pub action: i32,
    #[prost(message, optional, tag = "5")]
    pub config: Option<ForwardingPipelineConfig>,
    #[prost(string, tag = "6")]
    pub role: String,
}
#[derive(Clone, Copy, PartialEq, Message)]
pub struct SetForwardingPipelineConfigResponse {}
#[derive(Clone, PartialEq, Message)]
pub struct ForwardingPipelineConfig {
    #[prost(message, optional, tag = "1")]
    pub p4info: Option<P4Info>,
    #[prost(bytes = "vec", tag = "2")]
    pub p4_device_config: Vec<u8>,
    #[prost(message, optional, tag = "3")]
    pub cookie: Option<Cookie>,
}
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Cookie {
    #[prost(uint64, tag = "1")]
    pub cookie: u64,
}
#[derive(Clone, Copy, PartialEq, Message)]
pub struct GetForwardingPipelineConfigRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    /// 0 all, 1 cookie only, 2 P4Info and cookie, 3 device configuration and cookie.
    #[prost(int32, tag = "2")]
    pub response_type: i32,
}
#[derive(Clone, PartialEq, Message)]
pub struct GetForwardingPipelineConfigResponse {
    #[prost(message, optional, tag = "1")]
    pub config: Option<ForwardingPipelineConfig>,
}
#[derive(Clone, Copy, PartialEq, Message)]
pub struct CapabilitiesRequest {}
#[derive(Clone, PartialEq, Message)]
pub struct CapabilitiesResponse {
    #[prost(string, tag = "1")]
    pub p4runtime_api_version: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct P4Info {
    #[prost(message, optional, tag = "1")]
    pub pkg_info: Option<PkgInfo>,
    #[prost(message, repeated, tag = "2")]
    pub tables: Vec<InfoTable>,
    #[prost(message, repeated, tag = "3")]
    pub actions: Vec<InfoAction>,
    #[prost(message, repeated, tag = "5")]
    pub counters: Vec<InfoArray>,
    #[prost(message, repeated, tag = "7")]
    pub meters: Vec<InfoArray>,
    #[prost(message, repeated, tag = "9")]
    pub controller_packet_metadata: Vec<InfoPacket>,
    #[prost(message, repeated, tag = "12")]
    pub digests: Vec<InfoDigest>,
}
#[derive(Clone, PartialEq, Message)]
pub struct PkgInfo {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "5")]
    pub arch: String,
}
#[derive(Clone, PartialEq, Message)]
pub struct Preamble {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub alias: String,
}
#[derive(Clone, PartialEq, Message)]
pub struct InfoTable {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub match_fields: Vec<InfoField>,
    #[prost(message, repeated, tag = "3")]
    pub action_refs: Vec<ActionRef>,
    #[prost(uint32, tag = "4")]
    pub const_default_action_id: u32,
    #[prost(int64, tag = "8")]
    pub size: i64,
}
#[derive(Clone, PartialEq, Message)]
pub struct InfoField {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int32, tag = "4")]
    pub bitwidth: i32,
    /// 2 exact, 3 longest prefix, 4 ternary, 5 range.
    #[prost(int32, tag = "5")]
    pub match_type: i32,
}
#[derive(Clone, Copy, PartialEq, Message)]
pub struct ActionRef {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// 0 table and default, 1 table only, 2 default only.
    #[prost(int32, tag = "3")]
    pub scope: i32,
}
#[derive(Clone, PartialEq, Message)]
pub struct InfoAction {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub params: Vec<InfoParam>,
}
/// A parameter of an action, or a field of a packet's metadata.
#[derive(Clone, PartialEq, Message)]
pub struct InfoParam {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int32, tag = "4")]
    pub bitwidth: i32,
}
#[derive(Clone, PartialEq, Message)]
pub struct InfoArray {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<InfoUnit>,
    #[prost(int64, tag = "3")]
    pub size: i64,
}
#[derive(Clone, Copy, PartialEq, Message)]
pub struct InfoUnit {
    /// 1 bytes, 2 packets, 3 both.
    #[prost(int32, tag = "1")]
    pub unit: i32,
}
#[derive(Clone, PartialEq, Message)]
pub struct InfoPacket {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<InfoParam>,
}
/// A digest. The type of its data is left out.
#[derive(Clone, PartialEq, Message)]
pub struct InfoDigest {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
}

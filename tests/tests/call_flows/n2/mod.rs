//! NG interface management (TS 38.413, 8.7).
mod gnbs;
mod malformed;

//! N4 with a board, a thermal governor and metrics.
mod dashboard;
mod queries;
mod thermal;

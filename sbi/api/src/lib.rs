//! martlet-sbi-api

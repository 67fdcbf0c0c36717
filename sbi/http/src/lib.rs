//! martlet-sbi-http

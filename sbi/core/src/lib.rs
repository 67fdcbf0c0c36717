//! martlet-sbi

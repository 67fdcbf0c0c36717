//! martlet-tests

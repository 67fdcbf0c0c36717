//! martlet-pfcp

//! martlet-gtpu

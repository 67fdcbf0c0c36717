//! martlet-nrf

//! The UE's procedures: one file for each procedure of TS 24.501, in folders by its groups.
//!
//! | folder | TS 24.501 |
//! | --- | --- |
//! | `common` | 5.4, 5GMM common procedures |
//! | `registration` | 5.5, 5GMM specific procedures: registration and de-registration |
//! | `connection` | 5.6, 5GMM connection management procedures |
//! | `session` | 6.3 and 6.4, 5GSM procedures |
pub(crate) mod common;
pub(crate) mod connection;
pub(crate) mod registration;
pub(crate) mod session;

//! How a gNB connects to AMFs, and how UEs are created in its cells.
use super::config::GnbConfig;
use super::dispatch;
use super::error::GnbError;
use super::link::N2Link;
use super::node::{Gnb, UeInput};
use super::procedures::interface_management::ng_setup;
use super::ue::Ue;
use crate::sample::Samples;
use crate::ue::UeConfig;
use crate::user_plane::Netns;
use std::sync::Arc;

impl Gnb {
    /// Connects to the AMF and runs NG setup. The gNB has its own sample collector.
    ///
    /// # Errors
    /// The AMF is unreachable or rejects NG setup, or the N3 address cannot be bound.
    pub async fn connect(config: GnbConfig) -> Result<Gnb, GnbError> {
        Gnb::connect_with(config, Samples::default()).await
    }

    /// Connects to the AMF. Several gNBs may share `samples`.
    ///
    /// # Errors
    /// As [`Gnb::connect`].
    pub async fn connect_with(config: GnbConfig, samples: Samples) -> Result<Gnb, GnbError> {
        let further = config.further_amfs.clone();
        let link = link_to(&config).await?;
        let gnb = Gnb::attach(config, link, samples).await?;
        // Each association lives until its link ends.
        for amf in further {
            gnb.connect_also(amf).await?;
        }
        Ok(gnb)
    }

    /// Runs NG setup over an existing link.
    ///
    /// # Errors
    /// As [`Gnb::connect`].
    pub async fn attach(
        config: GnbConfig,
        link: N2Link,
        samples: Samples,
    ) -> Result<Gnb, GnbError> {
        Gnb::open(config, link, samples)?.set_up().await
    }

    /// Adds an association with another AMF of the same AMF set (TS 23.501, 5.21). Both
    /// associations share the user plane. When one AMF is lost or unavailable, idle UEs use the
    /// other one and are paged by it.
    ///
    /// # Errors
    /// As [`Gnb::connect`].
    pub async fn connect_also(&self, amf: std::net::SocketAddr) -> Result<Gnb, GnbError> {
        let config = GnbConfig { amf, ..self.config().clone() };
        let link = link_to(&config).await?;
        self.open_additional(config, link)?.set_up().await
    }

    /// Connects again after the association ended. The user plane is retained, so UE interfaces
    /// survive. [`Ue::move_to`] moves UEs to the new association.
    ///
    /// # Errors
    /// As [`Gnb::connect`].
    pub async fn connect_again(&self) -> Result<Gnb, GnbError> {
        let link = link_to(self.config()).await?;
        self.open_additional(self.config().clone(), link)?.set_up().await
    }

    async fn set_up(self) -> Result<Gnb, GnbError> {
        let amf = ng_setup::run(&self).await?;
        tracing::info!(gnb = self.name(), amf = amf.name, "NG setup");
        self.set_amf(amf);
        self.serve();
        Ok(self)
    }

    /// Serves a link without NG SETUP, to test how an AMF treats such a gNB.
    ///
    /// # Errors
    /// The N3 address cannot be bound.
    pub fn attach_without_setup(
        config: GnbConfig,
        link: N2Link,
        samples: Samples,
    ) -> Result<Gnb, GnbError> {
        let gnb = Gnb::open(config, link, samples)?;
        gnb.serve();
        Ok(gnb)
    }

    fn serve(&self) {
        let gnb = self.clone();
        tokio::spawn(async move {
            let reason: Arc<str> = dispatch::run(&gnb).await.into();
            tracing::info!(gnb = gnb.name(), %reason, "N2 connection ended");
            gnb.set_lost(reason.clone());
            for inbox in gnb.ues().all() {
                let _ = inbox.send(UeInput::LinkLost(gnb.clone(), reason.clone())).await;
            }
        });
    }

    /// Creates a UE, switched on and deregistered, without a network interface.
    ///
    /// # Errors
    /// The configuration does not yield a SUCI.
    pub fn new_ue(&self, config: UeConfig) -> Result<Ue, GnbError> {
        self.new_ue_in(config, Netns::None)
    }

    /// Creates a UE whose interfaces are in a network namespace. The namespace is created with the
    /// first PDU session.
    ///
    /// # Errors
    /// As [`Gnb::new_ue`].
    pub fn new_ue_in(&self, config: UeConfig, netns: Netns) -> Result<Ue, GnbError> {
        Ue::start(self.clone(), config, netns)
    }
}

async fn link_to(config: &GnbConfig) -> Result<N2Link, GnbError> {
    let link = tokio::time::timeout(config.setup_timeout, N2Link::connect(config)).await;
    let link = match link {
        Err(_) => Err(martlet_sctp::SctpError::ConnectTimeout),
        Ok(outcome) => outcome,
    };
    link.map_err(|error| GnbError::Connect {
        gnb: config.name.clone(),
        amf: config.amf.to_string(),
        error,
    })
}

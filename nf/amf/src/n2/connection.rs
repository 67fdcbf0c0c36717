//! A UE-associated logical NG connection (TS 38.413, 3.1). Dropping it ends it on the AMF's side.
use super::{Assistance, Gnb, NextHop, Unverified};
use crate::Amf;
use crate::served::{Tai, plmn_to_sbi};
use martlet_nas::Plmn;
use martlet_ngap::ngap::NGAP_PDU;
use martlet_sbi_api::common::PresenceInfo;
use martlet_sbi_api::common::{Ncgi, NrCellId, NrLocation, UserLocation};
use std::future::Future;
use std::sync::Arc;
use tokio::sync::Notify;

/// The location of a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    pub tai: Tai,
    /// PLMN of the cell.
    pub cell_plmn: Plmn,
    /// NR cell identity, 36 bits.
    pub cell: u64,
}

impl Location {
    /// In SBI form.
    pub fn to_sbi(self) -> UserLocation {
        UserLocation {
            nr_location: Some(NrLocation::new(self.tai.to_sbi(), self.ncgi())),
            ..Default::default()
        }
    }

    /// The cell in SBI form.
    pub fn ncgi(self) -> Ncgi {
        let cell = NrCellId::from_u64(self.cell);
        Ncgi { plmn_id: plmn_to_sbi(self.cell_plmn), nr_cell_id: cell, nid: None }
    }
}

/// The location reporting that a gNB performs for a UE.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reporting {
    pub cell: bool,
    pub areas: Vec<PresenceInfo>,
}

/// The UEs, from the point of view of their connections.
pub(crate) trait UeLayer {
    /// Whether this AMF still owns the UE of a connection.
    fn owns_connection(&self, amf_id: u64) -> impl Future<Output = bool> + Send;
    /// A connection has ended.
    fn disconnect(&self, amf_id: u64);
}

/// A UE-associated logical NG connection.
pub(crate) struct Connection {
    amf: Arc<Amf>,
    pub gnb: Arc<Gnb>,
    /// AMF UE NGAP ID, at most 40 bits.
    pub amf_id: u64,
    /// RAN UE NGAP ID.
    pub ran_id: u32,
    /// Where the UE is.
    pub location: Location,
    /// Whether the gNB has the UE context and its keys.
    pub context_is_set_up: bool,
    /// The key chain; `None` before the first K_gNB.
    pub next_hop: Option<NextHop>,
    /// The location reporting that the gNB was asked for.
    pub reporting: Reporting,
    /// The assistance information for RRC INACTIVE that the gNB has. Boxed, because it is optional.
    pub assistance: Option<Box<Assistance>>,
    /// The old AMF's name, sent with the first message.
    pub old_amf: Option<String>,
    /// Counts the connection at its gNB until the UE is verified.
    pub unverified: Option<Unverified>,
    stream: u16,
    lost: Arc<Notify>,
}

impl Connection {
    pub fn new(
        amf: Arc<Amf>,
        gnb: Arc<Gnb>,
        (amf_id, lost): (u64, Arc<Notify>),
        ran_id: u32,
        location: Location,
    ) -> Self {
        let stream = gnb.stream(amf_id);
        let (context_is_set_up, next_hop, reporting) = (false, None, Reporting::default());
        let old_amf = None;
        Connection {
            amf,
            gnb,
            amf_id,
            ran_id,
            location,
            context_is_set_up,
            next_hop,
            reporting,
            assistance: None,
            old_amf,
            unverified: None,
            stream,
            lost,
        }
    }

    /// Moves the connection to another gNB.
    pub fn move_to(&mut self, gnb: Arc<Gnb>, ran_id: u32, location: Option<Location>) {
        self.stream = gnb.stream(self.amf_id);
        (self.gnb, self.ran_id) = (gnb, ran_id);
        if let Some(location) = location {
            self.gnb.check_location(location.tai);
            self.location = location;
        }
        self.assistance = None;
    }

    /// Sets the location that the gNB has reported.
    pub fn set_location(&mut self, location: Location) {
        if location.tai != self.location.tai {
            self.gnb.check_location(location.tai);
        }
        self.location = location;
    }

    /// Sends a message. False if the connection is lost.
    pub async fn send(&self, pdu: Result<NGAP_PDU, martlet_ngap::Error>) -> bool {
        // A UE that another AMF took over gets no messages from this one.
        if !self.amf.owns_connection(self.amf_id).await {
            return false;
        }
        match pdu {
            Ok(pdu) => self.gnb.send(self.stream, &pdu).await,
            Err(error) => {
                crate::metrics::ngap_error("not_encodable");
                tracing::error!(gnb = self.gnb.label(), %error, "NGAP message not encodable");
                false
            }
        }
    }

    /// The notification of the loss of the connection.
    pub fn lost(&self) -> Arc<Notify> {
        self.lost.clone()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.amf.disconnect(self.amf_id);
    }
}

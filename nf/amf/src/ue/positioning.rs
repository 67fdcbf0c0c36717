//! Positioning capabilities of a UE, and the LMFs that subscribe to its messages.
use martlet_sbi_api::common::NfInstanceId;
use martlet_sbi_api::namf_communication::N1MessageClass;

/// Subscriptions to the messages of one UE.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 8;
/// Positioning capabilities of a UE, and subscriptions to its messages.
#[derive(Debug, Default)]
pub(crate) struct Positioning {
    /// LPP in NAS (TS 24.501, 9.11.3.1).
    pub lpp: bool,
    /// LCS-UPP (TS 24.501, 9.11.3.1).
    pub lcs_upp: bool,
    pub next: u64,
    pub subscriptions: Vec<(String, N1MessageClass, String)>,
    /// Subscriptions to NRPPa messages.
    pub nrppa: UeSubscriptions,
}

impl Positioning {
    /// Callback URI and subscription of an N1 message class.
    pub fn subscriber(&self, class: &N1MessageClass) -> Option<(String, String)> {
        let newest = self.subscriptions.iter().rev().find(|(_, of, _)| of == class);
        newest.map(|(id, _, uri)| (id.clone(), uri.clone()))
    }
}

/// A subscription to NRPPa.
#[derive(Debug, Clone)]
pub(crate) struct Subscription {
    pub id: String,
    pub lmf: Option<NfInstanceId>,
    pub uri: String,
}

/// The subscription that a routing ID selects, else the newest.
pub(crate) fn of_routing<'a>(list: &'a [Subscription], routing: &[u8]) -> Option<&'a Subscription> {
    let named =
        |it: &&Subscription| it.lmf.as_ref().is_some_and(|lmf| lmf.as_ref().as_bytes() == routing);
    list.iter().rev().find(named).or_else(|| list.last())
}

/// Subscriptions of LMFs to NRPPa messages of a UE.
#[derive(Debug, Default)]
pub(crate) struct UeSubscriptions {
    pub list: Vec<Subscription>,
    /// The last LCS correlation ID of each LMF.
    pub correlations: Vec<(Vec<u8>, String)>,
}

impl UeSubscriptions {
    /// Adds a subscription; false at the limit.
    pub(crate) fn add(&mut self, id: &str, lmf: Option<NfInstanceId>, uri: &str) -> bool {
        // A repeated subscription replaces the old one.
        self.list.retain(|it| it.uri != uri);
        if self.list.len() >= MAX_SUBSCRIPTIONS {
            return false;
        }
        self.list.push(Subscription { id: id.into(), lmf, uri: uri.into() });
        true
    }

    /// Removes a subscription; false if there is none.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        let before = self.list.len();
        self.list.retain(|it| it.id != id);
        self.list.len() < before
    }
}

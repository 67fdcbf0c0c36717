//! Positioning capabilities of a UE, and the LMFs that subscribe to its messages.
use martlet_sbi_api::common::NfInstanceId;
use martlet_sbi_api::namf_communication::N1MessageClass;

/// Subscriptions to the messages of one UE.
pub(crate) const MOST_SUBSCRIPTIONS: usize = 8;
/// What a UE has for positioning, and who wants its messages.
#[derive(Debug, Default)]
pub(crate) struct Positioning {
    /// LPP in NAS (TS 24.501, 9.11.3.1).
    pub lpp: bool,
    /// LCS-UPP (TS 24.501, 9.11.3.1).
    pub lcs_upp: bool,
    pub next: u64,
    pub subscriptions: Vec<(String, N1MessageClass, String)>,
    /// Who wants NRPPa messages about it.
    pub nrppa: UeSubscriptions,
}

impl Positioning {
    /// Where messages of a class go, and under which subscription.
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

/// The one that a routing identity means; the newest where it means none.
pub(crate) fn of_routing<'a>(list: &'a [Subscription], routing: &[u8]) -> Option<&'a Subscription> {
    let named =
        |it: &&Subscription| it.lmf.as_ref().is_some_and(|lmf| lmf.as_ref().as_bytes() == routing);
    list.iter().rev().find(named).or_else(|| list.last())
}

/// Which LMFs want NRPPa messages about a UE.
#[derive(Debug, Default)]
pub(crate) struct UeSubscriptions {
    pub list: Vec<Subscription>,
    /// The LCS correlation identity that each LMF used last.
    pub correlations: Vec<(Vec<u8>, String)>,
}

impl UeSubscriptions {
    /// Takes a subscription in; false where there are enough.
    pub(crate) fn add(&mut self, id: &str, lmf: Option<NfInstanceId>, uri: &str) -> bool {
        // Whoever subscribes again has lost the subscription before.
        self.list.retain(|it| it.uri != uri);
        if self.list.len() >= MOST_SUBSCRIPTIONS {
            return false;
        }
        self.list.push(Subscription { id: id.into(), lmf, uri: uri.into() });
        true
    }

    /// Ends one; false where there is none.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        let before = self.list.len();
        self.list.retain(|it| it.id != id);
        self.list.len() < before
    }
}

//! Which identities belong to a session, for the recorder of signalling.
use super::Session;
use crate::n4::signalling::{of_upf, own};
use crate::user_plane_path::SECOND_SEID;
use martlet_nf::signalling;

impl Session {
    /// Reports which identities belong to the session, if messages are recorded.
    pub fn record_identities(&self) {
        signalling::same(|| {
            let reference = self.reference;
            let mut all = vec![
                self.supi.to_string(),
                format!("sm:{reference}"),
                own(reference),
                own(reference | SECOND_SEID),
            ];
            let upfs = self.user_plane.path().into_iter().flat_map(|path| path.all());
            all.extend(upfs.map(|(_, upf)| of_upf(upf.upf, upf.seid)));
            all
        });
    }
}

//! The user-space SCTP stack on a machine whose kernel has SCTP, too.
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{LogLines, TestCore, in_namespace};
use std::path::Path;

/// The kernel answers INIT for an endpoint that it does not have with ABORT (RFC 9260, 8.4), so the
/// log warns. `make guest-test` runs this with the module `sctp`.
#[test]
fn the_user_space_stack_warns_if_the_kernel_has_sctp() {
    in_namespace(|| async {
        let log = LogLines::record();
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.n2.stack = martlet_amf::SctpStackConfig::Usrsctp;
        })
        .await?;
        let warnings = log.with_message(
            "the kernel's SCTP is loaded and aborts the associations of the user-space stack: use \
             the stack `auto` or `kernel`, or unload the module sctp",
        );
        let has_kernel = Path::new("/proc/net/sctp").exists();
        ensure!(warnings.len() == usize::from(has_kernel), "{has_kernel}: {:?}", log.all());
        drop(core);
        Ok(())
    });
}

//! Reads the P4 program with the files that it includes, and makes server and client of P4Runtime
//! from its methods; the messages are in `src/p4runtime/messages.rs`.
use std::path::{Path, PathBuf};
use tonic_build::manual::{Builder, Method, Service};

const PROGRAM: &str = "../p4/upf_pna.p4";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../p4");
    let source =
        martlet_p4c_swx::Source::read(Path::new(PROGRAM)).unwrap_or_else(|error| panic!("{error}"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    std::fs::write(out.join("upf_pna.p4"), source.text()).expect("upf_pna.p4 is writable");
    let method = |name: &str, route: &str, input: &str, output: &str| {
        Method::builder()
            .name(name)
            .route_name(route)
            .input_type(format!("crate::p4runtime::messages::{input}"))
            .output_type(format!("crate::p4runtime::messages::{output}"))
            .codec_path("tonic_prost::ProstCodec")
    };
    let service = Service::builder()
        .name("P4Runtime")
        .package("p4.v1")
        .method(method("write", "Write", "WriteRequest", "WriteResponse").build())
        .method(method("read", "Read", "ReadRequest", "ReadResponse").server_streaming().build())
        .method(
            method(
                "set_forwarding_pipeline_config",
                "SetForwardingPipelineConfig",
                "SetForwardingPipelineConfigRequest",
                "SetForwardingPipelineConfigResponse",
            )
            .build(),
        )
        .method(
            method(
                "get_forwarding_pipeline_config",
                "GetForwardingPipelineConfig",
                "GetForwardingPipelineConfigRequest",
                "GetForwardingPipelineConfigResponse",
            )
            .build(),
        )
        .method(
            method(
                "stream_channel",
                "StreamChannel",
                "StreamMessageRequest",
                "StreamMessageResponse",
            )
            .client_streaming()
            .server_streaming()
            .build(),
        )
        .method(
            method("capabilities", "Capabilities", "CapabilitiesRequest", "CapabilitiesResponse")
                .build(),
        )
        .build();
    Builder::new().compile(&[service]);
}

//! Makes server and client of P4Runtime from its methods; the messages are in
//! `src/p4runtime/messages.rs`.
use tonic_build::manual::{Builder, Method, Service};

fn main() {
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

pub(crate) mod service_request;

// The API of github.com/free5gc/sctp over Pion's SCTP: see ../free5gc-amf/user-space.mod.
module github.com/free5gc/sctp

go 1.26.2

require (
	github.com/pion/logging v0.2.3
	github.com/pion/sctp v1.8.39
)

require (
	github.com/pion/randutil v0.1.0 // indirect
	github.com/pion/transport/v3 v3.0.7 // indirect
)

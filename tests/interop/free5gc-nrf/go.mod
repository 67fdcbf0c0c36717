// Builds free5GC's NRF as it is published: go build github.com/free5gc/nrf/cmd
module martlet/tests/free5gc-nrf

go 1.26.2

// The NRF names a snapshot of util that is not published; this is the release after it.
require (
	github.com/free5gc/nrf v1.4.3
	github.com/free5gc/util v1.3.2
)

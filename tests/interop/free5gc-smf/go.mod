// Builds free5GC's SMF as it is published: go build github.com/free5gc/smf/cmd
module martlet/tests/free5gc-smf

go 1.21

require github.com/free5gc/smf v1.2.4

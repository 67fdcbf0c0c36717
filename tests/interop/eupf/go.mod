// eUPF as it is published: a test copies the module, generates its programs for the kernel, and builds its cmd.
module martlet/tests/eupf

go 1.22

require github.com/edgecomllc/eupf v0.7.1

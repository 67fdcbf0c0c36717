// Package fabric lets Go programs take part in Martlet's shared-memory fabric: its listeners and connections are those of
// package net, so that a network function written with net/http joins by changing where it listens and dials.
//
//	part, err := fabric.Join(ctx, fabric.Config{Name: "my-nf"})
//	listener, err := part.Listen("127.0.0.30:8000")
//	go server.Serve(listener)
//	client := &http.Client{Transport: &http.Transport{DialContext: part.DialContext}}
//
// HTTP2Client and Serve speak HTTP/2 without TLS, as the service-based interface does (TS 29.500, 5.2).
//
// The package stands on libmartlet_fabric, which pkg-config has to find. One thread waits on behalf of all connections: a
// goroutine that waits to read or to write occupies none.
package fabric

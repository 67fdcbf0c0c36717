// Package fabric gives Go programs the sockets of Martlet's shared-memory fabric. Its listeners and
// connections implement the interfaces of package net, so a program written with net/http joins by
// changing where it listens and how its client dials.
//
//	member, err := fabric.Join(ctx, fabric.Config{Name: "my-program"})
//	listener, err := member.Listen("127.0.0.30:8000")
//	go server.Serve(listener)
//	client := &http.Client{Transport: &http.Transport{DialContext: member.DialContext}}
//
// Serve and HTTP2Client speak HTTP/2 without TLS.
//
// The package calls libmartlet_fabric through cgo and finds it with pkg-config. One thread waits
// for all connections; a goroutine that waits to read or to write occupies no thread.
//
// # Errors
//
// Operations return *net.OpError. It wraps *Error, which unwraps to a syscall.Errno such as
// ECONNREFUSED; net.ErrClosed after Close; or os.ErrDeadlineExceeded.
package fabric

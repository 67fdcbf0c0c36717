package fabric

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"
)

// Serve serves HTTP/2 without TLS, and HTTP/1.1. http.Server.Serve alone supports HTTP/1.1 only.
func Serve(listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: h2c.NewHandler(handler, &http2.Server{})}
	return server.Serve(listener)
}

// HTTP2Client returns a client that speaks HTTP/2 without TLS over connections of a dialer: a
// Member, or the result of Member.WithFallback.
func HTTP2Client(dialer Dialer) *http.Client {
	dial := func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
		return dialer.DialContext(ctx, network, address)
	}
	return &http.Client{Transport: &http2.Transport{AllowHTTP: true, DialTLSContext: dial}}
}

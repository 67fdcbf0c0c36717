package fabric

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"
)

// Serve serves HTTP/2 without TLS and HTTP/1.1 at a listener: http.Server.Serve does HTTP/1.1 alone.
func Serve(listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: h2c.NewHandler(handler, &http2.Server{})}
	return server.Serve(listener)
}

// HTTP2Client gives a client that speaks HTTP/2 without TLS over the dialer's connections: those of a Part, or of Part.Or.
func HTTP2Client(dialer Dialer) *http.Client {
	dial := func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
		return dialer.DialContext(ctx, network, address)
	}
	return &http.Client{Transport: &http2.Transport{AllowHTTP: true, DialTLSContext: dial}}
}

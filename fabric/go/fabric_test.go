package fabric

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/nettest"
)

// TestMain runs the tests with the manager at $MARTLET_FABRIC_SOCKET, which fabric/c/tests/go.rs
// provides.
func TestMain(m *testing.M) {
	if os.Getenv("MARTLET_FABRIC_SOCKET") == "" {
		fmt.Println("SKIPPED: no manager: set MARTLET_FABRIC_SOCKET to its socket")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func join(t *testing.T, name string) *Member {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	member, err := Join(ctx, Config{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { member.Close() })
	return member
}

func listen(t *testing.T, member *Member) net.Listener {
	t.Helper()
	listener, err := member.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

func TestConn(t *testing.T) {
	server, client := join(t, "server"), join(t, "client")
	listener := listen(t, server)
	nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
		accepted := make(chan net.Conn, 1)
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				t.Error(err)
			}
			accepted <- conn
		}()
		a, err = client.Dial("tcp", listener.Addr().String())
		if err != nil {
			return nil, nil, nil, err
		}
		b = <-accepted
		return a, b, func() { a.Close(); b.Close() }, nil
	})
}

func TestHalfClose(t *testing.T) {
	server, client := join(t, "server"), join(t, "client")
	listener := listen(t, server)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		question, err := io.ReadAll(conn)
		if err != nil {
			t.Error(err)
		}
		conn.Write(append([]byte("echo: "), question...))
	}()
	conn, err := client.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "hello")
	if err := conn.(*Conn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if string(answer) != "echo: hello" || err != nil {
		t.Fatal(string(answer), err)
	}
	if conn.LocalAddr() == nil || conn.RemoteAddr().String() != listener.Addr().String() {
		t.Fatal(conn.LocalAddr(), conn.RemoteAddr())
	}
}

func TestErrors(t *testing.T) {
	server, client := join(t, "server"), join(t, "client")
	if _, err := client.Dial("tcp", "127.0.0.1:9"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error("no listener, but:", err)
	}
	if _, err := client.Dial("udp", "127.0.0.1:9"); err == nil {
		t.Error("a datagram network was accepted")
	}
	listener := listen(t, server)
	if _, err := client.Listen(listener.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Error("address in use, but:", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := client.DialContext(ctx, "tcp", "10.0.0.1:9"); !errors.Is(err, context.Canceled) &&
		!errors.Is(err, syscall.ECONNREFUSED) {
		t.Error("the context is done, but:", err)
	}
	accepted := make(chan error)
	go func() {
		_, err := listener.Accept()
		accepted <- err
	}()
	time.Sleep(10 * time.Millisecond)
	listener.Close()
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Error("the listener is closed, but:", err)
	}
	client.Close()
	if _, err := client.Dial("tcp", "127.0.0.1:9"); !errors.Is(err, net.ErrClosed) {
		t.Error("the member is closed, but:", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := Join(ctx, Config{Name: "lost", Socket: "/nonexistent/fabric.sock"})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error("there is no manager, but:", err)
	}
}

// echo returns the request body, and the protocol in a header.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	// Read the body first: net/http discards the rest of an HTTP/1.1 request once its response
	// starts.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("X-Protocol", r.Proto)
	w.Write(body)
})

func TestHTTP(t *testing.T) {
	server, client := join(t, "server"), join(t, "client")
	listener := listen(t, server)
	go Serve(listener, echo)
	clients := map[string]*http.Client{
		"HTTP/1.1": {Transport: &http.Transport{DialContext: client.DialContext}},
		"HTTP/2.0": HTTP2Client(client),
	}
	for protocol, client := range clients {
		var all sync.WaitGroup
		for n := 0; n < 20; n++ {
			all.Add(1)
			go func(n int) {
				defer all.Done()
				for length := 1; length < 1<<20; length *= 16 {
					body := strings.Repeat(string(rune('a'+n)), length)
					url := "http://" + listener.Addr().String() + "/x"
					answer, err := client.Post(url, "text/plain", strings.NewReader(body))
					if err != nil {
						t.Error(protocol, err)
						return
					}
					got, err := io.ReadAll(answer.Body)
					answer.Body.Close()
					used := answer.Header.Get("X-Protocol")
					if err != nil || string(got) != body || used != protocol {
						t.Error(protocol, n, length, len(got), answer.Header, err)
					}
				}
			}(n)
		}
		all.Wait()
		client.CloseIdleConnections()
	}
}

func TestFallback(t *testing.T) {
	server, client := join(t, "server"), join(t, "client")
	listener := listen(t, server)
	go Serve(listener, echo)
	external := httptest.NewServer(echo)
	defer external.Close()
	dialer := client.WithFallback(&net.Dialer{})
	both := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
	defer both.CloseIdleConnections()
	for _, url := range []string{external.URL, "http://" + listener.Addr().String()} {
		answer, err := both.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
}

// C objects are freed after the last use, whatever the order of the Close calls.
func TestResourcesAreReleased(t *testing.T) {
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	round := func() {
		server, client := join(t, "server"), join(t, "client")
		listener, err := server.Listen("[::1]:0")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := client.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		other, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		server.Close()
		client.Close()
		listener.Close()
		io.WriteString(conn, "x")
		if _, err := other.Read(make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		other.Close()
	}
	round()
	settled := func(limit int) bool {
		for n := 0; n < 200 && descriptors() > limit; n++ {
			time.Sleep(10 * time.Millisecond)
		}
		return descriptors() <= limit
	}
	time.Sleep(100 * time.Millisecond)
	before := descriptors()
	for n := 0; n < 10; n++ {
		round()
	}
	if !settled(before) {
		t.Errorf("%d descriptors, %d before", descriptors(), before)
	}
	runtime.GC()
}

package fabric_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"time"

	fabric "github.com/martlet-core/martlet/fabric/go"
)

// A server and its client. Usually each is a process of its own.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	server, err := fabric.Join(ctx, fabric.Config{Name: "server"})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	listener, err := server.Listen("127.0.0.30:7777")
	if err != nil {
		log.Fatal(err)
	}
	defer listener.Close()
	go fabric.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s is served", r.URL.Path)
	}))

	client, err := fabric.Join(ctx, fabric.Config{Name: "client"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	response, err := fabric.HTTP2Client(client).Get("http://127.0.0.30:7777/status")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Proto, response.StatusCode, string(body))
	// Output: HTTP/2.0 200 /status is served
}

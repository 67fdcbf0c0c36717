// free5gc-smf is free5GC's SMF as it is published (github.com/free5gc/smf, whose source stays as it is), started so that it
// listens on the fabric too, and dials over it. Its own cmd does what this does, but for the part between the two marks.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"syscall"

	"github.com/free5gc/openapi"
	"github.com/free5gc/smf/pkg/factory"
	"github.com/free5gc/smf/pkg/service"
	"github.com/free5gc/smf/pkg/utils"

	"martlet/fabric"
)

func main() {
	config := flag.String("c", "smfcfg.yaml", "its configuration")
	routing := flag.String("u", "uerouting.yaml", "its configuration of routes")
	socket := flag.String("socket", "", "the fabric's manager; empty: the usual place")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *config, *routing, *socket); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, config, routing, socket string) error {
	var err error
	if factory.SmfConfig, err = factory.ReadConfig(config); err != nil {
		return err
	}
	if factory.UERoutingConfig, err = factory.ReadUERoutingConfig(routing); err != nil {
		return err
	}
	start, terminate := utils.InitPFCPFunc()
	smf, err := service.NewApp(ctx, factory.SmfConfig, "", start, terminate)
	if err != nil {
		return err
	}

	// From here …
	part, err := fabric.Join(ctx, fabric.Config{Name: "free5gc-smf", Socket: socket})
	if err != nil {
		return err
	}
	defer part.Close()
	// All its consumers share this client, where they are told none; over TCP where the fabric leads nowhere.
	openapi.GetHttpClient().Transport = fabric.HTTP2Client(part.Or(&net.Dialer{})).Transport
	server, err := serverOf(smf)
	if err != nil {
		return err
	}
	listener, err := part.Listen(server.Addr)
	if err != nil {
		return err
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Print("on the fabric: ", err)
		}
	}()
	// … to here.

	smf.Start()
	return nil
}

// serverOf gives the server of a function, which keeps it to itself.
func serverOf(smf *service.SmfApp) (*http.Server, error) {
	sbi := reflect.ValueOf(smf).Elem().FieldByName("sbiServer")
	if sbi.Kind() != reflect.Pointer {
		return nil, errors.New("another SMF than this was made for: it has no sbiServer")
	}
	server := sbi.Elem().FieldByName("httpServer")
	if server.Type() != reflect.TypeOf((*http.Server)(nil)) {
		return nil, errors.New("another SMF than this was made for: it has no httpServer")
	}
	return (*http.Server)(server.UnsafePointer()), nil
}

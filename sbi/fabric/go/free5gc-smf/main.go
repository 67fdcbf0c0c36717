// free5gc-smf runs free5GC's SMF (github.com/free5gc/smf, unmodified) on the fabric: it also
// listens there, and dials over it. Apart from the marked section it does what the SMF's own cmd
// does.
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

	fabric "github.com/martlet-core/martlet/fabric/go"
)

func main() {
	config := flag.String("c", "smfcfg.yaml", "configuration file")
	routing := flag.String("u", "uerouting.yaml", "UE routing file")
	socket := flag.String("socket", "", "path of the manager's socket; empty: the default")
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

	// Start of the added section.
	member, err := fabric.Join(ctx, fabric.Config{Name: "free5gc-smf", Socket: socket})
	if err != nil {
		return err
	}
	defer member.Close()
	// All service consumers share this client. It falls back to TCP.
	dialer := member.WithFallback(&net.Dialer{})
	openapi.GetHttpClient().Transport = fabric.HTTP2Client(dialer).Transport
	server, err := serverOf(smf)
	if err != nil {
		return err
	}
	listener, err := member.Listen(server.Addr)
	if err != nil {
		return err
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Print("server on the fabric: ", err)
		}
	}()
	// End of the added section.

	smf.Start()
	return nil
}

// serverOf returns the HTTP server of the SMF, which is a private field.
func serverOf(smf *service.SmfApp) (*http.Server, error) {
	sbi := reflect.ValueOf(smf).Elem().FieldByName("sbiServer")
	if sbi.Kind() != reflect.Pointer {
		return nil, errors.New("unsupported version of the SMF: no field sbiServer")
	}
	server := sbi.Elem().FieldByName("httpServer")
	if server.Type() != reflect.TypeOf((*http.Server)(nil)) {
		return nil, errors.New("unsupported version of the SMF: no field httpServer")
	}
	return (*http.Server)(server.UnsafePointer()), nil
}

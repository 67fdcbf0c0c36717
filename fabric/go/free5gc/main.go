// free5gc is a network function made of what free5GC publishes for its own: its client of the NRF with its models
// (github.com/free5gc/openapi) and its HTTP server (github.com/free5gc/util/httpwrapper), both unchanged. It listens and
// dials over the fabric, which takes two lines: SetHTTPClient, and Serve in place of ListenAndServe.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/free5gc/openapi/models"
	"github.com/free5gc/openapi/nrf/NFDiscovery"
	"github.com/free5gc/openapi/nrf/NFManagement"
	"github.com/free5gc/util/httpwrapper"

	"martlet/fabric"
)

func main() {
	at := flag.String("at", "127.0.0.31:7777", "where it serves, on the fabric")
	nrf := flag.String("nrf", "http://127.0.0.10:7777", "where the NRF is")
	socket := flag.String("socket", "", "the fabric's manager; empty: the usual place")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *at, *nrf, *socket); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, at, nrf, socket string) error {
	part, err := fabric.Join(ctx, fabric.Config{Name: "free5gc-nef", Socket: socket})
	if err != nil {
		return err
	}
	defer part.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/nnef-pfdmanagement/v1/applications", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "[]")
	})
	server, err := httpwrapper.NewHttp2Server(at, "", mux)
	if err != nil {
		return err
	}
	listener, err := part.Listen(at)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()

	client := fabric.HTTP2Client(part)
	management := NFManagement.NewConfiguration()
	management.SetBasePath(nrf)
	management.SetHTTPClient(client)
	instances := NFManagement.NewAPIClient(management).NFInstanceIDDocumentApi
	id := "8f8a5d5e-3c9b-4c5e-9d8e-1f2a3b4c5d6e"
	profile, err := profile(id, at)
	if err != nil {
		return err
	}
	var request NFManagement.RegisterNFInstanceRequest
	request.SetNfInstanceID(id)
	request.SetNrfNfManagementNfProfile(*profile)
	if _, err := instances.RegisterNFInstance(ctx, &request); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	fmt.Println("registered as", id)

	// What the NRF gives of others, read by free5GC's models.
	discovery := NFDiscovery.NewConfiguration()
	discovery.SetBasePath(nrf)
	discovery.SetHTTPClient(client)
	var search NFDiscovery.SearchNFInstancesRequest
	search.SetTargetNfType(models.NrfNfManagementNfType_UDM)
	search.SetRequesterNfType(models.NrfNfManagementNfType_NEF)
	found, err := NFDiscovery.NewAPIClient(discovery).NFInstancesStoreApi.SearchNFInstances(ctx, &search)
	if err != nil {
		return fmt.Errorf("discover: %w", err)
	}
	for _, instance := range found.SearchResult.NfInstances {
		fmt.Println("found", instance.NfType, instance.NfStatus)
	}

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		var request NFManagement.DeregisterNFInstanceRequest
		request.SetNfInstanceID(id)
		_, err := instances.DeregisterNFInstance(context.Background(), &request)
		return err
	}
}

func profile(id, at string) (*models.NrfNfManagementNfProfile, error) {
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return nil, err
	}
	return &models.NrfNfManagementNfProfile{
		NfInstanceId:   id,
		NfType:         models.NrfNfManagementNfType_NEF,
		NfStatus:       models.NrfNfManagementNfStatus_REGISTERED,
		Ipv4Addresses:  []string{host},
		HeartBeatTimer: 60,
		NfServices: []models.NrfNfManagementNfService{{
			ServiceInstanceId: "1",
			ServiceName:       models.ServiceName_NNEF_PFDMANAGEMENT,
			Versions:          []models.NfServiceVersion{{ApiVersionInUri: "v1", ApiFullVersion: "1.0.0"}},
			Scheme:            models.UriScheme_HTTP,
			NfServiceStatus:   models.NfServiceStatus_REGISTERED,
			IpEndPoints:       []models.IpEndPoint{{Ipv4Address: host, Port: int32(number)}},
		}},
	}, nil
}

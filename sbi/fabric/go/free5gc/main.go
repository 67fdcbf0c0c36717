// free5gc is a network function built from free5GC's libraries: its NRF client and models
// (github.com/free5gc/openapi) and its HTTP server (github.com/free5gc/util/httpwrapper), both
// unmodified. It listens and dials over the fabric, which takes two lines: SetHTTPClient, and Serve
// in place of ListenAndServe.
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

	fabric "github.com/martlet-core/martlet/fabric/go"
)

func main() {
	at := flag.String("at", "127.0.0.31:7777", "address to listen at, on the fabric")
	nrf := flag.String("nrf", "http://127.0.0.10:7777", "URL of the NRF")
	socket := flag.String("socket", "", "path of the manager's socket; empty: the default")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *at, *nrf, *socket); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, at, nrf, socket string) error {
	member, err := fabric.Join(ctx, fabric.Config{Name: "free5gc-nef", Socket: socket})
	if err != nil {
		return err
	}
	defer member.Close()
	mux := http.NewServeMux()
	const applications = "/nnef-pfdmanagement/v1/applications"
	mux.HandleFunc(applications, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "[]")
	})
	server, err := httpwrapper.NewHttp2Server(at, "", mux)
	if err != nil {
		return err
	}
	listener, err := member.Listen(at)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()

	client := fabric.HTTP2Client(member)
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

	// Discover other functions.
	discovery := NFDiscovery.NewConfiguration()
	discovery.SetBasePath(nrf)
	discovery.SetHTTPClient(client)
	var search NFDiscovery.SearchNFInstancesRequest
	search.SetTargetNfType(models.NrfNfManagementNfType_UDM)
	search.SetRequesterNfType(models.NrfNfManagementNfType_NEF)
	store := NFDiscovery.NewAPIClient(discovery).NFInstancesStoreApi
	found, err := store.SearchNFInstances(ctx, &search)
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
			Versions: []models.NfServiceVersion{
				{ApiVersionInUri: "v1", ApiFullVersion: "1.0.0"},
			},
			Scheme:          models.UriScheme_HTTP,
			NfServiceStatus: models.NfServiceStatus_REGISTERED,
			IpEndPoints:     []models.IpEndPoint{{Ipv4Address: host, Port: int32(number)}},
		}},
	}, nil
}

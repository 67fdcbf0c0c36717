// equipment-register is a small 5G-EIR (TS 29.511): it reports whether a device is stolen. It joins
// a Martlet core over the fabric only.
//
//	equipment-register -at 127.0.0.30:7777 -nrf 127.0.0.10:7777 -stolen imei-356938035643809
//
// It shows what a network function written with net/http has to change: where it listens, and how
// its client dials.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	fabric "github.com/martlet-core/martlet/fabric/go"
)

func main() {
	at := flag.String("at", "127.0.0.30:7777", "address to listen at, on the fabric")
	nrf := flag.String("nrf", "127.0.0.10:7777", "address of the NRF")
	socket := flag.String("socket", "", "path of the manager's socket; empty: the default")
	stolen := flag.String("stolen", "", "PEIs of stolen devices, separated by commas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *at, *nrf, *socket, strings.Split(*stolen, ",")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, at, nrf, socket string, stolen []string) error {
	member, err := fabric.Join(ctx, fabric.Config{Name: "5g-eir", Socket: socket})
	if err != nil {
		return err
	}
	defer member.Close()
	listener, err := member.Listen(at)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- fabric.Serve(listener, handler(stolen)) }()

	at = listener.Addr().String()
	id := newID()
	registered, err := register(ctx, fabric.HTTP2Client(member), "http://"+nrf, at, id)
	if err != nil {
		return err
	}
	fmt.Println("registered as", id)
	beat := time.NewTicker(registered.heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			if err := registered.beat(ctx); err != nil {
				log.Print(err)
			}
		case err := <-failed:
			return err
		case <-ctx.Done():
			late, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			return registered.end(late)
		}
	}
}

// handler serves N5g-eir_EquipmentIdentityCheck and the notifications of the NRF.
func handler(stolen []string) http.Handler {
	mux := http.NewServeMux()
	path := "/n5g-eir-eic/v1/equipment-status"
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		pei := r.URL.Query().Get("pei")
		if r.Method != http.MethodGet || pei == "" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusBadRequest)
			json.NewEncoder(w).Encode(map[string]any{
				"status": http.StatusBadRequest,
				"cause":  "MANDATORY_QUERY_PARAM_MISSING",
			})
			return
		}
		status := "WHITELISTED"
		for _, known := range stolen {
			if pei == known {
				status = "BLACKLISTED"
			}
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]string{"status": status})
	})
	mux.HandleFunc("/notifications", func(w http.ResponseWriter, r *http.Request) {
		var data struct {
			Event   string `json:"event"`
			Profile struct {
				Type string `json:"nfType"`
			} `json:"nfProfile"`
		}
		if err := json.NewDecoder(r.Body).Decode(&data); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Println("notified of", data.Profile.Type, data.Event)
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

// newID returns an nfInstanceId: a UUID of version 4.
func newID() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		log.Fatal(err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

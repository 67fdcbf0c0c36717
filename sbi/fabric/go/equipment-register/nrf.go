package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// registration is the registration of this function with the NRF (TS 29.510).
type registration struct {
	client        *http.Client
	instance      string
	subscriptions string
	heartbeat     time.Duration
}

// register registers with the NRF and subscribes to the status of other functions.
func register(ctx context.Context, client *http.Client, nrf, at, id string) (*registration, error) {
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	const service = "n5g-eir-eic"
	profile := map[string]any{
		"nfInstanceId":   id,
		"nfType":         "5G_EIR",
		"nfStatus":       "REGISTERED",
		"ipv4Addresses":  []string{host},
		"heartBeatTimer": 10,
		"nfServiceList": map[string]any{"1": map[string]any{
			"serviceInstanceId": "1",
			"serviceName":       service,
			"versions": []any{map[string]string{
				"apiVersionInUri": "v1", "apiFullVersion": "1.2.0",
			}},
			"scheme":          "http",
			"nfServiceStatus": "REGISTERED",
			"ipEndPoints":     []any{map[string]any{"ipv4Address": host, "port": number}},
		}},
	}
	r := &registration{client: client, instance: nrf + "/nnrf-nfm/v1/nf-instances/" + id}
	answer, err := r.send(ctx, http.MethodPut, r.instance, "application/json", profile)
	if err != nil {
		return nil, err
	}
	var agreed struct {
		HeartBeatTimer int `json:"heartBeatTimer"`
	}
	if json.Unmarshal(answer, &agreed) != nil || agreed.HeartBeatTimer <= 0 {
		agreed.HeartBeatTimer = 10
	}
	r.heartbeat = time.Duration(agreed.HeartBeatTimer) * time.Second
	subscription := map[string]any{
		"nfStatusNotificationUri": "http://" + at + "/notifications",
		"reqNfInstanceId":         id,
		"reqNfType":               "5G_EIR",
	}
	subscriptions := nrf + "/nnrf-nfm/v1/subscriptions"
	_, err = r.send(ctx, http.MethodPost, subscriptions, "application/json", subscription)
	return r, err
}

// beat sends a heartbeat.
func (r *registration) beat(ctx context.Context) error {
	patch := []any{map[string]string{"op": "replace", "path": "/nfStatus", "value": "REGISTERED"}}
	_, err := r.send(ctx, http.MethodPatch, r.instance, "application/json-patch+json", patch)
	return err
}

// end deregisters the function.
func (r *registration) end(ctx context.Context) error {
	_, err := r.send(ctx, http.MethodDelete, r.instance, "", nil)
	return err
}

func (r *registration) send(
	ctx context.Context, method, url, kind string, body any,
) ([]byte, error) {
	var buffer []byte
	if body != nil {
		var err error
		if buffer, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(buffer))
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "5G_EIR")
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, url, answer.Status, got)
	}
	return got, err
}

// A program with the Go client that oapi-codegen generates from the description of a running core:
// it lists all subscribers by pages, adds one, changes it with its ETag, and removes it.
//
//	openapi_go URL TOKEN
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"martlet.example/openapi/client"
)

const supi = "imsi-001010000009999"

func ptr[T any](value T) *T { return &value }

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: openapi_go URL TOKEN")
	}
	token := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Args[2])
		return nil
	}
	api, err := client.NewClientWithResponses(os.Args[1], client.WithRequestEditorFn(token))
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), api); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, api *client.ClientWithResponses) error {
	before, pages, err := list(ctx, api)
	if err != nil {
		return err
	}
	fmt.Printf("listed %d subscribers on %d pages\n", len(before), pages)

	body := client.SubscriberBody{
		Supi:   supi,
		Key:    ptr("00112233445566778899aabbccddeeff"),
		Opc:    ptr("ffeeddccbbaa99887766554433221100"),
		Slices: before[0].Slices,
	}
	added, err := api.PostSubscribersWithResponse(ctx, nil, body)
	if err != nil {
		return err
	}
	if added.JSON201 == nil || added.JSON201.Supi != supi {
		return fmt.Errorf("not added: %s", added.Body)
	}
	again, err := api.PostSubscribersWithResponse(ctx, nil, body)
	if err != nil {
		return err
	}
	if problem := again.ApplicationproblemJSON4XX; problem == nil || problem.Status != 409 {
		return fmt.Errorf("added twice: %s", again.Body)
	}

	read, err := api.GetSubscribersSupiWithResponse(ctx, supi)
	if err != nil {
		return err
	}
	first := read.HTTPResponse.Header.Get("ETag")
	change := map[string]any{"ambr_uplink": "10 Mbps"}
	changed, err := patch(ctx, api, first, change)
	if err != nil {
		return err
	}
	if changed.JSON200 == nil || changed.JSON200.AmbrUplink != "10 Mbps" {
		return fmt.Errorf("not changed: %s", changed.Body)
	}
	stale, err := patch(ctx, api, first, map[string]any{"ambr_uplink": "20 Mbps"})
	if err != nil {
		return err
	}
	if problem := stale.ApplicationproblemJSON412; problem == nil || problem.Remedy == nil {
		return fmt.Errorf("a stale ETag is accepted: %s", stale.Body)
	}
	wrong, err := patch(ctx, api, "*", map[string]any{"ambr_uplink": "fast"})
	if err != nil {
		return err
	}
	problem := wrong.ApplicationproblemJSON4XX
	if problem == nil || problem.Field == nil || *problem.Field != "ambr_uplink" {
		return fmt.Errorf("a wrong rate is accepted: %s", wrong.Body)
	}

	tag := changed.HTTPResponse.Header.Get("ETag")
	parameters := client.DeleteSubscribersSupiParams{IfMatch: tag}
	removed, err := api.DeleteSubscribersSupiWithResponse(ctx, supi, &parameters)
	if err != nil {
		return err
	}
	if removed.StatusCode() != http.StatusNoContent {
		return fmt.Errorf("not removed: %s", removed.Body)
	}
	after, _, err := list(ctx, api)
	if err != nil {
		return err
	}
	if len(after) != len(before) {
		return fmt.Errorf("%d subscribers before, %d after", len(before), len(after))
	}
	fmt.Println("added, changed and removed one")
	return nil
}

func patch(
	ctx context.Context, api *client.ClientWithResponses, tag string, change map[string]any,
) (*client.PatchSubscribersSupiResponse, error) {
	parameters := client.PatchSubscribersSupiParams{IfMatch: tag}
	return api.PatchSubscribersSupiWithApplicationMergePatchPlusJSONBodyWithResponse(
		ctx, supi, &parameters, change)
}

// list reads all pages of seven subscribers.
func list(
	ctx context.Context, api *client.ClientWithResponses,
) (items []client.SubscriberView, pages int, err error) {
	parameters := client.GetSubscribersParams{Limit: ptr(7)}
	var total int64
	for {
		page, err := api.GetSubscribersWithResponse(ctx, &parameters)
		if err != nil {
			return nil, 0, err
		}
		if page.JSON200 == nil {
			return nil, 0, fmt.Errorf("no page: %s", page.Body)
		}
		pages++
		items = append(items, page.JSON200.Items...)
		if page.JSON200.Total != nil {
			total = *page.JSON200.Total
		}
		if page.JSON200.Next == nil {
			break
		}
		parameters.Cursor = page.JSON200.Next
	}
	if int64(len(items)) != total {
		return nil, 0, fmt.Errorf("%d subscribers on the pages, %d in all", len(items), total)
	}
	return items, pages, nil
}

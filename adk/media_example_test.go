package adk_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// website answers requests without a network.
type website map[string]string

func (w website) RoundTrip(r *http.Request) (*http.Response, error) {
	page, found := w[r.URL.Path]
	answer := &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(strings.NewReader(page))}
	if !found {
		answer.StatusCode, answer.Status = http.StatusNotFound, "404 Not Found"
	}
	return answer, nil
}

// A media behind a URL asks for it again at each opening. The engine talks to
// nobody: which client asks, and what counts as failure, is user code's.
func ExampleMediaFunc() {
	client := &http.Client{Transport: website{"/cat.svg": "<svg/>"}}
	behind := func(url string) adk.MediaReader {
		return adk.MediaFunc(func(ctx context.Context) (io.ReadCloser, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return nil, err
			}
			answer, err := client.Do(request)
			if err != nil {
				return nil, err
			}
			if answer.StatusCode/100 != 2 {
				_ = answer.Body.Close()
				return nil, fmt.Errorf("%s: %s", url, answer.Status)
			}
			return answer.Body, nil
		})
	}
	for _, name := range []string{"cat", "dog"} {
		url := "https://example.com/" + name + ".svg"
		media, err := adk.NewRetrievedPublic(adk.MediaInit{ID: name, Kind: adk.MediaImage, MIMEType: "image/svg+xml",
			Filename: name + ".svg", Source: url, Reader: behind(url)})
		if err != nil {
			panic(err)
		}
		data, err := media.Bytes(context.Background()) // in a turn: tc.OpenMedia(ctx, media)
		fmt.Printf("%q %v\n", data, err)
	}
	// Output:
	// "<svg/>" <nil>
	// "" https://example.com/dog.svg: 404 Not Found
}

package livetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// Clerk is an agent that asks a model over HTTP with what it remembers, asks a person before it
// books, streams its answer, and attaches a picture. Each field is one change of it; the zero Clerk
// behaves as recorded.
type Clerk struct {
	Forgetful bool   // the request has no memories
	Seats     int    // another argument of the tool, unless 0
	Fare      string // the tool answers differently, unless ""
	Early     bool   // the stash is set before the booking
	Twice     bool   // the tool is called again
	Unacked   bool   // the turn is not acked
	Picture   string // another file, unless ""
	Adds      bool   // the answer is added and not stored
	Ungated   bool   // nobody is asked before it books
	Pieces    bool   // the answer is streamed word by word
	Again     bool   // the model is asked again, whatever it answered
	Notes     bool   // the answer is stored as a memory, under a new id
	Watch     bool   // it uses a constant time and not the turn's clock
}

// Record records a turn of the clerk for one city, with the person's answer.
func (c Clerk) Record(t *testing.T, city string, person fakes.Answer) []byte {
	t.Helper()
	var out bytes.Buffer
	recorder := replay.Record(&out)
	config, raw := c.Config(city), c.Turn()
	raw.Observability = fakes.NewApprover(map[string]fakes.Answer{"Book it?": person}).Observability()
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config, recorder)))
	require.NoError(t, runner.Run(t.Context(), raw))
	require.NoError(t, recorder.Err())
	return out.Bytes()
}

// Turn returns the raw turn of the clerk.
func (Clerk) Turn() adk.RawTurn { return adk.RawTurn{SystemPrompt: "You book journeys."} }

// day is a fixed time in the past.
var day = time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC)

// Config returns the config of the clerk, for somebody who wants to go to a city.
func (c Clerk) Config(city string) adk.Config {
	memory := tracetest.Must(adk.NewMemory(adk.MemoryInit{ID: "seat", Content: "The user likes windows.", Confidence: new(0.9), Importance: new(0.5), CreatedAt: day, UpdatedAt: day}))
	return adk.Config{
		TurnInput: []adk.TurnMiddleware{{Name: "remember", Run: c.remember}},
		Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			return c.serve(ctx, dc, h, city)
		}},
		Tools:   []*adk.Tool{c.tool()},
		Storage: fakes.NewStorage(memory).Storage(),
	}
}

func (c Clerk) tool() *adk.Tool {
	return tracetest.Must(adk.NewTypedTool(adk.ToolInit{Name: "book", Description: "Books a seat.", Effect: adk.EffectReads},
		func(_ context.Context, _ *adk.DispatchContext, in struct {
			City  string `json:"city"`
			Seats int    `json:"seats"`
		}) (adk.ToolResult, error) {
			return adk.Text("Booked to " + in.City + OrElse(c.Fare, " for 40 euro.")), nil
		}))
}

func (Clerk) remember(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	memories, err := tc.Memories().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range memories {
		if _, err := tc.Memories().Add(m); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// serve is the whole turn of the clerk's executor.
func (c Clerk) serve(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers, city string) error {
	if err := c.ask(ctx, dc, city); err != nil {
		return err
	}
	if c.Again {
		if err := c.ask(ctx, dc, city); err != nil {
			return err
		}
	}
	if !c.Ungated {
		if _, err := dc.WaitFor(ctx, adk.Gate{ID: "book", Reason: "Book it?", Timeout: time.Minute}); err != nil {
			return dc.Nack(errors.New("nobody wants it"))
		}
	}
	if c.Early {
		if err := dc.Stash().Set("clerk.booked", true); err != nil {
			return err
		}
	}
	tool, _ := dc.Tools().Get("book")
	args := fmt.Sprintf(`{"city":%q,"seats":%d}`, city, max(c.Seats, 1))
	result, err := dc.Execute(ctx, tool, args)
	if c.Twice && err == nil {
		result, err = dc.Execute(ctx, tool, args)
	}
	if err != nil {
		return err
	}
	if !c.Early {
		if err := dc.Stash().Set("clerk.booked", true); err != nil {
			return err
		}
	}
	return c.say(ctx, dc, h, result.(*adk.Tokenizable).String()+" Have a good journey to "+city+".")
}

// ask asks the model over HTTP.
func (c Clerk) ask(ctx context.Context, dc *adk.DispatchContext, city string) error {
	messages := []map[string]string{{"role": "system", "content": dc.SystemPrompt().String()}}
	for _, m := range dc.Memories().All() {
		if !c.Forgetful {
			messages = append(messages, map[string]string{"role": "system", "content": m.Content().String()})
		}
	}
	messages = append(messages, map[string]string{"role": "user", "content": "I want to go to " + city + "."})
	body := tracetest.Must(json.Marshal(map[string]any{"model": "m-1", "messages": messages}))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/chat", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Transport: adkhttp.NewTransport(provider{})}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// provider is the server of a model.
type provider struct{}

func (provider) RoundTrip(request *http.Request) (*http.Response, error) {
	const body = `{"answer":"Book it."}`
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// say streams an answer, stores it, and ends the dispatch.
func (c Clerk) say(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers, text string) error {
	pieces := []string{text}
	if c.Pieces {
		pieces = strings.SplitAfter(text, " ")
	}
	for i, piece := range pieces {
		if _, err := h.ReportMessage("m1", piece, i == len(pieces)-1); err != nil {
			return err
		}
	}
	now := day
	if !c.Watch {
		now = dc.Now()
	}
	m, err := adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleAssistant, Content: text, Attachments: []*adk.Media{c.picture()}, CreatedAt: now, UpdatedAt: now})
	if err != nil {
		return err
	}
	if c.Adds {
		_, err = dc.Messages().Add(m)
	} else {
		err = dc.Messages().Store(ctx, m)
	}
	if err == nil && c.Notes {
		note := adk.MemoryInit{ID: dc.NewID(), Content: text, Confidence: new(1.0), Importance: new(0.5), CreatedAt: now, UpdatedAt: now}
		err = dc.Memories().Store(ctx, tracetest.Must(adk.NewMemory(note)))
	}
	if err != nil || c.Unacked {
		return err
	}
	return dc.Ack()
}

func (c Clerk) picture() *adk.Media {
	return tracetest.Must(adk.NewMedia(adk.MediaInit{ID: "p1", Kind: adk.MediaImage, MIMEType: "image/png", Filename: OrElse(c.Picture, "map.png"),
		Reader: adk.MediaFunc(func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("pixels")), nil }), TrustTier: adk.TrustFirstParty, ModalityHazard: adk.HazardInert}))
}

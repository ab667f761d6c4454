package zoo_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// asking are the families of bugs in how an agent handles answers from the outside world.
var asking = []family{
	{"half a stream taken for an answer", true, func(broken bool) turn.Instance {
		storage := conversation()
		client := clientOf(fakes.StreamReply("It ", "rains ", "in Oslo."))
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			answer, err := asked(ctx, client)
			defer answer.Close()
			if err != nil {
				return err
			}
			var text, reason string
			lines := bufio.NewScanner(answer)
			for lines.Scan() {
				word, why := deltaIn(lines.Text())
				text += word
				reason += why
			}
			if !broken && (lines.Err() != nil || reason != "stop") {
				return errors.Join(errors.New("the answer is not whole"), lines.Err())
			}
			if err := say(ctx, dc, h, "m0", text); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			for _, m := range storage.Messages() {
				if text := m.Content().String(); m.ID() == "m0" && text != "" && text != "It rains in Oslo." && strings.HasPrefix("It rains in Oslo.", text) {
					return errors.New("half an answer was told for one")
				}
			}
			return nil
		}
		return i
	}},
	{"an error page taken for an answer", true, func(broken bool) turn.Instance {
		storage := conversation()
		client := clientOf(jsonOf(`{"choices":[{"message":{"content":"Yes."},"finish_reason":"stop"}]}`))
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			answer, err := asked(ctx, client)
			defer answer.Close()
			if err != nil && (!broken || answer == http.NoBody) {
				return err
			}
			var said struct {
				Choices []struct {
					Message struct{ Content string }
				}
			}
			if err := json.NewDecoder(answer).Decode(&said); err != nil {
				return err
			}
			text := ""
			for _, choice := range said.Choices {
				text += choice.Message.Content
			}
			if text == "" && !broken {
				return errors.New("the model says nothing")
			}
			if text != "" {
				if err := say(ctx, dc, h, "m0", text); err != nil {
					return err
				}
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			said := false
			for x := range r.Crossings {
				said = said || x.Kind == adk.KindReportMessage
				if x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusAck && !said {
					return errors.New("the turn ended well, and nothing was said")
				}
			}
			return nil
		}
		return i
	}},
	{"a payment asked for again when its answer was lost", true, func(broken bool) turn.Instance {
		storage := conversation()
		pay := func(ctx context.Context) error {
			_, err := adk.Ask(ctx, "bank", "5 to Ada", func(context.Context, string) (string, error) { return "paid", nil }, adk.AskOptions{Effect: adk.EffectWrites})
			return err
		}
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			err := pay(ctx)
			if broken && err != nil || errors.Is(err, syscall.ECONNREFUSED) { // a refused connection proves that nothing was paid
				err = pay(ctx)
			}
			if err != nil {
				return err
			}
			if err := say(ctx, dc, h, "m0", "It is paid."); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			lost := false
			for x := range r.Crossings {
				var broke *net.OpError
				switch {
				case x.Kind != adk.KindAsk:
				case x.Phase == adk.Begin && lost:
					return errors.New("it may be paid twice")
				case x.Phase == adk.Done && x.Err != nil:
					lost = !errors.As(x.Err, &broke) || broke.Op != "dial"
				}
			}
			return nil
		}
		return i
	}},
}

// clientOf returns an HTTP client that gets these replies, in this order, instead of using the network.
func clientOf(replies ...fakes.Reply) *http.Client {
	return &http.Client{Transport: adkhttp.NewTransport(fakes.NewTransport(fakes.Converse(replies...)))}
}

// jsonOf returns a reply with this JSON body.
func jsonOf(body string) fakes.Reply { return fakes.Reply{ContentType: "application/json", Body: body} }

// asked posts a request to a model and returns the body of the answer, which the caller has to close. If
// the status is not 200 OK it returns both the body and an error.
func asked(ctx context.Context, client *http.Client) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/chat/completions", strings.NewReader(`{"messages":[],"stream":true}`))
	if err != nil {
		return http.NoBody, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return http.NoBody, err
	}
	if resp.StatusCode != http.StatusOK {
		return resp.Body, fmt.Errorf("it answers %s", resp.Status)
	}
	return resp.Body, nil
}

// deltaIn returns what one line of a stream contains: a piece of text, and the reason for the end if any.
func deltaIn(line string) (text, reason string) {
	var chunk struct {
		Choices []struct {
			Delta        struct{ Content string }
			FinishReason string `json:"finish_reason"`
		}
	}
	data, _ := strings.CutPrefix(line, "data: ")
	if json.Unmarshal([]byte(data), &chunk) != nil || len(chunk.Choices) == 0 {
		return "", ""
	}
	return chunk.Choices[0].Delta.Content, chunk.Choices[0].FinishReason
}

package chat_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
)

const deltaEvent = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1772492557,"model":"gpt-4o","choices":[{"index":0,"delta":{"content":" cold"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"etG"}` + "\n\n"

// BenchmarkStream compares a turn that reads a stream of 100,000 events with code that splits and
// decodes the same stream by hand.
func BenchmarkStream(b *testing.B) {
	body := strings.Repeat(deltaEvent, 100_000) + "data: [DONE]\n\n"
	b.Run("turn", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			s := &server{replies: []reply{{kind: "text/event-stream", body: body}}}
			adapter, err := chat.New(chat.Options{Model: "m", AutoAck: new(true), Transport: s})
			if err != nil {
				b.Fatal(err)
			}
			runner, err := adk.NewRunner(adk.Config{Executor: adapter.Executor("model"), Storage: fakes.NewStorage().Storage()})
			if err != nil {
				b.Fatal(err)
			}
			if err := runner.Run(b.Context(), adk.RawTurn{SystemPrompt: "x"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by hand", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			var text strings.Builder
			lines := bufio.NewScanner(strings.NewReader(body))
			for lines.Scan() {
				data, isData := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
				if !isData || string(data) == "[DONE]" {
					continue
				}
				var c struct {
					ID, Model string
					Choices   []struct {
						Index int
						Delta struct {
							Content   string
							ToolCalls []struct {
								Index    int
								ID       string
								Function struct{ Name, Arguments string }
							} `json:"tool_calls"`
						}
						FinishReason string `json:"finish_reason"`
					}
					Usage *struct {
						TotalTokens int `json:"total_tokens"`
					}
				}
				if err := json.Unmarshal(data, &c); err != nil {
					b.Fatal(err)
				}
				text.WriteString(c.Choices[0].Delta.Content)
			}
		}
	})
}

package replay_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// chat is an executor that asks a model over the streaming Chat Completions protocol; it handles
// only texts. The ids and times of its records come from the engine, so that a replay can return
// the recorded ones.
type chat struct{ baseURL, model string }

// run is one iteration: it asks, streams the answer, and runs the tools that the model requests.
// An answer without tool calls ends the dispatch.
func (c chat) run(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	stream, err := c.ask(ctx, dc)
	if err != nil {
		return err
	}
	defer stream.Close()
	reply := chatReply{ctx: ctx, dc: dc, h: h}
	if err := readChunks(stream, reply.add); err != nil {
		return err
	}
	if err := reply.storeMessage(); err != nil {
		return err
	}
	for _, call := range reply.calls {
		if err := reply.execute(call); err != nil {
			return err
		}
	}
	if len(reply.calls) > 0 {
		return nil // the model has to see the results
	}
	return dc.Ack()
}

// chatChunk holds what this executor reads of an event. The last event may have no choices. A tool
// call comes in fragments that share an index.
type chatChunk struct {
	Choices []struct {
		Delta struct {
			Content   string     `json:"content"`
			ToolCalls []chatCall `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
}

type chatCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// ask sends the messages of the dispatch, and returns the stream with the answer.
func (c chat) ask(ctx context.Context, dc *adk.DispatchContext) (io.ReadCloser, error) {
	body, err := json.Marshal(object{"model": c.model, "stream": true, "messages": chatMessages(dc), "tools": chatTools(dc)})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.baseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("chat: the provider answered %s", response.Status)
	}
	return response.Body, nil
}

type object = map[string]any

// chatMessages are the system prompt, the instructions, and then messages and tool calls in the
// order in which they were made.
func chatMessages(dc *adk.DispatchContext) []object {
	type dated struct {
		at       time.Time
		messages []object
	}
	var history []dated
	for _, m := range dc.Messages().All() {
		history = append(history, dated{m.CreatedAt(), []object{{"role": m.Role(), "content": m.Content().String()}}})
	}
	for _, t := range dc.ToolCalls().All() {
		arguments, _ := json.Marshal(t.Args()) // a record's arguments are JSON
		call := object{"id": t.ID(), "type": "function", "function": object{"name": t.Tool(), "arguments": string(arguments)}}
		history = append(history, dated{t.CreatedAt(), []object{
			{"role": "assistant", "tool_calls": []object{call}},
			{"role": "tool", "tool_call_id": t.ID(), "content": fmt.Sprint(t.Results())},
		}})
	}
	slices.SortStableFunc(history, func(a, b dated) int { return a.at.Compare(b.at) })

	messages := []object{{"role": "system", "content": dc.SystemPrompt().String()}}
	for _, instruction := range dc.Instructions().All() {
		messages = append(messages, object{"role": "system", "content": instruction.String()})
	}
	for _, one := range history {
		messages = append(messages, one.messages...)
	}
	return messages
}

func chatTools(dc *adk.DispatchContext) (tools []object) {
	for _, tool := range dc.Tools().All() {
		d := tool.Describe()
		tools = append(tools, object{"type": "function",
			"function": object{"name": d.Name, "description": d.Description, "parameters": d.InputSchema}})
	}
	return tools
}

// readChunks reads an event stream. It ignores comments and blank lines. A stream that ends
// without an end marker was cut short.
func readChunks(stream io.Reader, add func(chatChunk) error) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data:")
		if !isData {
			continue
		}
		if strings.TrimSpace(data) == "[DONE]" {
			return nil
		}
		var chunk chatChunk
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return fmt.Errorf("chat: a chunk of the stream: %w", err)
		}
		if err := add(chunk); err != nil {
			return err
		}
	}
	return cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
}

// chatReply is a reply that is being received.
type chatReply struct {
	ctx       context.Context
	dc        *adk.DispatchContext
	h         *adk.Helpers
	messageID string
	calls     []*chatCall
}

// add reports text as it arrives, and assembles tool calls. It also checks whether the turn is
// over, since more of the stream may already have been read by then.
func (r *chatReply) add(chunk chatChunk) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	for _, choice := range chunk.Choices {
		for _, fragment := range choice.Delta.ToolCalls {
			r.addCall(fragment)
		}
		if choice.Delta.Content == "" {
			continue
		}
		if r.messageID == "" {
			r.messageID = r.dc.NewID()
		}
		if _, err := r.h.ReportMessage(r.messageID, choice.Delta.Content, false); err != nil {
			return err
		}
	}
	return nil
}

func (r *chatReply) addCall(fragment chatCall) {
	at := slices.IndexFunc(r.calls, func(c *chatCall) bool { return c.Index == fragment.Index })
	if at < 0 {
		r.calls = append(r.calls, &fragment)
		return
	}
	r.calls[at].Function.Arguments += fragment.Function.Arguments
}

// storeMessage completes the message, if there was one, and stores it.
func (r *chatReply) storeMessage() error {
	if r.messageID == "" {
		return nil
	}
	said, err := r.h.ReportMessage(r.messageID, "", true)
	if err != nil {
		return err
	}
	message, err := adk.NewMessage(adk.MessageInit{ID: said.ID, Role: adk.RoleAssistant, Content: said.Full,
		CreatedAt: said.CreatedAt, UpdatedAt: said.UpdatedAt})
	if err != nil {
		return err
	}
	return r.dc.Messages().Store(r.ctx, message)
}

// execute runs one tool. Its failure is a result for the model.
func (r *chatReply) execute(call *chatCall) error {
	tool, ok := r.dc.Tools().Get(call.Function.Name)
	if !ok {
		return fmt.Errorf("chat: the model asks for %q, which is no tool", call.Function.Name)
	}
	args := cmp.Or(call.Function.Arguments, "{}")
	if _, err := r.h.ReportToolCall(call.ID, adk.ToolCallReport{Tool: tool.Name(), Args: args}); err != nil {
		return err
	}
	result, err := r.dc.Execute(r.ctx, tool, args)
	if err != nil {
		result = adk.Text(err.Error())
	}
	done, reportErr := r.h.ReportToolCall(call.ID, adk.ToolCallReport{Results: result, IsError: err != nil, Complete: true})
	record, recordErr := adk.NewToolCall(adk.ToolCallInit{ID: call.ID, Tool: done.Tool, Args: done.Args, Results: done.Results,
		IsError: done.IsError, CreatedAt: done.CreatedAt, UpdatedAt: done.UpdatedAt, CompletedAt: done.CompletedAt})
	if err := errors.Join(reportErr, recordErr); err != nil {
		return err
	}
	return r.dc.ToolCalls().Store(r.ctx, record)
}

// A user-written executor talks to a provider over HTTP. Here the
// provider is a fake that streams a tool call and then a reply. The
// turn is recorded, verified with the executor live, and shown.
func Example_chatCompletions() {
	conversation := fakes.Converse(
		fakes.StreamToolCall("call_1", "weather", `{"ci`, `ty":"Oslo"}`),
		fakes.StreamReply("It rains", " in Oslo."),
	)
	provider := fakes.NewProvider(conversation)
	defer provider.Close()

	var trace bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{
		Executor: adk.Executor{Name: "chat", Run: chat{provider.URL(), "fake"}.run},
		Storage:  fakes.NewStorage().Storage(),
		Tools:    []*adk.Tool{fakes.NewTool("weather", "Tells the weather of a city.", "rain, 8 °C").Tool()},
	}, replay.Record(&trace)))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Be brief."}); err != nil {
		fmt.Println(err)
	}

	again := fakes.NewProvider(conversation)
	defer again.Close()
	report, err := replay.Verify(context.Background(), bytes.NewReader(trace.Bytes()), replay.LiveExecutor(chat{again.URL(), "fake"}.run))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("divergence:", report.Divergence)
	if err := transcript.Write(os.Stdout, &trace); err != nil {
		fmt.Println(err)
	}
	// Output:
	// divergence: <nil>
	// run "Be brief."  tools: weather "Tells the weather of a city."
	//   * turnStart turn1
	//   dispatch
	//     * dispatchStart dispatch1
	//     * iterationStart 0
	//     state: prompt, 1 tool (weather)
	//     executor/chat#0
	//       report-tool-call call1 weather {"city":"Oslo"}  * toolCall #0666dc0b
	//       execute weather {"city":"Oslo"}
	//         * toolExecutionStart weather #0666dc0b
	//         tool/weather {"city":"Oslo"} → "rain, 8 °C"
	//         * toolExecutionEnd weather
	//       report-tool-call call1 gave "rain, 8 °C" complete  * toolCall #0666dc0b
	//       store call1 weather {"city":"Oslo"} gave "rain, 8 °C" in toolCalls → storage/toolCalls.store
	//     * iterationEnd 0, 1 change made in the turn
	//     * iterationStart 1
	//     state: prompt, 1 tool call (call1), 1 tool (weather)
	//     executor/chat#1
	//       new-id → id1
	//       report-message m1 "It rains"  * message
	//       report-message m1 " in Oslo."  * message
	//       report-message m1 "" complete  * message "It rains in Oslo."
	//       store m1 (id1) assistant "It rains in Oslo." in messages → storage/messages.store
	//       ack
	//     * dispatchEnd dispatch1 ack after 2 iterations, 1 change made in the turn
	//   state before the output: prompt, 1 message (m1), 1 tool call (call1), 1 tool (weather)
	//   state at the end: prompt, 1 message (m1), 1 tool call (call1), 1 tool (weather)
	//   * turnEnd turn1
}

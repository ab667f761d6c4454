package saying

import (
	"fmt"
	"strings"
)

// messageOf is a message of Messages with its blocks, at its beginning or its end.
func messageOf(blocks, stop string) string {
	return fmt.Sprintf(`{"id":"msg_fake","type":"message","role":"assistant","model":%q,"content":[%s],"stop_reason":%s,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`,
		model, blocks, stop)
}

// messages is the answer as Messages says it whole.
func (a Answer) messages() (Body, error) {
	var blocks []string
	if text := a.text(); text != "" {
		blocks = append(blocks, `{"type":"text","text":`+quoted(text)+`}`)
	}
	for _, call := range a.Calls {
		input, err := call.object()
		if err != nil {
			return Body{}, err
		}
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":%s}`, quoted(call.ID), quoted(call.Name), input))
	}
	return Body{ofJSON, messageOf(strings.Join(blocks, ","), quoted(a.finish("end_turn", "tool_use")))}, nil
}

// messagesStream is the answer as Messages streams it.
func (a Answer) messagesStream() (Body, error) {
	var e events
	at := 0
	block := func(begin, kind, member string, pieces []string) {
		e.named("content_block_start", `{"type":"content_block_start","index":%d,"content_block":%s}`, at, begin)
		for _, piece := range pieces {
			e.named("content_block_delta", `{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, at, kind, member, quoted(piece))
		}
		e.named("content_block_stop", `{"type":"content_block_stop","index":%d}`, at)
		at++
	}
	e.named("message_start", `{"type":"message_start","message":%s}`, messageOf("", "null"))
	if a.text() != "" {
		block(`{"type":"text","text":""}`, "text_delta", "text", a.Text)
	}
	for _, call := range a.Calls {
		block(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quoted(call.ID), quoted(call.Name)), "input_json_delta", "partial_json", call.ArgumentFragments)
	}
	e.named("message_delta", `{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":1}}`, a.finish("end_turn", "tool_use"))
	e.named("message_stop", `{"type":"message_stop"}`)
	return e.body(), nil
}

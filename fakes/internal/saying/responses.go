package saying

import (
	"fmt"
	"strings"
)

// responseOf is a response with its items.
func responseOf(status string, items ...string) string {
	return fmt.Sprintf(`{"id":"resp_fake","object":"response","created_at":%d,"status":%q,"error":null,"incomplete_details":null,"model":%q,"output":[%s],`+
		`"parallel_tool_calls":true,"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":2}}`,
		created, status, model, strings.Join(items, ","))
}

// messageItem is the item of what is said as text, textPart its only part.
func messageItem(status, parts string) string {
	return fmt.Sprintf(`{"id":"msg_fake","type":"message","status":%q,"role":"assistant","content":[%s]}`, status, parts)
}

func textPart(text string) string {
	return `{"type":"output_text","text":` + quoted(text) + `,"annotations":[]}`
}

// callItem is the item of a call.
func (c Call) callItem(at int, status, arguments string) string {
	return fmt.Sprintf(`{"id":%q,"type":"function_call","status":%q,"call_id":%s,"name":%s,"arguments":%s}`,
		itemID(at), status, quoted(c.ID), quoted(c.Name), quoted(arguments))
}

func itemID(at int) string { return fmt.Sprintf("fc_fake_%d", at) }

// items are those of the whole answer.
func (a Answer) items() (items []string) {
	if text := a.text(); text != "" || len(a.Calls) == 0 {
		items = append(items, messageItem("completed", textPart(text)))
	}
	for _, call := range a.Calls {
		items = append(items, call.callItem(len(items), "completed", call.arguments()))
	}
	return items
}

// response is the answer as Responses says it whole.
func (a Answer) response() (Body, error) {
	return Body{ofJSON, responseOf("completed", a.items()...)}, nil
}

// responseStream is the answer as Responses streams it.
func (a Answer) responseStream() (Body, error) {
	var e events
	n := 0
	say := func(kind, format string, args ...any) {
		e.named(kind, `{"type":%q,"sequence_number":%d,%s}`, kind, n, fmt.Sprintf(format, args...))
		n++
	}
	items := a.items()
	say("response.created", `"response":%s`, responseOf("in_progress"))
	say("response.in_progress", `"response":%s`, responseOf("in_progress"))
	calls := a.Calls
	for at, item := range items {
		if within := len(items) - at; within <= len(calls) {
			call := calls[len(calls)-within]
			say("response.output_item.added", `"output_index":%d,"item":%s`, at, call.callItem(at, "in_progress", ""))
			for _, fragment := range call.ArgumentFragments {
				say("response.function_call_arguments.delta", `"item_id":%q,"output_index":%d,"delta":%s`, itemID(at), at, quoted(fragment))
			}
			say("response.function_call_arguments.done", `"item_id":%q,"output_index":%d,"arguments":%s`, itemID(at), at, quoted(call.arguments()))
		} else {
			const place = `"item_id":"msg_fake","output_index":0,"content_index":0`
			say("response.output_item.added", `"output_index":0,"item":%s`, messageItem("in_progress", ""))
			say("response.content_part.added", place+`,"part":%s`, textPart(""))
			for _, piece := range a.Text {
				say("response.output_text.delta", place+`,"delta":%s`, quoted(piece))
			}
			say("response.output_text.done", place+`,"text":%s`, quoted(a.text()))
			say("response.content_part.done", place+`,"part":%s`, textPart(a.text()))
		}
		say("response.output_item.done", `"output_index":%d,"item":%s`, at, item)
	}
	say("response.completed", `"response":%s`, responseOf("completed", items...))
	return e.body(), nil
}

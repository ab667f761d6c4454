package chat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/internal/canonical"
)

// payloadsName is the member with reasoning that only its provider can read (REQ-14).
const payloadsName = "_adk_reasoning_payloads"

// body returns the request body of an iteration. Equal settings, prompt and tools give equal bytes
// (REQ-2).
func (s *settings) body(ctx context.Context, shown *prompt.Prompt, tools []*adk.Tool) ([]byte, error) {
	o := canonical.Open(make([]byte, 0, 4096))
	o.Text("model", s.text("model"))
	o.Field("messages")
	o.Out = s.appendMessages(o.Out, shown.Messages)
	o.Flag("stream", s.stream)
	var err error
	for _, r := range table {
		if r.inBody && s.data[r.name] != nil {
			o.Field(r.name)
			if o.Out, err = appendPlain(o.Out, s.options[r.name]); err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	extra, _ := plainMap(s.options["extraBody"])
	for _, name := range sortedKeys(extra) {
		o.Field(name)
		if o.Out, err = appendPlain(o.Out, extra[name]); err != nil {
			return nil, fmt.Errorf("extraBody.%s: %w", name, err)
		}
	}
	if len(tools) > 0 {
		described, err := s.helpers.Tools(ctx, tools, s.helpers.Schema)
		if err != nil {
			return nil, err
		}
		o.Field("tools")
		o.Out = append(append(append(o.Out, '['), bytes.Join(rawBytes(described), []byte{','})...), ']')
	}
	if len(shown.Opaque) > 0 {
		o.Field(payloadsName)
		if o.Out, err = appendPayloads(o.Out, shown.Opaque); err != nil {
			return nil, err
		}
	}
	return o.Close(), nil
}

func rawBytes(all []json.RawMessage) [][]byte {
	texts := make([][]byte, len(all))
	for i, one := range all {
		texts[i] = one
	}
	return texts
}

// appendPlain appends plain data as ECMAScript writes it, with sorted keys. Raw JSON keeps the
// order of its members, because a model writes in the order of the schema that it gets.
func appendPlain(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case json.RawMessage:
		out := bytes.NewBuffer(dst)
		err := json.Compact(out, v)
		return out.Bytes(), err
	case []any:
		dst = append(dst, '[')
		for i, one := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendPlain(dst, one); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		o := canonical.Open(dst)
		for _, key := range sortedKeys(v) {
			o.Field(key)
			var err error
			if o.Out, err = appendPlain(o.Out, v[key]); err != nil {
				return nil, err
			}
		}
		return o.Close(), nil
	}
	return canonical.Append(dst, v)
}

func appendPayloads(dst []byte, opaque []prompt.OpaqueThought) ([]byte, error) {
	dst = append(dst, '[')
	for i, thought := range opaque {
		if i > 0 {
			dst = append(dst, ',')
		}
		one := canonical.Open(nil)
		one.Text("id", thought.ID)
		one.Text("replayCompatibility", thought.ReplayCompatibility)
		one.Field("payload")
		var err error
		if one.Out, err = appendPlain(one.Out, thought.Payload); err != nil {
			return nil, fmt.Errorf("the payload of thought %.80q: %w", thought.ID, err)
		}
		dst = append(dst, one.Close()...)
	}
	return append(dst, ']'), nil
}

func (s *settings) appendMessages(dst []byte, messages []prompt.Message) []byte {
	dst = append(dst, '[')
	for i, message := range messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.appendMessage(dst, message)
	}
	return append(dst, ']')
}

func (s *settings) appendMessage(dst []byte, message prompt.Message) []byte {
	one := canonical.Open(dst)
	one.Text("role", string(message.Role))
	one.SomeText("name", message.Name)
	if message.CallID != "" {
		one.Text("tool_call_id", s.wireID(message.CallID))
	}
	one.Field("content")
	if call := message.Call; call != nil {
		one.Out = append(one.Out, "null"...)
		one.Field("tool_calls")
		wanted := canonical.Open(append(one.Out, '['))
		wanted.Text("id", s.wireID(call.ID))
		wanted.Text("type", "function")
		wanted.Field("function")
		function := canonical.Open(wanted.Out)
		function.Text("name", call.Tool)
		function.Text("arguments", call.Args)
		wanted.Out = function.Close()
		one.Out = append(wanted.Close(), ']')
	} else {
		one.Out = appendContent(one.Out, message.Content)
	}
	return one.Close()
}

func appendContent(dst []byte, content prompt.Content) []byte {
	if content.Blocks == nil {
		return canonical.AppendString(dst, content.Text)
	}
	dst = append(dst, '[')
	for i, block := range content.Blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendBlock(dst, block)
	}
	return append(dst, ']')
}

// appendBlock appends one part of a content (REQ-30).
func appendBlock(dst []byte, block prompt.Block) []byte {
	o := canonical.Open(nil)
	native := block.Native
	if native == nil {
		o.Text("type", "text")
		o.Text("text", block.Text)
		return append(dst, o.Close()...)
	}
	inner := canonical.Open(nil)
	kind := ""
	switch native.Kind {
	case adk.MediaImage:
		kind = "image_url"
		inner.Text("url", native.DataURI())
	case adk.MediaAudio:
		kind = "input_audio"
		inner.Text("data", native.Base64())
		inner.Text("format", native.Format)
	default:
		kind = "file"
		inner.Text("filename", native.Filename)
		inner.Text("file_data", native.DataURI())
	}
	o.Text("type", kind)
	o.Field(kind)
	o.Out = append(o.Out, inner.Close()...)
	return append(dst, o.Close()...)
}

// wireID returns the id of a call as it is sent (CAL-7).
func (s *settings) wireID(id string) string {
	if s.ids != IDsAlnum9 || alnum9.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	digits := new(big.Int).SetBytes(sum[:]).Text(62)
	return fmt.Sprintf("%09s", digits)[:9]
}

var alnum9 = regexp.MustCompile(`^[0-9A-Za-z]{9}$`)

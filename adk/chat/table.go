package chat

import (
	"net/url"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// row describes an option.
type row struct {
	name   string
	check  check // nil for code, which is not plain data
	inBody bool  // sent in the body as it is
}

// table has all options, in the order in which a body has them (REQ-2).
var table = []row{
	{name: "model", check: isSomeText},
	{name: "apiKey", check: isKey},
	{name: "baseURL", check: isURL},
	{name: "headers", check: areHeaders},
	{name: "transport"},
	{name: "stream", check: isFlag},
	{name: "streamIdleTimeoutMs", check: isWhole(0, largest)},
	{name: "requestTimeoutMs", check: isWhole(0, largest)},
	{name: "retry", check: isShape(
		member{"maxAttempts", isWhole(1, largest), false},
		member{"baseDelayMs", isWhole(0, largest), false},
		member{"maxDelayMs", isWhole(1, largest), false},
		member{"retriableStatuses", isListOf(isWhole(100, 599)), false},
		member{"honorRetryAfter", isFlag, false})},
	{name: "selfIdentity", check: isSomeText},
	{name: "thoughtSurfacing", check: isSomeText}, // package prompt checks the value
	{name: "replayCompatibility", check: isListOf(isText)},
	{name: "reasoningFieldPrecedence", check: areReasoningFields},
	{name: "bucketOrder", check: isListOf(isText)},
	{name: "tokenEncoding", check: isSomeText}, // package budget checks the value
	{name: "contextWindow", check: isWhole(1, largest)},
	{name: "counter"},
	{name: "unsupportedMediaPolicy", check: isTextOr(isSomeText, isShape(
		member{"mode", isSomeText, true}, member{"stashKeys", isListOf(isText), false}))},
	{name: "helpers"},
	{name: "helperSets"},
	{name: "artifacts"},
	{name: "extraBody", check: isObject},
	{name: "strictToolChoice", check: isFlag},
	{name: "autoAck", check: isFlag},
	{name: "resets", check: isListOf(isText)},
	{name: "toolCallIds", check: isOneOf(string(IDsAsIs), string(IDsAlnum9))},

	{name: "temperature", check: isNumber(0, 2), inBody: true},
	{name: "top_p", check: isNumber(0, 1), inBody: true},
	{name: "frequency_penalty", check: isNumber(-2, 2), inBody: true},
	{name: "presence_penalty", check: isNumber(-2, 2), inBody: true},
	{name: "n", check: isWhole(1, largest), inBody: true},
	{name: "max_tokens", check: isWhole(1, largest), inBody: true},
	{name: "max_completion_tokens", check: isWhole(1, largest), inBody: true},
	{name: "top_logprobs", check: isWhole(0, 20), inBody: true},
	{name: "logprobs", check: isFlag, inBody: true},
	{name: "logit_bias", check: isMapOf(isNumber(-unbounded, unbounded)), inBody: true},
	{name: "seed", check: isWhole(-unbounded, unbounded), inBody: true},
	{name: "stop", check: isTextOr(isText, isListOf(isText)), inBody: true},
	{name: "user", check: isText, inBody: true},
	{name: "store", check: isFlag, inBody: true},
	{name: "metadata", check: isMapOf(isText), inBody: true},
	{name: "safety_identifier", check: isText, inBody: true},
	{name: "prompt_cache_key", check: isText, inBody: true},
	{name: "prompt_cache_retention", check: isOneOf("in_memory", "24h"), inBody: true},
	{name: "reasoning_effort", check: isOneOf("none", "minimal", "low", "medium", "high"), inBody: true},
	{name: "service_tier", check: isOneOf("auto", "default", "flex", "priority", "scale"), inBody: true},
	{name: "verbosity", check: isOneOf("low", "medium", "high"), inBody: true},
	{name: "response_format", check: isTyped(map[string][]member{
		"text": nil, "json_object": nil,
		"json_schema": {{"json_schema", isShape(member{"name", isSomeText, true}, member{"schema", isObject, true},
			member{"strict", isFlag, false}, member{"description", isText, false}), true}},
	}), inBody: true},
	{name: "tool_choice", check: isTextOr(isOneOf("none", "auto", "required"), isToolChoice), inBody: true},
	{name: "parallel_tool_calls", check: isFlag, inBody: true},
	{name: "stream_options", check: isShape(member{"include_usage", isFlag, false}, member{"include_obfuscation", isFlag, false}), inBody: true},
	{name: "modalities", check: isListOf(isOneOf("text", "audio")), inBody: true},
	{name: "audio", check: isShape(member{"voice", isSomeText, true},
		member{"format", isOneOf("wav", "mp3", "flac", "opus", "pcm16"), true}), inBody: true},
	{name: "prediction", check: isTyped(map[string][]member{"content": {{"content", isTextOr(isText, isListOf(
		isTyped(map[string][]member{"text": {{"text", isText, true}}}))), true}}}), inBody: true},
	{name: "web_search_options", check: isShape(
		member{"search_context_size", isOneOf("low", "medium", "high"), false},
		member{"user_location", isTyped(map[string][]member{"approximate": {{"approximate", isShape(
			member{"city", isText, false}, member{"country", isText, false},
			member{"region", isText, false}, member{"timezone", isText, false}), true}}}), false}), inBody: true},
	{name: "function_call", check: isTextOr(isOneOf("none", "auto"), isShape(member{"name", isSomeText, true})), inBody: true},
	{name: "functions", check: isListOf(isShape(member{"name", isSomeText, true},
		member{"description", isText, false}, member{"parameters", isObject, false})), inBody: true},
}

// rows has the rows of the table by name.
var rows = func() map[string]row {
	byName := map[string]row{}
	for _, r := range table {
		byName[r.name] = r
	}
	return byName
}()

// named has the shapes of a tool_choice of one tool.
var named = map[string][]member{
	"function": {{"function", isShape(member{"name", isSomeText, true}), true}},
	"custom":   {{"custom", isShape(member{"name", isSomeText, true}), true}},
}

func isToolChoice(path string, v any) []adk.Fault {
	return isTyped(map[string][]member{
		"function": named["function"], "custom": named["custom"],
		"allowed_tools": {{"allowed_tools", isShape(member{"mode", isOneOf("auto", "required"), true},
			member{"tools", isListOf(isTyped(named)), true}), true}},
	})(path, v)
}

func isURL(path string, v any) []adk.Fault {
	if faults := isText(path, v); faults != nil {
		return faults
	}
	to, err := url.Parse(v.(string))
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return fault(path, "is no URL of a server, want one like %s", DefaultBaseURL)
	}
	return nil
}

// areHeaders accepts headers that can be sent. Its faults do not quote values, which may be
// secrets.
func areHeaders(path string, v any) (faults []adk.Fault) {
	if faults := isMapOf(isText)(path, v); faults != nil {
		return faults
	}
	headers := v.(map[string]any)
	for _, name := range sortedKeys(headers) {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isTokenRune(r) }) {
			faults = append(faults, fault(path, "has the name %.40q, which no header can have", name)...)
		}
		if hasControls(headers[name].(string)) {
			faults = append(faults, fault(path+"."+name, "has a control character")...)
		}
	}
	return faults
}

// isKey accepts a text that can be sent in a header. A key that was read from a file often has the
// line end with it.
func isKey(path string, v any) []adk.Fault {
	if text, _ := v.(string); hasControls(text) {
		return fault(path, "has a control character")
	}
	return isSomeText(path, v)
}

// hasControls reports whether a value has control characters, which a header cannot have.
func hasControls(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

func isTokenRune(r rune) bool {
	return r > ' ' && r < 0x7f && !strings.ContainsRune("()<>@,;:\\\"/[]?={}", r)
}

func areReasoningFields(path string, v any) []adk.Fault {
	if faults := isListOf(isOneOf(reasoningFields...))(path, v); faults != nil {
		return faults
	}
	seen := map[any]bool{}
	for _, name := range v.([]any) {
		if seen[name] {
			return fault(path, "has %s twice", name)
		}
		seen[name] = true
	}
	if len(seen) == 0 {
		return fault(path, "is empty, want %s", anyOf(reasoningFields))
	}
	return nil
}

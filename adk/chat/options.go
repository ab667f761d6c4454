package chat

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// StashKey is where the stash has options for the iterations to come, by the names in the tags of
// Options (OPT-3).
const StashKey = "openaiChatCompletions"

// Options say which server is asked, how, and what a prompt shows. A field with its zero value is
// not set: a nil pointer, an empty text, a nil list (new(0.2) is a pointer to a number). The tag of
// a field is its name in errors and stashes.
//
// Fields of type any hold plain data: texts, booleans, numbers, lists, maps by text, and
// json.RawMessage, whose members are sent in their own order.
// text, and json.RawMessage, which is sent with its members in the order they have.
type Options struct {
	// Model is the name of the model. Required.
	Model string `option:"model"`
	// APIKey is sent as a bearer token, unless Headers have an Authorization.
	APIKey string `option:"apiKey"`
	// BaseURL is the URL of the endpoint without /chat/completions; empty means OpenAI. Its query
	// is kept.
	BaseURL string            `option:"baseURL"`
	Headers map[string]string `option:"headers"`
	// Transport sends the requests; nil means http.DefaultTransport. Package adkhttp wraps it.
	Transport http.RoundTripper `option:"transport"`
	// Stream asks for the answer as a stream; nil means true.
	Stream *bool `option:"stream"`
	// StreamIdleTimeout is how long a stream may be silent; 0 means no limit. All limits are in
	// whole milliseconds.
	StreamIdleTimeout *time.Duration `option:"streamIdleTimeoutMs"`
	// RequestTimeout limits the time until the head of a stream, or all of an answer that is no
	// stream; 0 means no limit.
	RequestTimeout *time.Duration `option:"requestTimeoutMs"`
	Retry          Retry          `option:"retry"`
	// SelfIdentity is the identifier of the agent; empty means prompt.DefaultSelf.
	SelfIdentity        string           `option:"selfIdentity"`
	ThoughtSurfacing    prompt.Surfacing `option:"thoughtSurfacing"`
	ReplayCompatibility []string         `option:"replayCompatibility"`
	// ReasoningFieldPrecedence lists the fields of an answer in which reasoning is looked for; nil
	// means reasoning, then reasoning_content.
	ReasoningFieldPrecedence []string `option:"reasoningFieldPrecedence"`
	// BucketOrder places the parts of a prompt; nil means prompt.Buckets. An empty list that is not
	// nil places none.
	BucketOrder []prompt.Bucket `option:"bucketOrder"`
	// TokenEncoding and ContextWindow bound a prompt, if both are set (budget.Limits).
	TokenEncoding          adk.Encoding       `option:"tokenEncoding"`
	ContextWindow          *int               `option:"contextWindow"`
	Counter                budget.Counter     `option:"counter"`
	UnsupportedMediaPolicy prompt.MediaPolicy `option:"unsupportedMediaPolicy"`
	// Helpers replace the default ones, each that is not nil.
	Helpers Helpers `option:"helpers"`
	// HelperSets are helpers that a stash can choose by name.
	HelperSets map[string]Helpers `option:"helperSets"`
	// Artifacts says which tools are forged for artifacts, and where their bodies are.
	Artifacts artifact.Config `option:"artifacts"`
	// ExtraBody has members of the request for which there is no option.
	ExtraBody map[string]any `option:"extraBody"`
	// StrictToolChoice refuses a ToolChoice that names a tool which exists for this request only.
	StrictToolChoice *bool `option:"strictToolChoice"`
	// AutoAck acks the dispatch after an answer without tool calls.
	AutoAck *bool `option:"autoAck"`
	// ToolCallIDs says how ids of calls are sent; empty means IDsAsIs.
	ToolCallIDs ToolCallIDs `option:"toolCallIds"`
	// Resets names options that go back to their defaults, whatever the options below this layer
	// say.
	Resets []string `option:"resets"`

	// The following fields are sent as they are, if they are set. The provider's documentation says
	// what each does.

	Temperature          *float64          `option:"temperature"`
	TopP                 *float64          `option:"top_p"`
	FrequencyPenalty     *float64          `option:"frequency_penalty"`
	PresencePenalty      *float64          `option:"presence_penalty"`
	N                    *int              `option:"n"`
	MaxTokens            *int              `option:"max_tokens"`
	MaxCompletionTokens  *int              `option:"max_completion_tokens"`
	TopLogprobs          *int              `option:"top_logprobs"`
	Logprobs             *bool             `option:"logprobs"`
	LogitBias            map[string]int    `option:"logit_bias"`
	Seed                 *int              `option:"seed"`
	Stop                 any               `option:"stop"`
	User                 string            `option:"user"`
	Store                *bool             `option:"store"`
	Metadata             map[string]string `option:"metadata"`
	SafetyIdentifier     string            `option:"safety_identifier"`
	PromptCacheKey       string            `option:"prompt_cache_key"`
	PromptCacheRetention string            `option:"prompt_cache_retention"`
	ReasoningEffort      string            `option:"reasoning_effort"`
	ServiceTier          string            `option:"service_tier"`
	Verbosity            string            `option:"verbosity"`
	ResponseFormat       any               `option:"response_format"`
	ToolChoice           any               `option:"tool_choice"`
	ParallelToolCalls    *bool             `option:"parallel_tool_calls"`
	StreamOptions        any               `option:"stream_options"`
	Modalities           []string          `option:"modalities"`
	Audio                any               `option:"audio"`
	Prediction           any               `option:"prediction"`
	WebSearchOptions     any               `option:"web_search_options"`
	FunctionCall         any               `option:"function_call"`
	Functions            any               `option:"functions"`
}

// Retry says whether and when an attempt is repeated. Zero fields are not set.
type Retry struct {
	// MaxAttempts includes the first attempt; nil means 1, that is, no retry.
	MaxAttempts *int `option:"maxAttempts"`
	// BaseDelay is the first wait; it doubles with each attempt, up to MaxDelay. nil means half a
	// second for BaseDelay and half a minute for MaxDelay.
	BaseDelay *time.Duration `option:"baseDelayMs"`
	MaxDelay  *time.Duration `option:"maxDelayMs"`
	// RetriableStatuses are the statuses after which a retry may help; nil means 429, 502, 503 and
	// 504.
	RetriableStatuses []int `option:"retriableStatuses"`
	// HonorRetryAfter waits as long as the answer asks for, up to MaxDelay; nil means true.
	HonorRetryAfter *bool `option:"honorRetryAfter"`
}

// ToolCallIDs says how the ids of tool calls are sent.
type ToolCallIDs string

// The ways of sending ids.
const (
	IDsAsIs ToolCallIDs = "as-is"
	// IDsAlnum9 replaces an id that does not consist of nine letters and digits by nine that are
	// derived from it, for providers that accept no others.
	IDsAlnum9 ToolCallIDs = "alnum9"
)

// layer holds options by name; nil means that an option goes back to its default.
type layer map[string]any

// layer returns the options that are set, copied so that the caller cannot change them later.
func (o Options) layer() layer {
	l := fieldsOf(o)
	for name, value := range l {
		switch value := value.(type) {
		case Retry:
			l[name] = plain.Copy(map[string]any(fieldsOf(value)))
		case prompt.MediaPolicy:
			policy := map[string]any{"mode": string(value.Mode)}
			if value.StashKeys != nil {
				policy["stashKeys"] = slices.Clone(value.StashKeys)
			}
			l[name] = policy
		default:
			if rows[name].check != nil {
				l[name] = plain.Copy(value)
			}
		}
	}
	return l
}

// fieldsOf returns the fields of a struct that are set, by tag.
func fieldsOf(options any) layer {
	l, v := layer{}, reflect.ValueOf(options)
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Tag.Get("option"), v.Field(i)
		if name == "" || field.IsZero() {
			continue
		}
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		l[name] = field.Interface()
	}
	return l
}

// over returns the layer merged over the one below. headers, helpers, retry and helperSets are
// merged key by key, all other options are replaced, and reset options count as not set (OPT-2).
// Neither layer is changed.
func (l layer) over(below layer) layer {
	merged := maps.Clone(below)
	for _, name := range l.resets() {
		if isOption(name) {
			merged[name] = nil
		}
	}
	for name, value := range l {
		switch under := below[name]; name {
		case "headers":
			merged[name] = overKeys(value, under, http.CanonicalHeaderKey)
		case "retry", "helperSets":
			merged[name] = overKeys(value, under, func(key string) string { return key })
		case "helpers":
			merged[name] = overHelpers(value, under)
		default:
			merged[name] = value
		}
	}
	return merged
}

// resets returns the options that go back to their defaults. Elements that are no text are left for
// the check to report.
func (l layer) resets() (names []string) {
	switch all := l["resets"].(type) {
	case []string:
		return all
	case []any:
		for _, one := range all {
			if name, ok := one.(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// overKeys merges a map over another; keys are the same if name gives the same for them. A value
// that is no map is left for the check to report.
func overKeys(value, under any, name func(key string) string) any {
	above, isMap := plainMap(value)
	if !isMap {
		return value
	}
	merged := map[string]any{}
	below, _ := plainMap(under)
	for _, one := range []map[string]any{below, above} {
		for _, key := range sortedKeys(one) {
			merged[name(key)] = one[key]
		}
	}
	return merged
}

func overHelpers(value, under any) any {
	above, ok := value.(Helpers)
	below, both := under.(Helpers)
	if !ok || !both {
		return value
	}
	return above.Over(below)
}

// plainMap returns a map with keys of a string type as a map[string]any.
func plainMap(value any) (map[string]any, bool) {
	v := reflect.ValueOf(value)
	if !v.IsValid() || v.Kind() != reflect.Map || v.Type().Key().Kind() != reflect.String {
		return nil, false
	}
	object := make(map[string]any, v.Len())
	for _, key := range v.MapKeys() {
		object[key.String()] = v.MapIndex(key).Interface()
	}
	return object, true
}

// sortedKeys returns the sorted keys of a map, so that faults and bytes have a fixed order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

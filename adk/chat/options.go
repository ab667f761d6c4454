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

// StashKey is where a stash says options for the iterations to come, by their names in
// the tags of Options (OPT-3).
const StashKey = "openaiChatCompletions"

// Options say who is asked, how, and what a prompt shows. A field with its zero value
// says nothing: a pointer is nil, a text empty, a list nil (new(0.2) is a pointer to a
// number). The tag of a field is the name that errors and stashes use.
//
// Fields that stand here as any are plain data: texts, booleans, numbers, lists, maps by
// text, and json.RawMessage, which is sent with its members in the order they have.
type Options struct {
	// Model is the name of the model. Required.
	Model string `option:"model"`
	// APIKey goes out as a bearer token, unless Headers have an Authorization.
	APIKey string `option:"apiKey"`
	// BaseURL is where the endpoint is, without /chat/completions; empty means OpenAI. A
	// query in it stays behind the path.
	BaseURL string            `option:"baseURL"`
	Headers map[string]string `option:"headers"`
	// Transport asks; nil means http.DefaultTransport. It is put behind package adkhttp.
	Transport http.RoundTripper `option:"transport"`
	// Stream asks for the answer piece by piece; nil means true.
	Stream *bool `option:"stream"`
	// StreamIdleTimeout is how long a stream may be silent; 0 means for ever. All limits
	// are whole milliseconds.
	StreamIdleTimeout *time.Duration `option:"streamIdleTimeoutMs"`
	// RequestTimeout is how long the head of a stream may take, or all of an answer that
	// is no stream; 0 means for ever.
	RequestTimeout *time.Duration `option:"requestTimeoutMs"`
	Retry          Retry          `option:"retry"`
	// SelfIdentity is the identifier of the agent; empty means prompt.DefaultSelf.
	SelfIdentity        string           `option:"selfIdentity"`
	ThoughtSurfacing    prompt.Surfacing `option:"thoughtSurfacing"`
	ReplayCompatibility []string         `option:"replayCompatibility"`
	// ReasoningFieldPrecedence are the fields of an answer in which reasoning is looked
	// for; nil means reasoning, then reasoning_content.
	ReasoningFieldPrecedence []string `option:"reasoningFieldPrecedence"`
	// BucketOrder places the parts of a prompt; nil means prompt.Buckets, an empty list
	// that is not nil none of them.
	BucketOrder []prompt.Bucket `option:"bucketOrder"`
	// TokenEncoding and ContextWindow bound a prompt, both together (budget.Limits).
	TokenEncoding          adk.Encoding       `option:"tokenEncoding"`
	ContextWindow          *int               `option:"contextWindow"`
	Counter                budget.Counter     `option:"counter"`
	UnsupportedMediaPolicy prompt.MediaPolicy `option:"unsupportedMediaPolicy"`
	// Helpers take the place of the default ones, each where it is not nil.
	Helpers Helpers `option:"helpers"`
	// HelperSets are helpers that a stash can choose by their name.
	HelperSets map[string]Helpers `option:"helperSets"`
	// Artifacts says what is forged of artifacts, and where their bodies are.
	Artifacts artifact.Config `option:"artifacts"`
	// ExtraBody are members of the request that no option here has.
	ExtraBody map[string]any `option:"extraBody"`
	// StrictToolChoice refuses a ToolChoice of a tool that is offered only now.
	StrictToolChoice *bool `option:"strictToolChoice"`
	// AutoAck ends the dispatch with the answer that wants no tool.
	AutoAck *bool `option:"autoAck"`
	// ToolCallIDs says how ids of calls are sent; empty means IDsAsIs.
	ToolCallIDs ToolCallIDs `option:"toolCallIds"`
	// Resets are names of options that go back to their defaults here, whatever the
	// options below say.
	Resets []string `option:"resets"`

	// What follows is sent as it is, and only if it is set. The provider's documentation
	// says what each does.

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

// Retry says whether an attempt is repeated, and when. Zero fields say nothing.
type Retry struct {
	// MaxAttempts counts the first one; nil means 1, which repeats nothing.
	MaxAttempts *int `option:"maxAttempts"`
	// BaseDelay is the first wait, which doubles with each attempt up to MaxDelay; nil
	// means half a second, and half a minute.
	BaseDelay *time.Duration `option:"baseDelayMs"`
	MaxDelay  *time.Duration `option:"maxDelayMs"`
	// RetriableStatuses are the answers after which it is worth it; nil means 429, 502,
	// 503 and 504.
	RetriableStatuses []int `option:"retriableStatuses"`
	// HonorRetryAfter waits as long as the answer says, up to MaxDelay; nil means true.
	HonorRetryAfter *bool `option:"honorRetryAfter"`
}

// ToolCallIDs says how the ids of tool calls are sent.
type ToolCallIDs string

// The ways of sending ids.
const (
	IDsAsIs ToolCallIDs = "as-is"
	// IDsAlnum9 sends an id that is not of nine letters and digits as nine of them that
	// follow from it, for providers that take no others.
	IDsAlnum9 ToolCallIDs = "alnum9"
)

// layer are options by their names; nil stands for what goes back to its default.
type layer map[string]any

// layer are the options that are set, with nothing in them that the caller could change
// later.
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

// fieldsOf are the fields of a struct that are set, by their tags.
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

// over puts a layer over others: headers, helpers and retry key by key, all else whole,
// and what is reset is as if nobody had said it (OPT-2). Neither is changed.
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

// resets are the options that go back to their defaults. What is no name is left for the
// check.
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

// overKeys puts a map over another, where keys that have the same name are one. What is no
// map is left for the check.
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

// plainMap is a map by text, of whatever type.
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

// sortedKeys are the keys of a map, so that faults and bytes have one order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

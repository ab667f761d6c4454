package chat

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// DefaultBaseURL is the endpoint if Options.BaseURL is empty.
const DefaultBaseURL = "https://api.openai.com/v1"

// reasoningFields are the fields in which providers send their model's reasoning, in the order in
// which they are looked for.
var reasoningFields = []string{"reasoning", "reasoning_content"}

// settings are merged and checked options, which one or more iterations use. They are not changed
// afterwards.
type settings struct {
	options layer          // as they were given
	data    map[string]any // the options that are plain data, as JSON data

	endpoint         string
	headers          http.Header
	transport        http.RoundTripper
	stream           bool
	idle, limit      time.Duration
	retry            retry
	prompt           prompt.Options
	limits           budget.Limits
	helpers          Helpers
	strictToolChoice bool
	autoAck          bool
	ids              ToolCallIDs
	reasoning        []string
	secrets          []string // texts that errors and logs must not quote
}

// retry says when an attempt is repeated.
type retry struct {
	attempts   int
	base, most time.Duration
	statuses   []int
	honor      bool
}

func isOption(name string) bool {
	_, known := rows[name]
	return known
}

// settle checks merged options and makes settings of them. complete says that an iteration is about
// to use them; then an encoding needs its window (BUD-1).
func settle(merged layer, complete bool) (*settings, error) {
	s := &settings{options: merged, data: map[string]any{}}
	var faults []adk.Fault
	for _, name := range sortedKeys(merged) {
		faults = append(faults, s.take(name, merged[name])...)
	}
	if s.data["model"] == nil && merged["model"] == nil {
		faults = append(faults, fault("model", "is missing")...)
	}
	s.fill() // from the valid options
	faults = append(faults, s.compound(complete)...)
	if err := prompt.OptionsError(faults); err != nil {
		return nil, err
	}
	return s, nil
}

// take keeps the value of an option if it is valid, and returns its faults.
func (s *settings) take(name string, value any) []adk.Fault {
	r, known := rows[name]
	switch {
	case !known:
		return fault(fmt.Sprintf("%.80s", name), "is unknown")
	case value == nil || r.check == nil:
		return nil
	}
	data, err := canonical.Normalize(plainValue(value))
	switch {
	case err != nil:
		return fault(name, "is no plain data: %v", err)
	case data == nil:
		return nil
	}
	if faults := r.check(name, data); faults != nil {
		return faults
	}
	s.data[name] = data
	return nil
}

// plainValue returns a value with durations as milliseconds, and NaN and infinities as text, so
// that no check misses them.
func plainValue(value any) any {
	switch value := value.(type) {
	case time.Duration:
		return float64(value) / float64(time.Millisecond)
	case float64:
		if value != value || value-value != 0 {
			return strconv.FormatFloat(value, 'g', -1, 64)
		}
	case map[string]any:
		plain := make(map[string]any, len(value))
		for key, one := range value {
			if one != nil {
				plain[key] = plainValue(one)
			}
		}
		return plain
	}
	return value
}

// fill sets the fields from the options that were taken.
func (s *settings) fill() {
	s.stream = s.flag("stream", true)
	s.idle, s.limit = s.wait("streamIdleTimeoutMs"), s.wait("requestTimeoutMs")
	s.strictToolChoice, s.autoAck = s.flag("strictToolChoice", false), s.flag("autoAck", false)
	s.ids = ToolCallIDs(s.text("toolCallIds"))
	if s.reasoning = s.texts("reasoningFieldPrecedence"); s.reasoning == nil {
		s.reasoning = reasoningFields
	}
	s.transport, _ = s.options["transport"].(http.RoundTripper)
	s.helpers, _ = s.options["helpers"].(Helpers)
	s.helpers = s.helpers.Over(DefaultHelpers())
	s.limits = budget.Limits{Encoding: s.text("tokenEncoding")}
	s.limits.Counter, _ = s.options["counter"].(budget.Counter)
	if window, set := s.data["contextWindow"].(float64); set {
		s.limits.Window = int(min(window, math.MaxInt>>1))
	}
	s.fillEndpoint()
	s.fillRetry()
	s.fillPrompt()
}

func (s *settings) fillPrompt() {
	s.prompt = prompt.Options{
		Self: s.text("selfIdentity"), Surfacing: prompt.Surfacing(s.text("thoughtSurfacing")),
		ReplayCompatibility: s.texts("replayCompatibility"), Renderers: s.helpers.Renderers,
	}
	s.prompt.Artifacts, _ = s.options["artifacts"].(artifact.Config)
	if order := s.texts("bucketOrder"); order != nil {
		s.prompt.BucketOrder = make([]prompt.Bucket, len(order))
		for i, bucket := range order {
			s.prompt.BucketOrder[i] = prompt.Bucket(bucket)
		}
	}
	switch policy := s.data["unsupportedMediaPolicy"].(type) {
	case string:
		s.prompt.Media.Mode = prompt.MediaMode(policy)
	case map[string]any:
		mode, _ := policy["mode"].(string)
		keys, _ := policy["stashKeys"].([]any)
		s.prompt.Media = prompt.MediaPolicy{Mode: prompt.MediaMode(mode), StashKeys: textsOf(keys)}
	}
}

// fillEndpoint sets the URL and the headers (REQ-1, REQ-20).
func (s *settings) fillEndpoint() {
	to, _ := url.Parse(cmp.Or(s.text("baseURL"), DefaultBaseURL)) // the check has parsed it already
	if to.RawPath != "" {
		to.RawPath = strings.TrimSuffix(to.RawPath, "/") + "/chat/completions"
	}
	to.Path, to.Fragment = strings.TrimSuffix(to.Path, "/")+"/chat/completions", ""
	s.endpoint = to.String()
	s.headers = http.Header{"Content-Type": {"application/json"}}
	if s.stream {
		s.headers.Set("Accept", "text/event-stream")
	}
	if key := s.text("apiKey"); key != "" {
		s.headers.Set("Authorization", "Bearer "+key)
		s.secrets = append(s.secrets, key)
	}
	given, _ := s.data["headers"].(map[string]any)
	for _, name := range sortedKeys(given) {
		value, _ := given[name].(string)
		s.headers.Set(name, value)
		if httpform.IsSecretHeader(name) {
			s.secrets = append(s.secrets, secretsOf(name, value)...)
		}
	}
	if password, set := to.User.Password(); set {
		s.secrets = append(s.secrets, password)
	}
	for name, values := range to.Query() {
		if httpform.IsSecretParameter(name) {
			s.secrets = append(s.secrets, values...)
		}
	}
	s.secrets = toldNowhere(s.secrets)
}

func (s *settings) fillRetry() {
	s.retry = retry{attempts: 1, base: 500 * time.Millisecond, most: 30 * time.Second, statuses: []int{429, 502, 503, 504}, honor: true}
	given, _ := s.data["retry"].(map[string]any)
	if n, set := given["maxAttempts"].(float64); set {
		s.retry.attempts = int(min(n, math.MaxInt>>1))
	}
	if n, set := given["baseDelayMs"].(float64); set {
		s.retry.base = milliseconds(n)
	}
	if n, set := given["maxDelayMs"].(float64); set {
		s.retry.most = milliseconds(n)
	}
	if all, set := given["retriableStatuses"].([]any); set {
		s.retry.statuses = nil
		for _, one := range all {
			s.retry.statuses = append(s.retry.statuses, int(one.(float64)))
		}
	}
	if honor, set := given["honorRetryAfter"].(bool); set {
		s.retry.honor = honor
	}
}

// compound returns the faults that can be seen only from several options together.
func (s *settings) compound(complete bool) []adk.Fault {
	limits := s.limits
	refused := s.data["contextWindow"] == nil && s.options["contextWindow"] != nil
	if (!complete || refused) && limits.Window == 0 {
		limits.Window = 1
	}
	faults := append(s.prompt.Faults(), limits.Faults()...)
	for _, f := range s.prompt.Artifacts.Faults() {
		faults = append(faults, fault("artifacts."+f.Path, "%s", f.Message)...)
	}
	for _, name := range s.texts("resets") {
		if !isOption(name) {
			faults = append(faults, fault("resets", "has %.40q, which is no option", name)...)
		}
	}
	extra, _ := s.data["extraBody"].(map[string]any)
	for _, name := range sortedKeys(extra) {
		if isOption(name) || name == "messages" || name == "tools" || name == payloadsName {
			faults = append(faults, fault("extraBody."+name, "is made of the options and the turn")...)
		}
	}
	if policy, isMap := s.data["unsupportedMediaPolicy"].(map[string]any); isMap && policy["stashKeys"] != nil && s.prompt.Media.Mode != prompt.StashedText {
		faults = append(faults, fault("unsupportedMediaPolicy.stashKeys", "stand beside %.40q, want %s", s.prompt.Media.Mode, prompt.StashedText)...)
	}
	return faults
}

func (s *settings) text(name string) string {
	text, _ := s.data[name].(string)
	return text
}

// texts returns an option that is a list of texts; nil if it is not set.
func (s *settings) texts(name string) []string {
	list, _ := s.data[name].([]any)
	return textsOf(list)
}

func textsOf(list []any) []string {
	if list == nil {
		return nil
	}
	all := make([]string, len(list))
	for i, one := range list {
		all[i], _ = one.(string)
	}
	return all
}

func (s *settings) flag(name string, otherwise bool) bool {
	if on, set := s.data[name].(bool); set {
		return on
	}
	return otherwise
}

func (s *settings) wait(name string) time.Duration {
	n, _ := s.data[name].(float64)
	return milliseconds(n)
}

func milliseconds(n float64) time.Duration {
	const most = float64(1<<63-1) / float64(time.Millisecond) / 2
	return time.Duration(min(n, most)) * time.Millisecond
}

// stashed returns the layer from a stash (OPT-3): plain data only. Secrets and code are faults
// there.
func stashed(value any, below layer) (layer, []adk.Fault) {
	given, isMap := value.(map[string]any)
	if value == nil {
		return nil, nil
	}
	if !isMap {
		return nil, fault(StashKey, "in the stash is no map")
	}
	l := layer{}
	var faults []adk.Fault
	for _, name := range sortedKeys(given) {
		r, known := rows[name]
		switch {
		case name == "helpers":
			set, err := helperSet(given[name], below["helperSets"])
			l[name], faults = set, append(faults, err...)
		case name == "apiKey", known && r.check == nil:
			faults = append(faults, fault(name, "cannot stand in a stash")...)
		default:
			l[name] = given[name]
		}
	}
	headers, _ := plainMap(given["headers"])
	for _, name := range sortedKeys(headers) {
		if httpform.IsSecretHeader(name) {
			faults = append(faults, fault("headers."+name, "is a secret, and cannot stand in a stash")...)
		}
	}
	return l, faults
}

// helperSet returns the set of helpers with a name.
func helperSet(name, sets any) (Helpers, []adk.Fault) {
	text, isText := name.(string)
	if !isText {
		return Helpers{}, fault("helpers", "in the stash is no text, want the name of a set")
	}
	all, _ := plainMap(sets)
	set, found := all[text].(Helpers)
	if !found {
		return Helpers{}, fault("helpers", "is %.40q, and no set has that name", text)
	}
	return set, nil
}

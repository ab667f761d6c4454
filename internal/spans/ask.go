package spans

import (
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/modelapi"
)

// ask is an open ask of a model, or of somebody else over HTTP.
type ask struct {
	span    *Span
	call    *call
	request modelapi.Request
	answer  modelapi.Answer
	chunks  bool // a part of the body has come
}

// ask begins or ends an ask. An ask that is neither a conversation with a model nor over HTTP has
// no span.
func (b *Builder) ask(x *adk.Crossing) {
	if x.Phase == adk.Done {
		if a := b.asks[x.Op]; a != nil {
			delete(b.asks, x.Op)
			a.conclude(b, x)
		}
		return
	}
	c := b.calls[x.Call]
	if c == nil {
		return
	}
	a := &ask{call: c, request: modelapi.ReadRequest(x.Name, x.JSON)}
	switch r := &a.request; {
	case r.IsTalk:
		a.span = b.startTalk(x, c, r)
		a.answer.Keep = b.options.Content
	case r.Method != "" && !b.options.WithoutHTTP:
		a.span = b.startHTTP(x, c, r)
	default:
		return
	}
	a.span.count(resendCount, c.failed[a.request.Hash])
	b.sink.Start(a.span)
	b.asks[x.Op] = a
}

// startTalk begins the span of a conversation with a model.
func (b *Builder) startTalk(x *adk.Crossing, c *call, r *modelapi.Request) *Span {
	model := r.Model
	if model == x.Name { // the request names no model
		model = ""
	}
	s := b.start(c.span, x.At, operationOf(r.Path), model, Client)
	s.set(providerName, providerOf(x.Name))
	s.set(requestModel, model)
	setServer(s, x.Name, r.Path != "")
	setRequest(s, r)
	if c.run != nil {
		c.run.asks = true
		c.run.describe(s)
	}
	if b.options.Content {
		setSaid(s, r)
	}
	if root := b.root; root != nil {
		root.setOnce(providerName, providerOf(x.Name))
	}
	return s
}

// methods are the methods that the conventions know.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE", "QUERY"}

// startHTTP begins the span of an HTTP client. The request does not have the scheme, so the span
// has the path and not the whole URL.
func (b *Builder) startHTTP(x *adk.Crossing, c *call, r *modelapi.Request) *Span {
	s := b.start(c.span, x.At, "", "", Client)
	s.Name = r.Method
	if slices.Contains(methods, r.Method) {
		s.set(requestMethod, r.Method)
	} else {
		s.Name = "HTTP"
		s.set(requestMethod, unnamed)
		s.set(originalMethod, r.Method)
	}
	setServer(s, x.Name, true)
	s.set(urlPath, r.Path)
	return s
}

func (s *Span) setOnce(key string, value any) {
	for _, one := range s.Attributes {
		if one.Key == key {
			return
		}
	}
	s.set(key, value)
}

// setServer sets the address of the server of a request over HTTP.
func setServer(s *Span, of string, isHTTP bool) {
	if !isHTTP {
		return
	}
	host, port, err := net.SplitHostPort(of)
	if err != nil {
		host, port = of, ""
	}
	s.set(serverAddress, host)
	if n, err := strconv.Atoi(port); err == nil {
		s.set(serverPort, int64(n))
	}
}

// settings are the numeric members of a request that control the answer, with their attributes.
// Gemini has them in a nested object.
var settings = []struct {
	key     string
	whole   bool
	members []string
}{
	{"gen_ai.request.max_tokens", true, []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"}},
	{"gen_ai.request.seed", true, []string{"seed"}},
	{"gen_ai.request.temperature", false, []string{"temperature"}},
	{"gen_ai.request.top_p", false, []string{"top_p", "topP"}},
	{"gen_ai.request.top_k", false, []string{"top_k", "topK"}},
	{"gen_ai.request.frequency_penalty", false, []string{"frequency_penalty", "frequencyPenalty"}},
	{"gen_ai.request.presence_penalty", false, []string{"presence_penalty", "presencePenalty"}},
}

// setRequest sets the attributes of a request other than those of the conversation.
func setRequest(s *Span, r *modelapi.Request) {
	within, _ := r.Body["generationConfig"].(map[string]any)
	member := func(names ...string) any {
		for _, body := range []map[string]any{r.Body, within} {
			for _, name := range names {
				if v, has := body[name]; has && v != nil {
					return v
				}
			}
		}
		return nil
	}
	for _, one := range settings {
		n, ok := member(one.members...).(float64)
		switch {
		case ok && one.whole:
			s.set(one.key, int64(n))
		case ok:
			s.set(one.key, n)
		}
	}
	if n, ok := member("n", "candidateCount").(float64); ok && n != 1 {
		s.set("gen_ai.request.choice.count", int64(n))
	}
	s.set("gen_ai.request.stop_sequences", textsOf(member("stop", "stop_sequences", "stopSequences")))
	if r.Body["stream"] == true || strings.HasSuffix(r.Path, ":streamGenerateContent") {
		s.set(requestStream, true)
	}
	format, _ := r.Body["response_format"].(map[string]any)
	switch kind := format["type"]; {
	case kind == "text":
		s.set(outputType, "text")
	case kind == "json_object" || kind == "json_schema" || within["responseMimeType"] == "application/json":
		s.set(outputType, "json")
	}
}

// textsOf returns a text, or the texts of a list.
func textsOf(v any) (texts []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			if text, ok := one.(string); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// setSaid sets what a request says to the model.
func setSaid(s *Span, r *modelapi.Request) {
	s.set(inputMessages, jsonText(r.Messages()))
	if system := r.System(); len(system) > 0 {
		s.set(systemInstruction, jsonText(system))
	}
	if tools := r.Tools(); len(tools) > 0 {
		s.set(toolDefinitions, jsonText(tools))
	}
}

// piece takes the next part of an answer.
func (a *ask) piece(x *adk.Crossing) {
	var head httpform.Head
	if isHead := json.Unmarshal(x.JSON, &head) == nil && head.Status != 0; !isHead && !a.chunks {
		a.chunks = true
		if a.streams() {
			a.span.set(firstChunk, x.At.Sub(a.span.Begin).Seconds())
		}
	}
	a.answer.Take(x.JSON)
}

func (a *ask) streams() bool {
	return slices.ContainsFunc(a.span.Attributes, func(one Attribute) bool { return one.Key == requestStream })
}

// conclude ends an ask.
func (a *ask) conclude(b *Builder, x *adk.Crossing) {
	s := a.span
	if x.JSON != nil {
		a.answer.Take(x.JSON)
	}
	if a.request.IsTalk {
		a.setAnswer(b.options.Content)
	}
	if a.answer.Status != 0 {
		s.set(responseStatus, int64(a.answer.Status))
	}
	switch {
	case a.answer.Status >= 400:
		s.fail(strconv.Itoa(a.answer.Status))
	case a.answer.Failed(&a.request, x.Err):
		b.fail(s, x.At, x.Err)
	}
	if s.Failed {
		if a.call.failed == nil {
			a.call.failed = map[uint64]int{}
		}
		a.call.failed[a.request.Hash]++
	} else {
		delete(a.call.failed, a.request.Hash)
	}
	if b.options.Events && a.request.IsTalk && operationOf(a.request.Path) != embeddings {
		b.sink.Emit(s, detailsOf(s, x.At))
	}
	b.end(s, x.At)
}

// setAnswer sets the attributes of a model's answer, and its words if content is set.
func (a *ask) setAnswer(content bool) {
	s := a.span
	s.set(responseID, a.answer.ID)
	s.set(responseModel, a.answer.Model)
	if a.answer.Finish != "" {
		s.set(finishReasons, []string{a.answer.Finish})
	}
	if used := a.answer.Usage; used != nil {
		s.set(inputTokens, int64(used.In))
		s.set(outputTokens, int64(used.Out))
		s.count(cachedTokens, used.Cached)
		s.count(createdTokens, used.Created)
		s.count(thoughtTokens, used.Thought)
	}
	if content && a.answer.Said() != "" {
		s.set(outputMessages, jsonText([]modelapi.Message{a.answer.Message()}))
	}
}

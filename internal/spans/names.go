package spans

import (
	"context"
	"errors"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// ScopeName is the name of the instrumentation scope.
const ScopeName = "github.com/adkreplay/adkreplay/replay/otel"

// SchemaURL identifies the version of the conventions.
const SchemaURL = "https://opentelemetry.io/schemas/1.41.0"

// The attributes of the conventions that are used here.
const (
	operationName     = "gen_ai.operation.name"
	providerName      = "gen_ai.provider.name"
	agentName         = "gen_ai.agent.name"
	requestModel      = "gen_ai.request.model"
	requestStream     = "gen_ai.request.stream"
	outputType        = "gen_ai.output.type"
	responseID        = "gen_ai.response.id"
	responseModel     = "gen_ai.response.model"
	finishReasons     = "gen_ai.response.finish_reasons"
	firstChunk        = "gen_ai.response.time_to_first_chunk"
	inputTokens       = "gen_ai.usage.input_tokens"
	outputTokens      = "gen_ai.usage.output_tokens"
	cachedTokens      = "gen_ai.usage.cache_read.input_tokens"
	createdTokens     = "gen_ai.usage.cache_creation.input_tokens"
	thoughtTokens     = "gen_ai.usage.reasoning.output_tokens"
	toolName          = "gen_ai.tool.name"
	toolType          = "gen_ai.tool.type"
	toolDescription   = "gen_ai.tool.description"
	toolCallID        = "gen_ai.tool.call.id"
	errorType         = "error.type"
	exceptionType     = "exception.type"
	exceptionMessage  = "exception.message"
	serverAddress     = "server.address"
	serverPort        = "server.port"
	requestMethod     = "http.request.method"
	originalMethod    = "http.request.method_original"
	urlPath           = "url.path"
	resendCount       = "http.request.resend_count"
	responseStatus    = "http.response.status_code"
	inputMessages     = "gen_ai.input.messages"
	outputMessages    = "gen_ai.output.messages"
	systemInstruction = "gen_ai.system_instructions"
	toolDefinitions   = "gen_ai.tool.definitions"
	toolArguments     = "gen_ai.tool.call.arguments"
	toolResult        = "gen_ai.tool.call.result"
)

// The attributes and events of this project.
const (
	turnID         = "adkreplay.turn.id"
	dispatchID     = "adkreplay.dispatch.id"
	dispatchStatus = "adkreplay.dispatch.status"
	iterations     = "adkreplay.iterations"
	iteration      = "adkreplay.iteration"
	executorName   = "adkreplay.executor"
	cancelBy       = "adkreplay.cancel.by"
	gateID         = "adkreplay.gate.id"
	gateResult     = "adkreplay.gate.result"

	cancelEvent     = "adkreplay.cancel"
	gateOpenEvent   = "adkreplay.gate.open"
	gateClosedEvent = "adkreplay.gate.closed"
	exceptionEvent  = "exception"
)

// detailsEvent is the event of the conventions for one ask of a model, with the request and the
// answer. It is emitted outside of spans.
const detailsEvent = "gen_ai.client.inference.operation.details"

// The operations.
const (
	invokeAgent = "invoke_agent"
	executeTool = "execute_tool"
	embeddings  = "embeddings"
)

// providers are the names of providers by the hosts that serve them, or by the suffixes of the
// hosts.
var providers = []struct{ host, name string }{
	{"api.openai.com", "openai"},
	{".openai.azure.com", "azure.ai.openai"},
	{".services.ai.azure.com", "azure.ai.inference"},
	{"api.anthropic.com", "anthropic"},
	{"generativelanguage.googleapis.com", "gcp.gemini"},
	{"aiplatform.googleapis.com", "gcp.vertex_ai"},
	{"api.mistral.ai", "mistral_ai"},
	{"api.x.ai", "x_ai"},
	{"api.groq.com", "groq"},
	{"api.deepseek.com", "deepseek"},
	{"api.cohere.com", "cohere"},
	{"api.perplexity.ai", "perplexity"},
	{".ml.cloud.ibm.com", "ibm.watsonx.ai"},
}

// providerOf returns the name of a provider in the conventions or, if it has none, of.
func providerOf(of string) string {
	host, _, _ := strings.Cut(of, ":")
	for _, p := range providers {
		if host == p.host || strings.HasSuffix(host, "."+strings.TrimPrefix(p.host, ".")) || strings.HasSuffix(host, "-"+p.host) {
			return p.name
		}
	}
	if strings.HasPrefix(host, "bedrock-runtime.") && strings.HasSuffix(host, ".amazonaws.com") {
		return "aws.bedrock"
	}
	return of
}

// operationOf returns what a model is asked to do, according to the path of the request.
func operationOf(path string) string {
	switch {
	case strings.HasSuffix(path, "/embeddings"), strings.HasSuffix(path, "mbedContent"), strings.HasSuffix(path, "mbedContents"):
		return embeddings
	case strings.HasSuffix(path, "enerateContent"):
		return "generate_content"
	}
	return "chat"
}

// failureType returns the kind of an error, without its text, or "" for nil.
func failureType(err error) string {
	var coded *adk.Error
	var panicked *adk.PanicError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &coded):
		return string(coded.Code)
	case errors.As(err, &panicked):
		return "panic"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return unnamed
}

// unnamed is the conventions' value for a failure without a name.
const unnamed = "_OTHER"

// failureOr returns the kind of an error, or word if it has no name.
func failureOr(err error, word string) string {
	if kind := failureType(err); kind != "" && kind != unnamed {
		return kind
	}
	return word
}

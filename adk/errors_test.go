package adk_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// declaredCodes reads the codes of errors.go with their doc comments.
func declaredCodes(t *testing.T) map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, parser.ParseComments)
	require.NoError(t, err)
	codes := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "E_") {
			name := spec.Names[0].Name
			assert.Equal(t, `"`+name+`"`, spec.Values[0].(*ast.BasicLit).Value, "a code is its own name")
			codes[name] = spec.Doc.Text()
		}
		return true
	})
	return codes
}

// ERR-2: which codes the contract calls fatal.
const (
	fatalCodes = `E_INVALID_TURN_RUNNER_CONFIG E_INVALID_TURN_CONTEXT E_INVALID_LLM_DISPATCH_INPUT
		E_INVALID_LLM_EXECUTION_CONTEXT E_LLM_EXECUTION_ALREADY_SIGNALLED E_CONTEXT_ENDED E_INVALID_STASH_PATH
		E_INVALID_INITIAL_MESSAGE_VALUE E_INVALID_INITIAL_MEMORY_VALUE E_INVALID_INITIAL_RETRIEVABLE_VALUE
		E_INVALID_INITIAL_THOUGHT_VALUE E_INVALID_INITIAL_TOOL_CALL_VALUE E_INVALID_INITIAL_IDENTITY_VALUE
		E_INVALID_INITIAL_MEDIA_VALUE E_INVALID_INITIAL_TOOL_VALUE E_INVALID_INITIAL_TURN_GATE_VALUE
		E_INVALID_TURN_GATE_RESOLUTION E_TOOL_ALREADY_REGISTERED E_NOT_A_MEDIA_READER E_NOT_A_SPOOL_READER
		E_INVALID_INITIAL_ARTIFACT_VALUE E_INVALID_ARTIFACT_CONFIG E_SPOOL_KEY E_INVALID_ENVELOPE
		E_UNSUPPORTED_MEDIA_MODALITY E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW
		E_INVALID_ANSWER E_INVALID_STORAGE_CONFIG E_STORAGE_PARTITION E_INVALID_SESSION_CONFIG E_INVALID_SESSION_KEY
		E_INVALID_SESSION_VALUE E_INVALID_SESSION_STATE E_SESSION_CHANNEL_STATE_CHANGED E_SESSION_UNKNOWN_CHANNEL E_SESSION_SEALED E_SESSION_OUTSIDE`
	otherCodes = `E_INPUT_PIPELINE_ERROR E_OUTPUT_PIPELINE_ERROR E_DISPATCH_PIPELINE_ERROR
		E_PIPELINE_SHORT_CIRCUITED E_LLM_EXECUTION_EXECUTOR_ERROR E_LLM_EXECUTION_NACKED
		E_LLM_EXECUTION_STREAM_SEALED E_PERSISTENCE_FLUSH_ERROR E_TURN_ABORTED E_LLM_EXECUTION_GATE_NOT_SUPPORTED
		E_TURN_GATE_ABORTED E_TURN_GATE_TIMEOUT E_INVALID_TOOL_ARGS E_TOOL_DOWNSTREAM_ERROR
		E_ARTIFACT_CONSTRUCTOR E_ARTIFACT_FORMAT E_ARTIFACT_CHANGED E_SPOOL_TOO_LARGE E_STORAGE_CORRUPT E_STORAGE_BUSY E_STORAGE_SCHEMA E_ASK_TIMEOUT E_ASK_STOPPED E_UNANSWERED
		E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR E_OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED
		E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR E_OPENAI_CHAT_COMPLETIONS_INVALID_TOOL_CALL_ARGS
		E_INVALID_DELIVERY E_DELIVERY_CONFLICT E_SESSION_KEY_ABSENT E_SESSION_TOO_LARGE E_SESSION_BUSY E_SESSION_LEASE_LOST
		E_SESSION_STATE_NEWER E_SESSION_FORMAT E_SESSION_FULL E_SESSION_ERASED`
)

// ERR-2, ERR-4: the constants, their documentation, the table behind Known and Fatal, and the contract
// name the same codes.
func TestCodes(t *testing.T) {
	declared := declaredCodes(t)
	for flags, fatal := range map[string]bool{fatalCodes: true, otherCodes: false} {
		for name := range strings.FieldsSeq(flags) {
			doc, ok := declared[name]
			assert.True(t, ok, name+" is declared")
			assert.True(t, strings.HasPrefix(doc, name+" occurs when"), name+" says when it occurs")
			assert.True(t, adk.Code(name).Known(), name)
			assert.Equal(t, fatal, adk.Code(name).Fatal(), name)
			delete(declared, name)
		}
	}
	assert.Empty(t, declared, "the lists above, which are the contract's, have no others")
	assert.False(t, adk.Code("E_UNKNOWN").Known())
}

// ERR-1: errors.Is finds an error by its code, errors.As by its type, and both find its cause.
func TestErrorIsAsked(t *testing.T) {
	e := &adk.Error{Code: adk.E_TURN_GATE_TIMEOUT, Message: "too late", Cause: errBoom}
	wrapped := fmt.Errorf("outer: %w", e)
	assert.ErrorIs(t, wrapped, adk.E_TURN_GATE_TIMEOUT)
	assert.NotErrorIs(t, wrapped, adk.E_TURN_GATE_ABORTED)
	assert.ErrorIs(t, wrapped, errBoom)
	var ours *adk.Error
	require.True(t, errors.As(wrapped, &ours))
	assert.Same(t, e, ours)
	assert.False(t, e.Fatal())
	assert.Equal(t, "E_TURN_GATE_TIMEOUT: too late: boom", e.Error())
	assert.Equal(t, "E_TURN_ABORTED: the turn was aborted: boom", adk.Aborted(errBoom).Error())

	var none *adk.Error // a cause that is a nil pointer does no harm
	e.Cause = none
	assert.Equal(t, "E_TURN_GATE_TIMEOUT: too late: <nil>", e.Error())
	assert.NotErrorIs(t, e, adk.E_TURN_GATE_ABORTED)
}

type badText struct{}

func (badText) Error() string { panic("no text") }

// ERR-3, DET-2: the text of a panic never contains its stack. A value whose methods panic does no
// harm.
func TestPanicText(t *testing.T) {
	for want, value := range map[string]any{"boom": errBoom, "text": "text", "4": 4, "PANIC": badText{}} {
		assert.Contains(t, adk.PanicText(value), want)
	}
	p := &adk.PanicError{Value: errBoom}
	assert.Equal(t, "panic: boom", p.Error())
	assert.ErrorIs(t, p, errBoom)
	assert.Empty(t, p.Stack(), "no panic made it")

	heard := &outcome{}
	runTurn(t, executing(func(context.Context, *adk.DispatchContext, *adk.Helpers) error { panic(errBoom) }), heard.watch(hello))
	require.Len(t, heard.errors, 1)
	require.ErrorAs(t, heard.errors[0].Error, &p)
	assert.Contains(t, string(p.Stack()), "errors_test.go")
	assert.Equal(t, "panic: boom", p.Error())
}

package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

// runCalls runs the calls of an answer, one after the other (CAL-1). Its error is what
// reporting and storing fail with, or what ended a call in an aborted turn. brokeOff says that
// the answer did before it had an end.
func (it *iteration) runCalls(wanted []WantedCall, brokeOff bool) error {
	borne := map[string]bool{}
	for _, call := range it.dc.ToolCalls().All() {
		borne[call.ID()] = true
	}
	for _, call := range wanted {
		if it.stopped() {
			return nil
		}
		if call.ID == "" || borne[call.ID] {
			call.ID = it.dc.NewID() // else it would take the place of another's record (CAL-7)
		}
		borne[call.ID] = true
		if call.Name == "" {
			call.Name = nameless
		}
		if err := it.runCall(call, brokeOff); err != nil {
			return err
		}
	}
	return nil
}

// nameless is the tool of a call that names none: a record needs a name, and no tool
// should have this one.
const nameless = "unnamed"

// outcome is what a call came to.
type outcome struct {
	results      adk.ToolResult
	isError      bool
	fromArtifact bool
}

func failing(text string) outcome { return outcome{results: adk.Text(text), isError: true} }

func (it *iteration) runCall(call WantedCall, brokeOff bool) error {
	args, unread := readArguments(call.Arguments, brokeOff)
	began, announced := it.now(), adk.ToolCallReport{Tool: call.Name, Args: args}
	_, err := it.h.ReportToolCall(call.ID, announced)
	if errors.Is(err, adk.E_LLM_EXECUTION_STREAM_SEALED) { // of a call whose record somebody has removed
		call.ID = it.dc.NewID()
		_, err = it.h.ReportToolCall(call.ID, announced)
	}
	if err != nil {
		return it.ended(err)
	}
	var came outcome
	switch tool, known := it.tools.Get(call.Name); {
	case unread != nil:
		came = failing(unread.Message)
	case !known:
		came = failing(it.unknownTool(call.Name))
	default:
		var err error
		if came, err = it.execute(call.ID, tool, args); err != nil {
			return err
		}
	}
	if it.stopped() {
		return nil
	}
	report := adk.ToolCallReport{Results: came.results, IsError: came.isError, Complete: true}
	if _, err := it.h.ReportToolCall(call.ID, report); err != nil {
		return it.ended(err)
	}
	return it.ended(it.storeCall(call, args, came, began))
}

// execute runs a tool. That it failed is for the model to know, but in an aborted turn,
// where the failure is returned (CAL-4).
func (it *iteration) execute(id string, tool *adk.Tool, args *adk.Arguments) (outcome, error) {
	result, err := it.dc.Execute(it.ctx, tool, args)
	if err == nil {
		var came outcome
		if came.results, came.fromArtifact, err = artifact.Wrap(it.ctx, tool, id, result); err == nil {
			return came, nil
		}
	}
	if it.stopped() {
		return outcome{}, err
	}
	return failing(err.Error()), nil
}

func (it *iteration) storeCall(call WantedCall, args *adk.Arguments, came outcome, began time.Time) error {
	done := it.dc.Now()
	if done.Before(began) {
		done = began
	}
	record, err := adk.NewToolCall(adk.ToolCallInit{ID: call.ID, Tool: call.Name, Args: args, Results: came.results,
		IsError: came.isError, FromArtifactTool: came.fromArtifact, CreatedAt: began, UpdatedAt: done, CompletedAt: done})
	if err != nil {
		return fmt.Errorf("chat: the call %.80q is no record: %w", call.ID, err)
	}
	return it.dc.ToolCalls().Store(it.ctx, record)
}

// unknownTool tells the model what it can ask for (CAL-3).
func (it *iteration) unknownTool(name string) string {
	var names []string
	for _, tool := range it.tools.All() {
		names = append(names, tool.Name())
	}
	slices.Sort(names)
	if len(names) == 0 {
		return fmt.Sprintf("There is no tool %q. There are no tools in this turn.", name)
	}
	return fmt.Sprintf("There is no tool %q. Tools: %s.", name, strings.Join(names, ", "))
}

// readArguments reads what a model wrote; unread says why it is no JSON object, and the
// arguments are empty then (CAL-2). None are no arguments where the model wanted none, and
// not where the answer broke off before they came: with nothing to go by, a tool does to all
// what it was to do to one (SSE-9). A number that would become another one is refused.
func readArguments(text string, brokeOff bool) (args *adk.Arguments, unread *adk.Error) {
	none, _ := adk.NewArguments("{}") // which are some
	if strings.TrimSpace(text) == "" {
		if brokeOff {
			return none, failed(adk.E_OPENAI_CHAT_COMPLETIONS_INVALID_TOOL_CALL_ARGS, "The answer broke off before the arguments of this call.", nil)
		}
		return none, nil
	}
	args, err := adk.NewArguments(text)
	if err == nil {
		if number, as, ok := inexact(text); ok {
			return none, failed(adk.E_OPENAI_CHAT_COMPLETIONS_INVALID_TOOL_CALL_ARGS, "The arguments of this call have the number "+number+
				", which no argument can hold: it would become "+as+". Give it as a string, if the tool takes one.", nil)
		}
		return args, nil
	}
	return none, failed(adk.E_OPENAI_CHAT_COMPLETIONS_INVALID_TOOL_CALL_ARGS, "The arguments of this call "+whyUnread(text), nil)
}

// mostBegun is how much is told of arguments that are JSON, and are too much of it.
const mostBegun = 200

// whyUnread says what is wrong with a text that is no arguments.
func whyUnread(text string) string {
	var value any
	err := json.Unmarshal([]byte(text), &value)
	beyond, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case ok:
		return fmt.Sprintf("have the %.*s, which is beyond what an argument can hold. They began: %.*s", mostBegun, beyond.Value, mostBegun, text)
	case err != nil && !strings.HasSuffix(err.Error(), "exceeded max depth"):
		return "are not valid JSON. They were: " + text
	}
	if kind := jsonKind(value); err == nil && kind != "object" {
		return "must be a JSON object, but are " + kind + ". They were: " + text
	}
	return fmt.Sprintf("are nested too deep: lists and objects can stand %d deep in one another. They began: %.*s", mostNested, mostBegun, text)
}

// mostNested is how deep the values of arguments are nested at most.
const mostNested = 1000

// jsonKind is what JSON calls a value.
func jsonKind(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

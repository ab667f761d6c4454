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

// runCalls runs the calls of an answer, one after the other (CAL-1). Its error is that of reporting
// or storing, or the one that ended a call in an aborted turn. brokeOff says that the answer ended
// before the model had finished.
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
			call.ID = it.dc.NewID() // a used id would replace another call's record (CAL-7)
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

// nameless is the tool name for a call without one, because a record needs a name. No tool should
// have it.
const nameless = "unnamed"

// outcome is the result of a call.
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
	if errors.Is(err, adk.E_LLM_EXECUTION_STREAM_SEALED) { // a removed record had this id
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

// execute runs a tool. Its failure becomes a result for the model, except in an aborted turn, where
// it is returned (CAL-4).
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

// unknownTool returns a text that tells the model which tools there are (CAL-3).
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

// readArguments reads the arguments that a model wrote. If they are no JSON object, unread says
// why, and args are empty (CAL-2). A missing text means no arguments, unless the answer broke off:
// with no arguments, a tool might do to all objects what it was to do to one (SSE-9). A number that
// would change its value is refused.
func readArguments(text string, brokeOff bool) (args *adk.Arguments, unread *adk.Error) {
	none, _ := adk.NewArguments("{}") // a valid empty object
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

// mostBegun is how much is quoted of arguments that are JSON but exceed a limit.
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

// mostNested is how deep the values of arguments may be nested.
const mostNested = 1000

// jsonKind returns JSON's name for the type of a value.
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

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/near"
	"github.com/adkreplay/adkreplay/internal/stats"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// lines lists the documents of which there is one per line; the last line may be a failure.
var lines = []string{"show", "show-journal"}

// documents maps commands to the Go types of what --json prints.
var documents = map[string]reflect.Type{
	"verify":       reflect.TypeFor[result](),
	"merge":        reflect.TypeFor[result](),
	"check":        reflect.TypeFor[findings](),
	"lint":         reflect.TypeFor[findings](),
	"explore":      reflect.TypeFor[explored](),
	"replay":       reflect.TypeFor[replayed](),
	"diff":         reflect.TypeFor[compared](),
	"show":         reflect.TypeFor[transcript.Expanded](),
	"show-journal": reflect.TypeFor[sessions.ToldStep](),
	"show-at":      reflect.TypeFor[shownState](),
	"stats":        reflect.TypeFor[statistics](),
	"distil":       reflect.TypeFor[distilled](),
}

func newSchema(t *terminal) *cobra.Command {
	names := slices.Sorted(maps.Keys(documents))
	return &cobra.Command{
		Use:   "schema command",
		Short: "Print the JSON schema of what a command prints with --json",
		Long: `schema prints the JSON schema (2020-12) of the document that a command prints
with --json. show prints such an object a line, of a journal one of the schema
show-journal, and show --at one of the schema show-at; what goes wrong is said by
the last one.

There are schemas of ` + strings.Join(names, ", ") + `.
Members may be added without notice; none changes its meaning or goes.
`,
		Example:   "  adkreplay schema verify",
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misused(cmd, fmt.Errorf("schema takes one command, and got %d", len(args)))
			}
			if documents[args[0]] == nil {
				return misused(cmd, fmt.Errorf("there is no schema of %q%s", args[0], near.OneOf(args[0], names)))
			}
			schema, err := schemaOf(args[0], false)
			if err != nil {
				return internal(err)
			}
			return printJSON(t, schema)
		},
	}
}

// schemaOf returns the schema of a document. A strict schema accepts no other members than those
// that it names; a test uses it to check that all members are named.
func schemaOf(name string, strict bool) (*jsonschema.Schema, error) {
	duration := &jsonschema.Schema{Type: "integer", Description: "nanoseconds"}
	spread, err := jsonschema.For[stats.SpreadText](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[time.Duration](): duration}})
	if err != nil {
		return nil, err
	}
	options := &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Duration]():        duration,
		reflect.TypeFor[stats.Spread]():         spread,
		reflect.TypeFor[turn.FaultKind]():       {Type: "string", Description: "what goes wrong"},
		reflect.TypeFor[turn.Schedule]():        {Type: "string", Description: "as explore --only takes it"},
		reflect.TypeFor[json.RawMessage]():      {Description: "any JSON, as a trace has it"},
		reflect.TypeFor[transcript.HeldStash](): {Type: "object", Description: "the tree of a stash, as a trace has it"},
	}}
	schema, err := jsonschema.ForType(documents[name], options)
	if err != nil {
		return nil, err
	}
	if name == "replay" || name == "show-at" { // the other members are missing if the command could not start
		schema.Required = []string{"exitCode"}
	}
	if slices.Contains(lines, name) {
		failed, err := jsonschema.For[failure](options)
		if err != nil {
			return nil, err
		}
		schema = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{schema, failed}}
	}
	if !strict {
		opened(schema)
	}
	schema.Schema, schema.Title = "https://json-schema.org/draft/2020-12/schema", "adkreplay "+name+" --json"
	return schema, nil
}

// opened makes a schema, and those within it, accept members that they do not name.
func opened(schema *jsonschema.Schema) {
	if schema == nil {
		return
	}
	if len(schema.Properties) > 0 {
		schema.AdditionalProperties = nil
	}
	opened(schema.Items)
	opened(schema.AdditionalProperties)
	for _, member := range schema.Properties {
		opened(member)
	}
	for _, one := range schema.AnyOf {
		opened(one)
	}
}

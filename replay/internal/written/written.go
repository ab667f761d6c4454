package written

import (
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/compare"
)

// engine is the path of the package that agents are put together with.
var engine = reflect.TypeFor[adk.Config]().PkgPath()

// pipelines are the labels of those that an agent has a list for.
var pipelines = []string{adk.LabelTurnInput, adk.LabelTurnOutput, adk.LabelDispatchInput, adk.LabelDispatchOutput}

// Place is the line in which a program says what differs: one of the texts that a run is given, the
// list of a pipeline, and in an executor that a library makes the option of the member of a
// request. It is empty where that is in no one place.
func Place(fields []compare.FieldDiff, config adk.Config, label string) string {
	near := nearOf(config)
	for _, f := range fields {
		want, got, _ := f.Trees()
		was, isText := want.(string)
		now, areTexts := got.(string)
		switch {
		case slices.Contains(pipelines, f.Field):
			if p := Here().List(near, engine, f.Field, append(texts(want), texts(got)...)); p.Line > 0 {
				return p.String()
			}
		case label == "" && f.Input && isText && areTexts:
			if p := Here().Text(near, was, now); p.Line > 0 {
				return p.String()
			}
		}
	}
	if label != adk.LabelExecutor || slices.ContainsFunc(fields, func(f compare.FieldDiff) bool { return f.Field == label }) {
		return ""
	}
	option := ""
	if len(fields) > 0 {
		option = fields[0].Field[strings.LastIndexByte(fields[0].Field, '.')+1:]
	}
	return Here().Options(near, codeplace.Package(config.Executor.Run), option).MadeIn()
}

// nearOf is the folder in which an agent is put together: that of its executor.
func nearOf(config adk.Config) Near {
	at := codeplace.OfFunc(config.Executor.Run)
	if at.Line == 0 {
		at = codeplace.OfCaller(config.Executor.Made)
	}
	return Near(path.Dir(at.File))
}

// texts are the elements of a list that are texts.
func texts(tree any) (all []string) {
	list, _ := tree.([]any)
	for _, element := range list {
		if text, is := element.(string); is {
			all = append(all, text)
		}
	}
	return all
}

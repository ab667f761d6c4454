package written

import (
	"context"
	"errors"
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

// Of is the line in which a program says what differs: a text that code says or gives, the list of a
// pipeline, a member of what describes a tool. It is empty where that is in no one place.
func Of(fields []compare.FieldDiff, config adk.Config) string {
	near := nearOf(config)
	for _, f := range fields {
		if p := Here().of(f, near, config); p.Line > 0 {
			return p.String()
		}
	}
	return ""
}

// of is the line that says what differs in a field.
func (s *Source) of(f compare.FieldDiff, near Near, config adk.Config) codeplace.Place {
	want, got, _ := f.Trees()
	if slices.Contains(pipelines, f.Field) {
		return s.List(near, engine, f.Field, append(texts(want), texts(got)...))
	}
	if tool, is := strings.CutPrefix(f.Field, "tool "); is {
		name, of, _ := strings.Cut(tool, ".")
		near = nearTool(config, name)
		member := lastOf(f.Field)
		if p := s.Member(near, member); p.Line > 0 && f.Got != "" {
			return p
		}
		if f.Got == "" { // it was said beside what it was a member of
			return s.word(near, lastOf(strings.TrimSuffix(of, "."+member)))
		}
	}
	if object, is := got.(map[string]any); is && f.Field == "tool" {
		name, _ := compare.NameOf(object)
		return s.word(nearTool(config, name), name)
	}
	was, _ := textOf(want)
	if now, is := textOf(got); is && (f.Input || f.Of == adk.FieldErr) {
		return s.Text(near, was, now)
	}
	return codeplace.Place{}
}

// textOf is a value that is a text, or an error that says one.
func textOf(tree any) (text string, is bool) {
	if text, is = tree.(string); !is {
		text, is = compare.ErrorWords(tree)
	}
	return text, is
}

// Option is the line of the option of an executor that a library makes which has the name of the member
// that differs in what is asked, or that of all its options. It is empty of other seams, of the
// executor's name, and where there is no one place.
func Option(fields []compare.FieldDiff, config adk.Config, seam adk.Seam) string {
	if seam.Label != adk.LabelExecutor || slices.ContainsFunc(fields, func(f compare.FieldDiff) bool { return f.Field == adk.LabelExecutor }) {
		return ""
	}
	var members []string
	for _, f := range fields {
		members = append(members, lastOf(f.Field))
	}
	p, whole := Here().Options(nearOf(config), codeplace.Package(config.Executor.Run), members)
	if whole {
		return p.MadeIn()
	}
	return p.String()
}

// Deadline is the line that sets the deadline by which an operation ended, of those in the functions
// that called it; empty of another error, and where there are several or none.
func Deadline(err error, callers []codeplace.Place) string {
	if !errors.Is(err, context.DeadlineExceeded) {
		return ""
	}
	return Here().Deadline(callers).Deadline()
}

// nearOf is the folder in which an agent is put together: that of its executor.
func nearOf(config adk.Config) Near {
	at := codeplace.OfFunc(config.Executor.Run)
	if at.Line == 0 {
		at = codeplace.OfCaller(config.Executor.Made)
	}
	return nearTo(at)
}

func nearTo(p codeplace.Place) Near {
	return Near{Dir: path.Dir(p.File), Test: strings.HasSuffix(p.File, "_test.go")}
}

// nearTool is the folder in which a tool is made.
func nearTool(config adk.Config, name string) Near {
	for _, t := range config.Tools {
		if t.Name() == name {
			return nearTo(codeplace.OfCaller(t.Made()))
		}
	}
	return Near{}
}

// lastOf is the last member of a path.
func lastOf(field string) string { return field[strings.LastIndexByte(field, '.')+1:] }

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

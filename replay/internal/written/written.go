package written

import (
	"cmp"
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

// Of is the line in which a program says the first thing that differs: a text that code says or gives,
// the list of a pipeline, a member of what describes a tool. Of an error with which it cancels a context
// it is the line that does. It is empty where that is in no one place.
func Of(fields []compare.FieldDiff, config adk.Config) string {
	if len(fields) == 0 {
		return ""
	}
	if isMoved(fields) {
		return ""
	}
	if fields[0].Field == theTool { // one that is gone, and another one in its place
		fields = compare.Replaced(fields)
	}
	place := Here().of(fields[0], config)
	if in, ok := inItsPlace(fields); ok && place.Line == 0 {
		place = Here().of(in, config)
	}
	if cancelled := Here().Cancel(place); fields[0].Of == adk.FieldErr && cancelled.Line > 0 {
		return cancelled.Cancelled()
	}
	if place.Line == 0 && (fields[0].Field == theTool || fields[0].Field == "tool order") {
		if name, _ := theName(fields[0]); fields[0].Want != "" && name != "" {
			return codeplace.OfTool(config, name)
		}
		return Here().Tools(nearOf(config), engine).MadeIn()
	}
	return place.String()
}

// isMoved reports whether a text that is gone where something differs first stands in another member
// now: no line that says the rest of it has changed.
func isMoved(fields []compare.FieldDiff) bool {
	want, got, _ := fields[0].Trees()
	was, isText := want.(string)
	now, isToo := got.(string)
	from, to := changed(was, now)
	if !isText || !isToo || from != to {
		return false
	}
	gone := strings.TrimSpace(was[from : len(was)-(len(now)-to)])
	said := strings.Trim(compare.QuotedJSON(gone), `"`)
	return len(gone) >= shortest && slices.ContainsFunc(fields[1:], func(f compare.FieldDiff) bool {
		return strings.Contains(f.Got, said) && !strings.Contains(f.Want, said)
	})
}

// Made is the line of the list in which a middleware stands that a library makes, or of the one element
// of a list that its package makes; empty of other seams, and where there is no one line.
func Made(config adk.Config, seam adk.Seam) string {
	var names []string
	pkg := ""
	stands := func(name string, run any) {
		if names = append(names, name); name == seam.Name {
			pkg = codeplace.Package(run)
		}
	}
	for label, list := range map[string][]adk.TurnMiddleware{adk.LabelTurnInput: config.TurnInput, adk.LabelTurnOutput: config.TurnOutput} {
		for _, m := range list {
			if label == seam.Label {
				stands(m.Name, m.Run)
			}
		}
	}
	for label, list := range map[string][]adk.DispatchMiddleware{adk.LabelDispatchInput: config.DispatchInput, adk.LabelDispatchOutput: config.DispatchOutput} {
		for _, m := range list {
			if label == seam.Label {
				stands(m.Name, m.Run)
			}
		}
	}
	if pkg == "" {
		return ""
	}
	near := nearOf(config)
	return cmp.Or(Here().Listed(near, pkg), Here().List(near, engine, seam.Label, names)).MadeIn()
}

// inItsPlace is the one member that is new where the first thing that differs is gone: another name for
// it, whose line says what differs.
func inItsPlace(fields []compare.FieldDiff) (in compare.FieldDiff, ok bool) {
	parent := func(f compare.FieldDiff) string { return strings.TrimSuffix(f.Field, "."+compare.LastMember(f.Field)) }
	if fields[0].Got != "" || parent(fields[0]) == fields[0].Field {
		return in, false
	}
	for _, f := range fields[1:] {
		if parent(f) != parent(fields[0]) || f.Got != "" && f.Want != "" {
			continue
		}
		if ok || f.Got == "" { // several are gone, or new
			return in, false
		}
		in, ok = f, true
	}
	return in, ok
}

// of is the line that says what differs in a field.
func (s *Source) of(f compare.FieldDiff, config adk.Config) (p codeplace.Place) {
	want, got, _ := f.Trees()
	near := nearOf(config)
	was, _ := textOrError(want)
	now, isText := textOrError(got)
	tool, member := toolOf(f.Field, config)
	switch {
	case slices.Contains(pipelines, f.Field):
		return s.List(near, engine, f.Field, append(texts(want), texts(got)...))
	case f.Field == theTool:
		if name, ok := theName(f); ok {
			if tool, _ := toolOf("tool "+name+".", config); tool != nil {
				return s.word(nearTool(tool), name)
			}
		}
	case tool != nil:
		near = nearTool(tool)
		if isText && f.Got != "" {
			p = s.Text(near, was, now)
		}
		if p.Line == 0 {
			p = s.Member(near, tool.Name(), member, f.Got == "")
		}
	case !strings.HasPrefix(f.Field, "tool ") && isText && (f.Input || f.Of == adk.FieldErr || f.Of == adk.FieldResult):
		return s.Text(near, was, now)
	}
	return p
}

// theTool is the field of a tool that a run was given, and of one that it was not.
const theTool = "tool"

// theName is that of the tool which a run is given now.
func theName(f compare.FieldDiff) (name string, ok bool) {
	_, got, _ := f.Trees()
	object, _ := got.(map[string]any)
	return compare.NameOf(object)
}

// toolOf is the tool that a field describes, and what of it; nil where there is none.
func toolOf(field string, config adk.Config) (of *adk.Tool, member string) {
	for _, t := range config.Tools {
		if rest, ok := strings.CutPrefix(field, "tool "+t.Name()+"."); ok && (of == nil || len(t.Name()) > len(of.Name())) {
			of, member = t, rest
		}
	}
	return of, member
}

// textOrError is a value that is a text, or an error that says one.
func textOrError(tree any) (text string, ok bool) {
	if text, ok = tree.(string); !ok {
		text, ok = compare.ErrorWords(tree)
	}
	return text, ok
}

// Option is the line of the option of an executor that a library makes which has the name of the member
// that differs in what is asked, and the option's name, or the line of all its options; or else where the
// executor begins. What it reports as the result of a tool is another one by what makes an artifact of it:
// the line is where the tool is given that. A text of what is asked that functions of the agent's own may put
// together is in none of these lines. It is empty of other seams but for where they begin, and where
// there is no one place.
func Option(fields []compare.FieldDiff, config adk.Config, seam adk.Seam, tool, begins string) string {
	is := func(this func(compare.FieldDiff) bool) bool { return slices.ContainsFunc(fields, this) }
	if seam.Label != adk.LabelExecutor || is(func(f compare.FieldDiff) bool { return f.Field == adk.LabelExecutor }) {
		return begins
	}
	byLibrary := codeplace.OfFunc(config.Executor.Run).Line == 0
	if byLibrary && is(func(f compare.FieldDiff) bool { return f.Of == adk.FieldResult }) {
		of, _ := toolOf("tool "+tool+".", config)
		if of == nil || of.ArtifactConstructor() == nil {
			return ""
		}
		return Here().Member(nearTool(of), tool, "ArtifactConstructor", false).String()
	}
	near := nearOf(config)
	var names []string
	for _, f := range fields {
		names = append(names, f.Field)
	}
	p, option := Here().Options(near, codeplace.Package(config.Executor.Run), names)
	switch {
	case option != "":
		return p.String() + ", option " + option
	case byLibrary && len(fields) > 0 && isPutTogether(fields[0]) && Here().HasHelpers(near):
		return ""
	}
	return cmp.Or(p.MadeIn(), begins)
}

// isPutTogether reports whether a field is of a text that is asked, or of a list of such.
func isPutTogether(f compare.FieldDiff) bool {
	want, got, _ := f.Trees()
	_, was := textOrError(want)
	_, ok := textOrError(got)
	return strings.HasPrefix(f.Field, "request.body.") && strings.Contains(f.Field, "[") && (was || ok)
}

// Deadline is the line that sets the deadline by which an operation ended, of those in the functions
// that called it; empty of another error, and where there are several or none.
func Deadline(err error, callers []codeplace.Place) string {
	if !errors.Is(err, context.DeadlineExceeded) {
		return ""
	}
	return Here().Deadline(callers).Deadline()
}

// nearOf is where an agent is put together: where its executor is, or else another part of it.
func nearOf(config adk.Config) Near {
	places := []codeplace.Place{codeplace.OfFunc(config.Executor.Run), codeplace.OfCaller(config.Executor.Made)}
	for _, m := range slices.Concat(config.TurnInput, config.TurnOutput) {
		places = append(places, codeplace.OfFunc(m.Run))
	}
	for _, m := range slices.Concat(config.DispatchInput, config.DispatchOutput) {
		places = append(places, codeplace.OfFunc(m.Run))
	}
	for _, t := range config.Tools {
		places = append(places, codeplace.OfCaller(t.Made()))
	}
	if at := slices.IndexFunc(places, func(p codeplace.Place) bool { return p.Line > 0 }); at >= 0 {
		return nearTo(places[at])
	}
	return Near{}
}

func nearTo(p codeplace.Place) Near {
	return Near{Dir: path.Dir(p.File), Test: strings.HasSuffix(p.File, "_test.go")}
}

// nearTool is where a tool is made.
func nearTool(t *adk.Tool) Near { return nearTo(codeplace.OfCaller(t.Made())) }

// texts are the elements of a list that are texts.
func texts(tree any) (all []string) {
	list, _ := tree.([]any)
	for _, element := range list {
		if text, ok := element.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// ByCaller reports whether who called for a replay is to blame for a divergence: no other place is
// known, and what a live run is given was made there. What an executor does was not.
func ByCaller(place, seam string, live bool) bool {
	return place == "" && live && !strings.HasPrefix(seam, adk.LabelExecutor)
}

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

// engine is the path of the package with which agents are put together.
var engine = reflect.TypeFor[adk.Config]().PkgPath()

// pipelines are the labels of the pipelines for which an agent has a list.
var pipelines = []string{adk.LabelTurnInput, adk.LabelTurnOutput, adk.LabelDispatchInput, adk.LabelDispatchOutput}

// Of is the line in which a program says the first thing that differs: a text that code says or
// gives, the list of a pipeline, or a member of what describes a tool. For an error with which code
// cancels a context, it is the line that cancels it. It is empty where there is no single line.
func Of(fields []compare.FieldDiff, config adk.Config) string {
	if len(fields) == 0 {
		return ""
	}
	if isMoved(fields) {
		return ""
	}
	if fields[0].Field == theTool { // one tool is gone, and another is in its place
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

// isMoved reports whether the text that is missing in the first field is now in another field: no
// line that says the rest of the first field has then changed.
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

// Made is the line of the list that contains a middleware of a seam, if a library makes the
// middleware; or the line of the element itself, if it is the only list element that its package
// makes. It is empty for other seams, and where there is no single line.
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

// inItsPlace is the only new member of the object in which the first member that differs is gone:
// probably the same member under another name, whose line is the one that changed.
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

// theTool is the field of a tool that a run was given in addition, or was not given any more.
const theTool = "tool"

// theName is the name of the tool that a run is given now.
func theName(f compare.FieldDiff) (name string, ok bool) {
	_, got, _ := f.Trees()
	object, _ := got.(map[string]any)
	return compare.NameOf(object)
}

// toolOf is the tool that a field describes, and the member that the field is; nil where there is
// none.
func toolOf(field string, config adk.Config) (of *adk.Tool, member string) {
	for _, t := range config.Tools {
		if rest, ok := strings.CutPrefix(field, "tool "+t.Name()+"."); ok && (of == nil || len(t.Name()) > len(of.Name())) {
			of, member = t, rest
		}
	}
	return of, member
}

// textOrError is a value that is a text, or the text of an error.
func textOrError(tree any) (text string, ok bool) {
	if text, ok = tree.(string); !ok {
		text, ok = compare.ErrorWords(tree)
	}
	return text, ok
}

// Option finds the line for a difference in what an executor asks, if a library makes the executor.
// It is the line of the option with the name of the member that differs, followed by the option's
// name; or else the line of all its options; or else begins, where the executor begins. If what
// differs is the reported result of a tool, the reason is what makes an artifact of it, so it is
// the line that gives the tool its ArtifactConstructor. It is empty where functions of the agent
// (helpers) may have put together a text that is asked, since no such line says it. For other seams
// it is begins.
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

// isPutTogether reports whether a field is part of a text that is asked, or of a list of such
// texts.
func isPutTogether(f compare.FieldDiff) bool {
	want, got, _ := f.Trees()
	_, was := textOrError(want)
	_, ok := textOrError(got)
	return strings.HasPrefix(f.Field, "request.body.") && strings.Contains(f.Field, "[") && (was || ok)
}

// Deadline is the line that sets the deadline by which an operation ended, in one of the functions
// that called the operation. It is empty for other errors, and where there is not exactly one such
// line.
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

// texts returns the elements of a list that are texts.
func texts(tree any) (all []string) {
	list, _ := tree.([]any)
	for _, element := range list {
		if text, ok := element.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// ByCaller reports whether the place of a divergence is the caller of the replay: no other place is
// known, and what a live run is given was made there. This is never so for an executor.
func ByCaller(place, seam string, live bool) bool {
	return place == "" && live && !strings.HasPrefix(seam, adk.LabelExecutor)
}

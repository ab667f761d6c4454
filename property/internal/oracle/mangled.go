package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property/turn"
)

// damage is a trace that code leaves in a text when it takes the text for something else, and that
// nobody writes on purpose: how to find it, and what caused it.
type damage struct {
	in  func(text string) string // returns the damage in a text, or an empty string
	how string
}

// badVerb matches what package fmt writes for a verb without a value, or with a wrong one.
var badVerb = regexp.MustCompile(`%!(?:[a-zA-Z]?\((?:MISSING|EXTRA |NOVERB|BADINDEX|BADWIDTH|BADPREC)\)?|[a-zA-Z]\([\w.*\[\]]+=)`)

var damages = []damage{
	{func(text string) string {
		if !strings.Contains(text, "%!") {
			return ""
		}
		return badVerb.FindString(text)
	}, "a text was taken for a format of package fmt"},
	{func(text string) string {
		if !strings.Contains(text, noValue) {
			return ""
		}
		return noValue
	}, "a text was taken for a template, or a template was given too little"},
	{func(text string) string {
		if strings.ContainsRune(text, utf8.RuneError) || !utf8.ValidString(text) {
			return string(utf8.RuneError)
		}
		return ""
	}, "a text was cut within a letter"},
}

// noValue is what a template writes for a missing value.
const noValue = "<no value>"

// mangled finds text that the agent reports, keeps or asks with and that contains a damage, such as
// half a character or the complaint of a formatter. It is silent if the damage came in earlier from
// anywhere, and if the undisturbed turn has it too.
func mangled(r, undisturbed *Run) (found []exhibit) {
	for i := range r.Crossings {
		x := &r.Crossings[i]
		text := saidIn(x)
		for _, d := range damages {
			left := d.in(text)
			if left == "" || r.cameWith(d, i) || undisturbed.cameWith(d, len(undisturbed.Crossings)) {
				continue
			}
			return []exhibit{r.exhibit(x, "%s: %s says %s", d.how, x.Kind, safetext.Said(around(text, left), longestClip))}
		}
	}
	return nil
}

// around returns text from a little before the first occurrence of words on.
func around(text, words string) string {
	const before = 20
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	from := strings.Index(text, words)
	for n := 0; n < before && from > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	return text[from:]
}

// saidIn returns what the agent says in a crossing; empty for other crossings.
func saidIn(x *adk.Crossing) string {
	switch x.Kind {
	case adk.KindReportMessage, adk.KindReportThought, adk.KindEmitMessage, adk.KindEmitThought:
		return x.Text
	case adk.KindAsk:
		if x.Phase == adk.Begin {
			return plainJSON(x.JSON)
		}
	case adk.KindStore, adk.KindMutate:
		if x.Phase == adk.Begin {
			return textOf(x.Record)
		}
	}
	return ""
}

// plainJSON returns raw with the characters unescaped that occur in damages. It returns an empty
// string if no damage can be in it, which it finds out without a copy.
func plainJSON(raw json.RawMessage) string {
	if !slices.ContainsFunc(inDamages, func(part []byte) bool { return bytes.Contains(raw, part) }) {
		return ""
	}
	return withoutEscapes.Replace(string(raw))
}

// inDamages are byte sequences of which every damage in JSON contains one.
var inDamages = [][]byte{[]byte("%!"), []byte("no value"), []byte(string(utf8.RuneError)), []byte(`\ufffd`), []byte(`\uFFFD`), []byte(noText)}

// noText is how a trace begins a text that is not UTF-8; its bytes follow.
const noText = `{"$unheld":"no UTF-8: `

var withoutEscapes = strings.NewReplacer(noText, string(utf8.RuneError)+" ", `\u003c`, "<", `\u003e`, ">", `\ufffd`, string(utf8.RuneError), `\uFFFD`, string(utf8.RuneError))

// textOf returns the text of a message or of a memory; empty for other records.
func textOf(record adk.Record) string {
	var content *adk.Tokenizable
	switch record := record.(type) {
	case *adk.Message:
		content = record.Content()
	case *adk.Memory:
		content = record.Content()
	}
	if content == nil {
		return ""
	}
	return content.String()
}

// cameWith reports whether any of the crossings before index until contains a damage, whoever
// caused it.
func (r *Run) cameWith(d damage, until int) bool {
	return slices.ContainsFunc(r.Crossings[:until], func(x adk.Crossing) bool {
		if d.in(x.Text) != "" || d.in(plainJSON(x.JSON)) != "" || d.in(textOf(x.Record)) != "" || d.in(Text(x.Result)) != "" {
			return true
		}
		if x.Err != nil && d.in(x.Err.Error()) != "" || x.Value != nil && d.in(fmt.Sprint(x.Value)) != "" || x.Args != nil && d.in(fmt.Sprint(x.Args)) != "" {
			return true
		}
		return slices.ContainsFunc(x.Texts, func(text string) bool { return d.in(text) != "" }) || slices.ContainsFunc(x.Records, func(record adk.Record) bool { return d.in(textOf(record)) != "" })
	})
}

// cutsArguments are the faults that cut what a model wants of a tool.
var cutsArguments = []turn.FaultKind{turn.ChatArguments, turn.ChatLength, turn.AskShort, turn.AskCut, turn.AskCutWithin, turn.AskStalled}

// ranOnHalf finds a tool that runs after the model's call of it was cut, with arguments that it
// never has in the undisturbed run: those that had come, or none. It is silent after a further
// question to the same model, and about what the engine refuses.
func ranOnHalf(r, undisturbed *Run) (found []exhibit) {
	for _, f := range r.Faults {
		if !slices.Contains(cutsArguments, f.Kind) || f.Op == 0 {
			continue
		}
		if x := r.ranBehind(f, undisturbed.toolArguments()); x != nil {
			found = append(found, exhibit{x.Seq, x.Seam.String(), fmt.Sprintf("what %s wanted was cut, and %s ran with %s", f.Of, x.Seam, safetext.Said(argumentsOf(x), longestClip))})
		}
	}
	return found
}

// ranBehind returns the first call after the ask of a fault, and before another ask of the same, of
// a tool in usual with arguments that are not in usual; nil if there is none.
func (r *Run) ranBehind(f Fault, usual map[string][]string) *adk.Crossing {
	over := false
	for i := range r.Crossings {
		x := &r.Crossings[i]
		switch {
		case x.Kind == adk.KindAsk && x.Op == f.Op:
			over = x.Phase == adk.Done
		case !over:
		case x.Kind == adk.KindAsk && x.Phase == adk.Begin && x.Name == f.Of:
			return nil
		case x.Kind == adk.KindCall && x.Seam.Label == adk.LabelTool && len(usual[x.Seam.Name]) > 0 && !slices.Contains(usual[x.Seam.Name], argumentsOf(x)):
			return x
		}
	}
	return nil
}

// toolArguments returns the arguments with which tools were called, by tool.
func (r *Run) toolArguments() map[string][]string {
	all := map[string][]string{}
	for i := range r.Crossings {
		if x := &r.Crossings[i]; x.Kind == adk.KindCall && x.Seam.Label == adk.LabelTool {
			all[x.Seam.Name] = append(all[x.Seam.Name], argumentsOf(x))
		}
	}
	return all
}

func argumentsOf(x *adk.Crossing) string { return safetext.Arguments(x.Args) }

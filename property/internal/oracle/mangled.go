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

// damage is what is left in a text by code that took it for something else, and that nobody
// writes: how it is found, and what did it.
type damage struct {
	in  func(text string) string // what of it is in a text, or nothing
	how string
}

// badVerb is what package fmt puts in the place of a verb that has no value, or another one.
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

// noValue is what a template puts in the place of what it was not given.
const noValue = "<no value>"

// mangled: what the agent tells, keeps or asks has in it what only code leaves there that takes a
// text for something else: half a letter, the complaint of a formatter. It is silent where that
// came in before, from whoever, and where the undisturbed turn has it too.
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

// around is a text from a little before the first of some words on.
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

// saidIn is what the agent says in a crossing; empty in others.
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

// plainJSON is JSON whose letters are as they are, as far as damages have them; empty where none
// can be in it, which is told without a copy.
func plainJSON(raw json.RawMessage) string {
	if !slices.ContainsFunc(inDamages, func(part []byte) bool { return bytes.Contains(raw, part) }) {
		return ""
	}
	return unescaped.Replace(string(raw))
}

// inDamages are parts of which each damage in JSON has one.
var inDamages = [][]byte{[]byte("%!"), []byte("no value"), []byte(string(utf8.RuneError)), []byte(`\ufffd`), []byte(`\uFFFD`), []byte(noText)}

// noText is what a trace has in the place of a text that is no UTF-8: behind it stand its bytes.
const noText = `{"$unheld":"no UTF-8: `

var unescaped = strings.NewReplacer(noText, string(utf8.RuneError)+" ", `\u003c`, "<", `\u003e`, ">", `\ufffd`, string(utf8.RuneError), `\uFFFD`, string(utf8.RuneError))

// textOf is the text of a message or of a memory; empty of others.
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

// cameWith reports whether any of so many crossings has a damage in it, whoever it is of.
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

// cutsArguments are the faults by which what a model wants of a tool is cut.
var cutsArguments = []turn.FaultKind{turn.ChatArguments, turn.ChatLength, turn.AskShort, turn.AskCut, turn.AskCutWithin, turn.AskStalled}

// ranOnHalf: what a model wanted was cut, and a tool ran that it usually wants, with arguments
// that it has in no other call: with those that had come, or with none. It is silent behind a
// further question to the same model, and about what the engine refuses.
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

// ranBehind is the first call behind the ask of a fault, and before another one of the same, of a
// tool that has usual arguments, with others; nil where there is none.
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

// toolArguments are what tools were called with.
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

package describe

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
)

// record describes a record: in full when it first appears or has changed, and by its name
// otherwise.
func (n *Namer) record(record adk.Record) string {
	if record == nil {
		return "nothing"
	}
	name := n.Alias(record)
	key := state.Ref{Space: string(record.RecordKind()), ID: record.Key()}
	if last, seen := n.Shown[key]; seen && last == record.Digest() {
		return name
	}
	if n.Shown != nil {
		n.Shown[key] = record.Digest()
	}
	if made, ok := n.names[state.Ref{Space: state.SpaceMade, ID: record.Key()}]; ok && record.RecordKind() != adk.RecordInstruction {
		name += " (" + made + ")"
	}
	return name + " " + n.Content(record)
}

// key returns the name of a record that is given by its key.
func (n *Namer) key(of adk.CollectionName, key string) string {
	at := state.SetIndex(of)
	if at < 0 {
		return safetext.PlainName(key)
	}
	return n.Name(recordSpace(state.SetOrder[at].Kind), key)
}

// Content describes the content of a record, without its times.
func (n *Namer) Content(record adk.Record) string {
	switch r := record.(type) {
	case *adk.Message:
		return n.message(r)
	case *adk.Memory:
		return fmt.Sprintf("%s confidence %s importance %s", safetext.Quoted(r.Content().String()), number(r.Confidence()), number(r.Importance()))
	case *adk.Thought:
		return thought(r)
	case *adk.ToolCall:
		words := safetext.PlainName(r.Tool()) + " " + safetext.Arguments(r.Args()) + " gave " + n.result(r.Results())
		words = flagged(words, r.IsError(), " failed")
		return flagged(words, !r.Inline(), ", not inline")
	case *adk.Retrievable:
		return retrievable(r)
	case *adk.Tokenizable:
		return safetext.Quoted(r.String())
	case *adk.Tool:
		words := safetext.Quoted(r.Description())
		words = flagged(words, r.Ephemeral(), " ephemeral")
		return flagged(words, r.Effect() != adk.EffectUnknown, " "+string(r.Effect()))
	case *adk.Media:
		return mediaWords(r)
	}
	return safetext.BareJSON(string(record.AppendJSON(nil)))
}

func (n *Namer) message(m *adk.Message) string {
	words := safetext.PlainName(string(m.Role()))
	if by := m.Identity().Representation(); by != nil && by.String() != string(m.Role()) {
		words += " " + safetext.PlainName(by.String())
	}
	if text := m.Content(); text != nil {
		words += " " + safetext.Quoted(text.String())
	}
	if all := m.Attachments(); len(all) > 0 {
		words += " with " + safetext.List(all, func(media *adk.Media) string { return n.record(media) })
	}
	return words
}

func thought(t *adk.Thought) string {
	var words string
	if text := t.Content(); text != nil {
		words = safetext.Quoted(text.String())
	}
	if t.Payload() != nil {
		words += " payload " + safetext.PlainData(t.Payload())
	}
	if as := t.ReplayCompatibility(); as != "" {
		words += " as " + safetext.PlainName(as)
	}
	return words
}

func retrievable(r *adk.Retrievable) string {
	words := safetext.Quoted(r.Content().String()) + " " + safetext.PlainName(string(r.TrustTier()))
	if r.Kind() != "" {
		words += " kind " + safetext.PlainName(r.Kind())
	}
	if r.Source() != "" {
		words += " from " + safetext.PlainName(r.Source())
	}
	if score, given := r.Score(); given {
		words += " score " + number(score)
	}
	return words
}

func mediaWords(m *adk.Media) string {
	words := fmt.Sprintf("%s %s %s %s", safetext.PlainName(string(m.Kind())), safetext.Quoted(m.Filename()),
		safetext.PlainName(m.MIMEType()), safetext.PlainName(string(m.TrustTier())))
	stash := m.Stash()
	for _, key := range slices.Sorted(maps.Keys(stash)) {
		words += fmt.Sprintf(", %s %s %s", safetext.PlainName(key), safetext.PlainData(stash[key].Value), safetext.PlainName(string(stash[key].TrustTier)))
	}
	return words
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// result describes the result of a tool.
func (n *Namer) result(r adk.ToolResult) string {
	switch r := r.(type) {
	case *adk.Tokenizable:
		return safetext.Quoted(r.String())
	case adk.Bytes:
		return fmt.Sprintf("%d bytes %s", len(r), safetext.Quoted(string(r)))
	case *adk.Media:
		return n.record(r)
	case adk.MediaList:
		return safetext.List(r, func(media *adk.Media) string { return n.record(media) })
	}
	return "nothing"
}

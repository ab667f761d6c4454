package replay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
)

// record is a record: in full where it first appears or has changed, by its
// name where the reader has seen it.
func (n *namer) record(record adk.Record) string {
	if record == nil {
		return "nothing"
	}
	name := n.alias(record)
	key := thing{string(record.RecordKind()), record.Key()}
	if last, seen := n.shown[key]; seen && last == record.Digest() {
		return name
	}
	if n.shown != nil {
		n.shown[key] = record.Digest()
	}
	if made, ok := n.names[thing{spaceMade, record.Key()}]; ok && record.RecordKind() != adk.RecordInstruction {
		name += " (" + made + ")"
	}
	return name + " " + n.content(record)
}

// key is the name of a record that is spoken of by its key.
func (n *namer) key(of adk.CollectionName, key string) string {
	at := setIndex(of)
	if at < 0 {
		return plainName(key)
	}
	return n.name(recordSpaces[setOrder[at].kind], key)
}

// content is what is in a record; its times are left out.
func (n *namer) content(record adk.Record) string {
	switch r := record.(type) {
	case *adk.Message:
		return n.message(r)
	case *adk.Memory:
		return fmt.Sprintf("%s confidence %s importance %s", quoted(r.Content().String()), number(r.Confidence()), number(r.Importance()))
	case *adk.Thought:
		return thought(r)
	case *adk.ToolCall:
		words := plainName(r.Tool()) + " " + arguments(r.Args()) + " gave " + n.result(r.Results())
		words = flagged(words, r.IsError(), " failed")
		return flagged(words, !r.Inline(), ", not inline")
	case *adk.Retrievable:
		return retrievable(r)
	case *adk.Tokenizable:
		return quoted(r.String())
	case *adk.Tool:
		words := quoted(r.Description())
		words = flagged(words, r.Ephemeral(), " ephemeral")
		return flagged(words, r.Effect() != adk.EffectUnknown, " "+string(r.Effect()))
	case *adk.Media:
		return mediaWords(r)
	}
	panic(fmt.Sprintf("replay: a record of the type %T", record))
}

func (n *namer) message(m *adk.Message) string {
	words := plainName(string(m.Role()))
	if by := m.Identity().Representation(); by != nil && by.String() != string(m.Role()) {
		words += " " + plainName(by.String())
	}
	if text := m.Content(); text != nil {
		words += " " + quoted(text.String())
	}
	if all := m.Attachments(); len(all) > 0 {
		words += " with " + list(all, func(media *adk.Media) string { return n.record(media) })
	}
	return words
}

func thought(t *adk.Thought) string {
	var words string
	if text := t.Content(); text != nil {
		words = quoted(text.String())
	}
	if t.Payload() != nil {
		words += " payload " + plainData(t.Payload())
	}
	if as := t.ReplayCompatibility(); as != "" {
		words += " as " + plainName(as)
	}
	return words
}

func retrievable(r *adk.Retrievable) string {
	words := quoted(r.Content().String()) + " " + plainName(string(r.TrustTier()))
	if r.Kind() != "" {
		words += " kind " + plainName(r.Kind())
	}
	if r.Source() != "" {
		words += " from " + plainName(r.Source())
	}
	if score, given := r.Score(); given {
		words += " score " + number(score)
	}
	return words
}

func mediaWords(m *adk.Media) string {
	words := fmt.Sprintf("%s %s %s %s", plainName(string(m.Kind())), quoted(m.Filename()), plainName(m.MIMEType()), plainName(string(m.TrustTier())))
	stash := m.Stash()
	for _, key := range slices.Sorted(maps.Keys(stash)) {
		words += fmt.Sprintf(", %s %s %s", plainName(key), plainData(stash[key].Value), plainName(string(stash[key].TrustTier)))
	}
	return words
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// result is what a tool gave.
func (n *namer) result(r adk.ToolResult) string {
	switch r := r.(type) {
	case *adk.Tokenizable:
		return quoted(r.String())
	case adk.Bytes:
		return fmt.Sprintf("%d bytes %s", len(r), quoted(string(r)))
	case *adk.Media:
		return n.record(r)
	case adk.MediaList:
		return list(r, func(media *adk.Media) string { return n.record(media) })
	}
	return "nothing"
}

package envelope

import (
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// Content describes the content of a trusted or an untrusted envelope.
type Content struct {
	// Nonce is the identity of the record that the text belongs to: an id, or the
	// checksum of a tool call. Required.
	Nonce string
	// Kind is what the text is, such as tool-result. Required.
	Kind string
	// Tool is the name of the tool or source that the text came from; optional.
	Tool string
	// Modality says what decoding a media may find; optional, for media only.
	Modality string
}

// The kinds of content that package prompt writes.
const (
	KindTrustedToolResult = "trusted-tool-result"
	KindToolResult        = "tool-result"
	KindArtifactHandle    = "artifact-handle"
	KindPublicRecord      = "retrieved-third-party-public"
	KindPrivateRecord     = "retrieved-third-party-private"
	KindMedia             = "media"
	KindMediaExtractable  = "media-extractable"
	KindMediaOpaque       = "media-opaque"
	KindMediaInert        = "media-inert"
	KindMediaFallback     = "media-fallback"
)

// Trusted puts a text into the envelope of the trusted tier. Like all envelopes of this package, it
// returns E_INVALID_ENVELOPE if a required field is missing, here the nonce or the kind (ENV-12).
func Trusted(body string, c Content) (string, error) { return c.around("trusted_content_", body) }

// Untrusted puts a text into the envelope of the untrusted tier.
func Untrusted(body string, c Content) (string, error) { return c.around("untrusted_content_", body) }

func (c Content) around(prefix, body string) (string, error) {
	if err := required("nonce", c.Nonce, "kind", c.Kind); err != nil {
		return "", err
	}
	e := newElement(prefix, c.Nonce)
	e.attribute("nonce", e.nonce)
	e.attribute("kind", c.Kind)
	e.attribute("tool", c.Tool)
	e.attribute("modality", c.Modality)
	return e.around(body, own), nil
}

// Instructions returns the block of standing instructions: those that are not empty, joined by a
// blank line; empty if there are none (ENV-20). The version is optional. The tag has no nonce,
// since both the tag and its body come from the developer.
func Instructions(texts []string, version string) string {
	var body strings.Builder
	for _, text := range texts {
		if text == "" {
			continue
		}
		if body.Len() > 0 {
			body.WriteString("\n\n")
		}
		body.WriteString(text)
	}
	if body.Len() == 0 {
		return ""
	}
	e := element{name: instructionsTag}
	e.attribute("kind", "developer-rules")
	e.attribute("version", version)
	return e.around(body.String(), verbatim)
}

// Item is a memory or a first-party retrievable.
type Item struct {
	// Nonce is the id of the record. Required.
	Nonce string
	// Text is the body.
	Text string
	// Source, CreatedAt, Kind and Score become attributes, unless they are zero or nil. A score of
	// 0 is an attribute.
	Source    string
	CreatedAt time.Time
	Kind      string
	Score     *float64
}

// Memories returns the block of memories in the given order; empty if there are none (ENV-21).
func Memories(items []Item) (string, error) { return block("memories", "memory_", items) }

// Corpus returns the block of first-party retrievables in the given order; empty if there are none
// (ENV-22).
func Corpus(items []Item) (string, error) { return block("retrieved_corpus", "retrieved_", items) }

// block returns a parent tag around one child envelope for each item.
func block(parent, child string, items []Item) (string, error) {
	if len(items) == 0 {
		return "", nil
	}
	elements, size := make([]element, len(items)), 0
	for i, item := range items {
		if err := required("nonce", item.Nonce); err != nil {
			return "", err
		}
		e := newElement(child, item.Nonce)
		e.attribute("nonce", e.nonce)
		e.attribute("source", item.Source)
		e.moment(item.CreatedAt)
		e.attribute("kind", item.Kind)
		e.number("score", item.Score)
		elements[i] = e
		size += e.size(item.Text) + 1
	}
	var out strings.Builder
	out.Grow(size + 2*len(parent) + len("<>\n</>"))
	outer := element{name: parent}
	outer.open(&out)
	for i, item := range items {
		elements[i].write(&out, item.Text, own)
		out.WriteByte('\n')
	}
	outer.close(&out)
	return out.String(), nil
}

// Speaker says who said something and when.
type Speaker struct {
	// Nonce is the id of the message or the thought. Required.
	Nonce string
	// From is the speaker's name, as the model reads it.
	From string
	// CreatedAt is when it was said; a zero time is left out.
	CreatedAt time.Time
}

// UserMessage puts what a user said into its envelope.
func UserMessage(text string, by Speaker) (string, error) {
	if err := required("nonce", by.Nonce); err != nil {
		return "", err
	}
	e := newElement("message_", by.Nonce)
	e.attribute("from", by.From)
	e.attribute("role", string(adk.RoleUser))
	e.moment(by.CreatedAt)
	return e.around(text, own|instructions), nil
}

// PeerMessage puts what another agent said into its envelope.
func PeerMessage(text string, by Speaker) (string, error) {
	if err := required("nonce", by.Nonce); err != nil {
		return "", err
	}
	e := peer(by, "")
	return e.around(text, own|instructions), nil
}

// peer returns the tag around what another agent says. The kind is empty except for its reasoning.
func peer(by Speaker, kind string) element {
	e := newElement("peer_agent_output_", by.Nonce)
	e.attribute("kind", kind)
	e.attribute("from", by.From)
	e.moment(by.CreatedAt)
	return e
}

// OwnMessage returns what the agent itself said: plain text without an envelope, in which the tags
// of standing instructions are made inert (ENV-9).
func OwnMessage(text string) string { return inert(text, "", instructions) }

// The kinds of thoughts.
const (
	// OwnThought is reasoning of the agent itself.
	OwnThought = "self-reasoning"
	// PeerThought is reasoning of another agent, within the envelope of that agent's messages.
	PeerThought = "peer-reasoning"
	// OpaqueThought is reasoning that only its provider can read.
	OpaqueThought = "opaque-reasoning"
)

// Thought describes a thought and its speaker.
type Thought struct {
	Speaker
	// Kind is OwnThought, PeerThought or OpaqueThought. Required.
	Kind string
	// ReplayCompatibility names the form of an opaque thought's payload; other thoughts do not show
	// it.
	ReplayCompatibility string
}

// Reasoning puts a thought into its envelope. The text of an opaque thought is not shown: a
// sentence that names its form takes its place. An unknown kind is E_INVALID_ENVELOPE.
func Reasoning(text string, t Thought) (string, error) {
	kind := t.Kind
	if kind != OwnThought && kind != PeerThought && kind != OpaqueThought {
		kind = ""
	}
	if err := required("nonce", t.Nonce, "kind", kind); err != nil {
		return "", err
	}
	e := newElement("thought_", t.Nonce)
	e.attribute("nonce", e.nonce)
	e.attribute("kind", kind)
	e.attribute("from", t.From)
	e.moment(t.CreatedAt)
	switch kind {
	case OpaqueThought:
		e.attribute("replayCompatibility", t.ReplayCompatibility)
		text = `An opaque reasoning block of form "` + t.ReplayCompatibility + `" belongs here. It goes back to the provider beside this conversation and holds no readable text.`
	case PeerThought:
		outer := peer(t.Speaker, "reasoning")
		return outer.around(e.around(inert(text, outer.name, own), own|instructions), verbatim), nil
	}
	return e.around(text, own|instructions), nil
}

// required returns an error if one of the fields is empty; they are pairs of a name and a value.
func required(fields ...string) error {
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] == "" {
			return &adk.Error{Code: adk.E_INVALID_ENVELOPE, Message: "an envelope needs a " + fields[i] + ": give the one of its record"}
		}
	}
	return nil
}

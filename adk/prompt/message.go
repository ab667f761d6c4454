package prompt

import (
	"encoding/base64"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// Role says who a message of a prompt is from.
type Role string

// The roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Prompt is all that a model is shown.
type Prompt struct {
	Messages []Message
	// Opaque is what is sent back to a provider separately from the messages, in their order.
	Opaque []OpaqueThought
}

// OpaqueThought is reasoning that only its provider can read (IDN-6).
type OpaqueThought struct {
	ID                  string
	ReplayCompatibility string
	Payload             any // plain data
}

// Message is one message of a prompt, in no provider's form.
type Message struct {
	Role Role
	// Name is the speaker's identifier, cleaned (IDN-1); empty for none.
	Name string
	// Content is what is said. It is empty if there is a Call.
	Content Content
	// Call is the tool call that an assistant's message requests; nil for none. The next message
	// has its result (PRO-6).
	Call *Call
	// CallID is the id of the call that a tool's message answers; empty for other roles.
	CallID string
}

// Call is a tool call as the model asked for it.
type Call struct {
	ID string
	// Tool is the tool's name. The name of an unknown tool is cleaned like that of a message
	// (IDN-1).
	Tool string
	// Args is the canonical JSON of the arguments.
	Args string
}

// Content is one text, or a list of blocks where Blocks is not nil (PRO-7).
type Content struct {
	Text   string
	Blocks []Block
}

// Block is one part of a content: a media, or a text where Native is nil.
type Block struct {
	Text   string
	Native *Native
}

// Texts returns the text, or those of the blocks joined by newlines. It is what is counted of a
// content.
func (c Content) Texts() string {
	if c.Blocks == nil {
		return c.Text
	}
	var texts []string
	for _, block := range c.Blocks {
		if block.Native == nil {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Native is a media that the model itself decodes (MED-3).
type Native struct {
	// Kind is MediaImage, MediaAudio or MediaDocument.
	Kind adk.MediaKind
	// MIMEType and Filename are cleaned (MED-8).
	MIMEType string
	Filename string
	// Format is wav or mp3 for a sound, and empty for all else.
	Format string
	Data   []byte
}

// Base64 returns the data in standard base64 with padding.
func (n *Native) Base64() string { return base64.StdEncoding.EncodeToString(n.Data) }

// DataURI returns the data as a data URI.
func (n *Native) DataURI() string {
	head := "data:" + n.MIMEType + ";base64,"
	uri := make([]byte, len(head)+base64.StdEncoding.EncodedLen(len(n.Data)))
	base64.StdEncoding.Encode(uri[copy(uri, head):], n.Data)
	return string(uri)
}

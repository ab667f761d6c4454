package prompt

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/envelope"
	"github.com/adkreplay/adkreplay/internal/canonical"
)

// renderSystemMessage joins the prompt and the buckets in their order by a blank line, without the
// empty ones (PRO-2).
func renderSystemMessage(ctx context.Context, of SystemMessage) (string, error) {
	parts := make([]string, 0, 1+len(of.Order))
	parts = append(parts, of.Prompt)
	for _, bucket := range of.Order {
		text, err := of.bucket(ctx, bucket)
		if err != nil {
			return "", err
		}
		parts = append(parts, text)
	}
	return joined(parts, blankLine), nil
}

func (of SystemMessage) bucket(ctx context.Context, bucket Bucket) (string, error) {
	switch bucket {
	case StandingInstructions:
		return of.Renderers.Instructions(ctx, of.View.Instructions, "")
	case Memories:
		return of.Renderers.Memories(ctx, memoryItems(of.View.Memories))
	case Retrievables:
		r := of.Renderers
		return r.Retrievables(ctx, retrievableItems(of.View.Retrievables), Tiers{
			Directive: r.Directive, FirstParty: r.FirstParty,
			ThirdPartyPublic: r.ThirdPartyPublic, ThirdPartyPrivate: r.ThirdPartyPrivate, Untrusted: r.Untrusted,
		})
	}
	return "", nil // the timeline is no part of a system message
}

// renderHistory makes the leading system message, the timeline, and the trailing system message; if
// the order has no timeline, only the first (PRO-2, PRO-3).
func renderHistory(ctx context.Context, of History) (*Prompt, error) {
	leading, trailing := of.Order, []Bucket(nil)
	at := slices.Index(of.Order, Timeline)
	if at >= 0 {
		leading, trailing = of.Order[:at], of.Order[at+1:]
	}
	v := of.View
	p := &Prompt{Messages: make([]Message, 0, 2+len(v.Messages)+len(v.Thoughts)+2*len(v.ToolCalls))} // the greatest number
	if err := of.system(ctx, p, v.SystemPrompt, leading); err != nil {
		return nil, err
	}
	if at < 0 {
		return p, nil
	}
	events, err := of.timeline(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if err := of.add(ctx, p, e); err != nil {
			return nil, err
		}
	}
	if err := of.system(ctx, p, "", trailing); err != nil {
		return nil, err
	}
	return p, nil
}

// system adds a system message, unless it is empty.
func (of History) system(ctx context.Context, p *Prompt, prompt string, order []Bucket) error {
	text, err := of.Renderers.SystemMessage(ctx, SystemMessage{Prompt: prompt, Order: order, View: of.View, Renderers: of.Renderers})
	if err == nil && text != "" {
		p.Messages = append(p.Messages, Message{Role: RoleSystem, Content: Content{Text: text}})
	}
	return err
}

// event is a record of the timeline: a message, a thought or a tool call.
type event interface{ CreatedAt() time.Time }

// timeline returns messages, thoughts and tool calls by creation time. Of equal times, messages
// come first, then thoughts, then tool calls, each in their own order (PRO-4).
func (of History) timeline(ctx context.Context) ([]event, error) {
	thoughts, err := of.Renderers.Thoughts(ctx, of.View.Thoughts, of.Thoughts)
	if err != nil {
		return nil, err
	}
	events := make([]event, 0, len(of.View.Messages)+len(thoughts)+len(of.View.ToolCalls))
	for _, m := range of.View.Messages {
		events = append(events, m)
	}
	for _, t := range thoughts {
		events = append(events, t)
	}
	for _, c := range of.View.ToolCalls {
		events = append(events, c)
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.CreatedAt().Compare(b.CreatedAt()) })
	return events, nil
}

// add adds the messages that show an event.
func (of History) add(ctx context.Context, p *Prompt, e event) error {
	switch e := e.(type) {
	case *adk.Message:
		return of.message(ctx, p, e)
	case *adk.Thought:
		return of.thought(ctx, p, e)
	case *adk.ToolCall:
		return of.toolCall(ctx, p, e)
	}
	panic(fmt.Sprintf("prompt: a %T on the timeline", e))
}

func (of History) message(ctx context.Context, p *Prompt, m *adk.Message) error {
	message, err := of.Renderers.Message(ctx, m, of.Setting)
	if err == nil {
		p.Messages = append(p.Messages, message)
	}
	return err
}

// thought adds a thought. The payload of an opaque one goes into p.Opaque, for its provider (IDN-6,
// IDN-7).
func (of History) thought(ctx context.Context, p *Prompt, t *adk.Thought) error {
	identifier := identifierOf(t.Identity())
	about := envelope.Thought{
		Speaker: envelope.Speaker{Nonce: t.ID(), From: speakerOf(t.Identity()), CreatedAt: t.CreatedAt()},
		Kind:    envelope.OwnThought,
	}
	message := Message{Role: RoleAssistant}
	if identifier != of.Thoughts.Self {
		about.Kind, message.Name = envelope.PeerThought, cleanName(identifier)
	}
	text, payload := "", t.Payload()
	if payload != nil {
		about.Kind, about.ReplayCompatibility = envelope.OpaqueThought, t.ReplayCompatibility()
	} else {
		text = t.Content().String()
	}
	var err error
	if message.Content.Text, err = of.Renderers.Thought(ctx, text, about, payload); err != nil {
		return err
	}
	p.Messages = append(p.Messages, message)
	if payload != nil {
		p.Opaque = append(p.Opaque, OpaqueThought{t.ID(), t.ReplayCompatibility(), payload})
	}
	return nil
}

// toolCall adds the two messages of a call: the request and the result (PRO-6).
func (of History) toolCall(ctx context.Context, p *Prompt, call *adk.ToolCall) error {
	tool, name := of.View.tool(call.Tool()), call.Tool()
	if tool == nil {
		name = cleanName(name) // the model invented the name, and its provider may refuse it
	}
	content, rendered := of.Results[call.ID()]
	if !rendered {
		var err error
		content, err = of.Renderers.ToolResult(ctx, call, tool, of.Setting)
		if err != nil {
			return err
		}
	}
	args, err := canonical.Marshal(call.Args())
	if err != nil {
		return err // cannot happen: the record's checksum was made from this text
	}
	p.Messages = append(p.Messages,
		Message{Role: RoleAssistant, Call: &Call{ID: call.ID(), Tool: name, Args: string(args)}},
		Message{Role: RoleTool, CallID: call.ID(), Content: content})
	return nil
}

// renderMessage makes a message of the timeline. It is in an envelope, unless the agent itself said
// it (IDN-2); its attachments follow the text (PRO-7).
func renderMessage(ctx context.Context, m *adk.Message, with Setting) (Message, error) {
	identifier := identifierOf(m.Identity())
	message := Message{Role: Role(m.Role()), Name: cleanName(identifier)}
	text := ""
	if m.Content() != nil {
		by := envelope.Speaker{Nonce: m.ID(), From: speakerOf(m.Identity()), CreatedAt: m.CreatedAt()}
		var err error
		switch {
		case m.Role() == adk.RoleUser:
			text, err = envelope.UserMessage(m.Content().String(), by)
		case identifier == with.Self:
			text = envelope.OwnMessage(m.Content().String())
		default:
			text, err = envelope.PeerMessage(m.Content().String(), by)
		}
		if err != nil {
			return Message{}, err
		}
	}
	attachments := m.Attachments()
	if len(attachments) == 0 {
		message.Content.Text = text
		return message, nil
	}
	var blocks []Block
	if text != "" {
		blocks = []Block{{Text: text}}
	}
	for _, media := range attachments {
		more, err := with.attachment(ctx, media, m.ID())
		if err != nil {
			return Message{}, err
		}
		blocks = append(blocks, more...)
	}
	message.Content.Blocks = blocks
	return message, nil
}

// identifierOf returns the application's identifier of somebody, as text (IDN-2).
func identifierOf(identity adk.Identity) string {
	switch identifier := identity.Identifier().(type) {
	case string:
		return identifier
	case int64:
		return strconv.FormatInt(identifier, 10)
	}
	return ""
}

// speakerOf returns the name that a model reads for a speaker (IDN-1).
func speakerOf(identity adk.Identity) string {
	if name := identity.Representation(); name != nil && name.String() != "" {
		return name.String()
	}
	return identifierOf(identity)
}

// cleanName turns an identifier into a message's name (IDN-1).
func cleanName(identifier string) string {
	const most = 64
	name := make([]byte, 0, min(len(identifier), most))
	for _, c := range identifier {
		if len(name) == most {
			break
		}
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
			name = append(name, byte(c))
		default:
			name = append(name, '_')
		}
	}
	if len(name) == 0 {
		return "_"
	}
	return string(name)
}

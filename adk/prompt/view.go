package prompt

import (
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// View is what a prompt is made from: the records of one context, in the order of its sets.
type View struct {
	// SystemPrompt may be empty.
	SystemPrompt string
	Instructions []string
	Memories     []*adk.Memory
	Retrievables []*adk.Retrievable
	Messages     []*adk.Message
	Thoughts     []*adk.Thought
	ToolCalls    []*adk.ToolCall
	// Tools says which tools are trusted, including those forged for this prompt; nil has no tools.
	Tools Tools
}

// Tools are the tools of a context, such as *adk.Registry and adk.ToolSet.
type Tools interface {
	Get(name string) (*adk.Tool, bool)
}

// ViewOf returns what a handle sees now, with its own tools.
func ViewOf(h adk.Handle) View {
	view := View{
		Memories: h.Memories().All(), Retrievables: h.Retrievables().All(), Messages: h.Messages().All(),
		Thoughts: h.Thoughts().All(), ToolCalls: h.ToolCalls().All(), Tools: h.Tools(),
	}
	if prompt := h.SystemPrompt(); prompt != nil {
		view.SystemPrompt = prompt.String()
	}
	for _, text := range h.Instructions().All() {
		view.Instructions = append(view.Instructions, text.String())
	}
	return view
}

// tool returns the tool with a name, or nil.
func (v View) tool(name string) *adk.Tool {
	if v.Tools == nil {
		return nil
	}
	tool, found := v.Tools.Get(name)
	if !found {
		return nil
	}
	return tool
}

// After returns now, or, if now is not later than every message, thought and tool call of the view,
// the first moment after them. It is the time for a record that has to come last on the timeline,
// even if the clock stands still (PRO-5).
func (v View) After(now time.Time) time.Time {
	behind := func(at time.Time) {
		if !at.Before(now) {
			now = at.Add(time.Nanosecond)
		}
	}
	for _, m := range v.Messages {
		behind(m.CreatedAt())
	}
	for _, t := range v.Thoughts {
		behind(t.CreatedAt())
	}
	for _, c := range v.ToolCalls {
		behind(c.CreatedAt())
	}
	return now
}

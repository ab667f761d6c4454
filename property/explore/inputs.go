package explore

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property/internal/oddtext"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file has a turn begin with another conversation than the one that the subject's
// storage has: what is right for five messages may be wrong for six. Nothing of the
// storage changes; it is what the messages' fetch gives that does, and messages that are
// not the storage's own live beside it for as long as the run.

// The other conversations that are tried: so many messages more.
var (
	olderMessages = []int{1, 2, 3, 5, 8, 20}
	newerMessages = []int{1, 2, 3, 4, 5, 8, 20}
)

// history is the conversation of a run, as its storage gives it.
type history struct {
	input  turn.Input
	plain  bool // what is said oddly is said plainly
	prompt bool // the turn has a system prompt

	mu     sync.Mutex
	size   int            // of the first conversation that was fetched, as the storage had it
	own    bool           // its newest message is the user's
	newest string         // the id of that one
	more   []*adk.Message // that there are, beside the storage's
	left   map[string]bool
}

// prompted is the system prompt of the run, of what it is usually.
func (h *history) prompted(usual string) string {
	h.prompt = usual != ""
	switch {
	case !h.prompt || h.input.Kind != turn.OddPrompt:
		return usual
	case h.plain:
		return usual + "\n" + oddtext.Plain
	}
	return usual + "\n" + oddtext.Prompts[h.input.Messages-1]
}

// others are what else the turn of this run can begin with.
func (h *history) others() (all []turn.Input) {
	if h.size > 0 {
		all = h.conversations()
	}
	for n := range oddtext.Prompts {
		if h.prompt {
			all = append(all, turn.Input{Kind: turn.OddPrompt, Messages: n + 1})
		}
	}
	return all
}

func (h *history) conversations() (all []turn.Input) {
	for _, n := range olderMessages {
		all = append(all, turn.Input{Kind: turn.Older, Messages: n})
	}
	for _, n := range newerMessages {
		all = append(all, turn.Input{Kind: turn.Newer, Messages: n})
	}
	if h.size > 1 && h.own {
		all = append(all, turn.Input{Kind: turn.Newest, Messages: 1})
	}
	for n := range oddtext.Said {
		if h.own {
			all = append(all, turn.Input{Kind: turn.Said, Messages: n + 1})
		}
	}
	return all
}

// mostMessages is how many messages more a conversation may have.
const mostMessages = 1000

// allows reports whether the turn of this run can begin with a conversation.
func (h *history) allows(i turn.Input) bool {
	switch i.Kind {
	case turn.Newest:
		return i.Messages < h.size
	case turn.Said:
		return h.own && i.Messages <= len(oddtext.Said)
	case turn.OddPrompt:
		return h.prompt && i.Messages <= len(oddtext.Prompts)
	}
	return h.size > 0 && i.Messages <= mostMessages
}

// why says why a turn cannot begin with a conversation.
func (h *history) why(i turn.Input) string {
	if i.Kind == turn.OddPrompt {
		return fmt.Sprintf("the turn has no system prompt, or there are %d odd ones", len(oddtext.Prompts))
	}
	if h.size == 0 {
		return "the storage gives no messages"
	}
	if i.Kind == turn.Said {
		return fmt.Sprintf("the newest message is not the user's, or there are %d odd things to say", len(oddtext.Said))
	}
	return fmt.Sprintf("the storage gives %s", inWords(h.size, "message"))
}

// give is what a fetch gives of what the storage has.
func (h *history) give(fetched []*adk.Message) []*adk.Message {
	if len(fetched) == 0 {
		return fetched
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.size == 0 {
		h.begin(fetched)
	}
	if h.input.IsZero() {
		return fetched
	}
	fetched = slices.DeleteFunc(slices.Clone(fetched), func(m *adk.Message) bool { return h.left[m.Key()] })
	if h.input.Kind == turn.Said {
		h.sayOddly(fetched)
	}
	at := 0
	if h.input.Kind == turn.Newer {
		at = max(0, slices.IndexFunc(fetched, func(m *adk.Message) bool { return m.Key() == h.newest }))
	}
	for i, m := range h.more {
		fetched = slices.Insert(fetched, at+i, m)
	}
	return fetched
}

// begin makes the conversation of the first that the storage gives. mu is held.
func (h *history) begin(fetched []*adk.Message) {
	oldest, newest := fetched[0], fetched[len(fetched)-1]
	if oldest == nil || newest == nil {
		return
	}
	h.size, h.own, h.newest = len(fetched), newest.Role() == adk.RoleUser, newest.ID()
	n := h.input.Messages
	switch h.input.Kind {
	case turn.Older:
		for i := range n {
			h.add(i, (n-i)%2 == 0 == (oldest.Role() == adk.RoleUser), oldest.CreatedAt().Add(time.Duration(i-n)*time.Second))
		}
	case turn.Newer:
		for i := range n {
			h.add(i, i%2 == 0 == (newest.Role() == adk.RoleUser), newest.CreatedAt())
		}
	case turn.Newest:
		h.left = map[string]bool{}
		for _, r := range fetched[:max(0, len(fetched)-n)] {
			h.left[r.Key()] = true
		}
	}
}

// sayOddly has the newest message of those fetched say something odd.
func (h *history) sayOddly(fetched []*adk.Message) {
	at := slices.IndexFunc(fetched, func(m *adk.Message) bool { return m.Key() == h.newest })
	if at < 0 {
		return
	}
	init, odd := fetched[at].Init(), oddtext.Said[h.input.Messages-1]
	if h.plain {
		odd = oddtext.Plain
	}
	if init.Content = odd + "\n" + init.Content; odd == "" {
		init.Content = "\n" // a message without a letter has an attachment
	}
	if said, err := adk.NewMessage(init); err == nil { // who changed the storage's message may have made one that is none
		fetched[at] = said
	}
}

// add adds the next message that is not the storage's.
func (h *history) add(i int, user bool, at time.Time) {
	role := adk.RoleAssistant
	if user {
		role = adk.RoleUser
	}
	m, err := adk.NewMessage(adk.MessageInit{ID: fmt.Sprintf("%s-m%d", explorer, i+1), Role: role,
		Content: oddtext.Messages[i%len(oddtext.Messages)], CreatedAt: at, UpdatedAt: at})
	if err != nil {
		panic(err) // none of it is user code's
	}
	h.more = append(h.more, m)
}

// writeOwn makes a write of a message that is not the storage's, and reports whether it is of
// one. Without a record the message is deleted.
func (h *history) writeOwn(record *adk.Message, key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.IndexFunc(h.more, func(m *adk.Message) bool { return m.ID() == key })
	if at < 0 {
		return false
	}
	if record != nil {
		h.more[at] = record
	} else {
		h.more = slices.Delete(h.more, at, at+1)
	}
	return true
}

// longestSaid is how much of an odd text is shown, in characters.
const longestSaid = 60

// inputText says with which conversation a turn begins.
func inputText(i turn.Input) string {
	text := i.String() + ": the turn begins with "
	switch i.Kind {
	case turn.Older:
		return text + inWords(i.Messages, "older message") + " before those that the storage has"
	case turn.Newer:
		return text + inWords(i.Messages, "message") + " more, just before the newest one"
	case turn.Newest:
		return text + "the newest " + inWords(i.Messages, "message") + " alone"
	case turn.OddPrompt:
		return text + "a system prompt that says " + safetext.Said(oddtext.Prompts[i.Messages-1], longestSaid) + " behind what it says"
	case turn.Said:
		if odd := oddtext.Said[i.Messages-1]; odd != "" {
			return text + "a message in which the user says " + safetext.Said(odd, longestSaid) + " before it"
		}
		return text + "a message in which the user says nothing"
	}
	return text + "what the storage has"
}

// inputs are the schedules that begin with other conversations.
func (e *exploring) inputs() (all []candidate) {
	for _, input := range e.others {
		all = append(all, candidate{input: input, from: 1, cost: 1})
	}
	return all
}

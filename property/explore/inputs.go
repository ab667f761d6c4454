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

// This file makes a turn begin with another conversation than the one in the subject's storage:
// what is right for five messages may be wrong for six. The storage itself does not change; only
// what fetches of messages return does. Messages that are not the storage's are kept apart for the
// time of the run.

// The other conversations that are tried, by the number of additional messages.
var (
	olderMessages = []int{1, 2, 3, 5, 8, 20}
	newerMessages = []int{1, 2, 3, 4, 5, 8, 20}
)

// history is the conversation of a run, as its storage returns it.
type history struct {
	input  turn.Input
	plain  bool // odd texts are replaced by plain ones
	prompt bool // the turn has a system prompt

	mu     sync.Mutex
	size   int            // size of the conversation that was fetched first, as the storage had it
	own    bool           // its newest message is the user's
	newest string         // the id of its newest message
	more   []*adk.Message // additional messages, not in the storage
	left   map[string]bool
}

// prompted returns the system prompt of the run, given the usual one.
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

// others returns the other inputs with which the turn of this run can begin.
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

// mostMessages is the largest number of additional messages of a conversation.
const mostMessages = 1000

// allows reports whether the turn of this run can begin with an input.
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

// why says why a turn cannot begin with an input.
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

// give returns what a fetch returns, given what the storage returned.
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

// begin makes the conversation from the first messages that the storage returns. mu is held.
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

// sayOddly puts an odd text into the newest of the fetched messages.
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
		init.Content = "\n" // a message without a letter must have an attachment
	}
	if said, err := adk.NewMessage(init); err == nil { // the message may be invalid if the subject changed it
		fetched[at] = said
	}
}

// add adds the next message that is not in the storage.
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

// writeOwn writes a message that is not in the storage, and reports whether key belongs to such a
// message. A nil record deletes the message.
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

// longestSaid is how many characters of an odd text are shown.
const longestSaid = 60

// inputText describes the conversation with which a turn begins.
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

// inputs returns the schedules that begin with other conversations.
func (e *exploring) inputs() (all []candidate) {
	for _, input := range e.others {
		all = append(all, candidate{input: input, from: 1, cost: 1})
	}
	return all
}

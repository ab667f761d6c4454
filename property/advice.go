package property

import (
	"fmt"
	"iter"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
)

// Advice describes something that is legal in a turn but probably a mistake. It breaks no
// invariant.
type Advice struct {
	// Name is the name that hints use.
	Name string
	// Why says what harm may follow, and Do how to avoid it.
	Why, Do string

	watch maker
}

// Hint is one place in a turn that an advice is about.
type Hint struct {
	// Advice is the name of the advice.
	Advice string `json:"advice"`
	// Crossing is the number, from 1, of the crossing that shows it.
	Crossing int `json:"crossing"`
	// Seam is the path of the seam call to which the crossing belongs.
	Seam string `json:"seam"`
	// Text says in a sentence what was seen.
	Text string `json:"text"`
	// Related are the numbers of the earlier crossings that explain the hint.
	Related []int `json:"related,omitempty"`
}

// advices lists all advice.
var advices = []Advice{
	{"reported-not-stored", "The reader saw it, and the next turn does not know of it.",
		"Store a record of it in the dispatch, under the id of the stream.", made[reportedNotStored]},
	{"stream-never-sealed", "Listeners wait for the rest: a cursor blinks for ever, a buffer is never flushed.",
		"Report the last delta, or an empty one, as complete.", made[streamNeverSealed]},
	{"sets-never-hydrated", "The engine fetches nothing by itself, so the model is asked without the conversation.",
		"Fetch the messages in the turn input, and add them to the set.", made[setsNeverHydrated]},
	{"gate-without-timeout", "If nobody answers, the turn and all that it holds wait for ever.",
		"Give the gate a timeout, and decide what it means.", made[gateWithoutTimeout]},
	{"unbounded-loop", "The engine has no bound of its own: a model that never stops is paid for ever.",
		"Put a middleware into the dispatch input that nacks after so many iterations.", made[unboundedLoop]},
	{"tool-in-output", "What the tool does outside is done twice, behind the answer that the model has given.",
		"Take the result from the stored tool call, or keep it in the stash.", made[toolInOutput]},
	{"forged-unbound", "An ephemeral tool stays when the dispatch is acked: only a bound registry prunes it.",
		"Bind the dispatch's tools where the tool is registered, or prune them.", made[forgedUnbound]},
	{"repeated-call", "The model goes in a circle: it has this answer already, and pays for it again.",
		"Ask ToolCallCount before executing, and tell the model what it was told.", made[repeatedCall]},
	{"blind-post-step", "Next gives nothing back, so that a post-step which writes does so for failures as well.",
		"Ask the context, or what the downstream left in it, whether there is something to write about.", made[blindPostStep]},
	{"plain-goroutines", "The engine neither contains their panics nor waits for them, and which of two came first at a moment no replay knows.",
		"Use Fork: the strand has a handle of its own, and the seam call waits for it.", made[plainGoroutines]},
	{"outside-time", "A replay cannot give this time back, and so the record is another one on every run.",
		"Take the time from the context's Now.", made[outsideTime]},
	{"outside-id", "A replay cannot give this id back, and so the record is another one on every run.",
		"Take the id from the context's NewID.", made[outsideID]},
	{"unseen-ask", "A replay cannot answer it, and nobody sees what the model is asked.",
		"Give the client a transport of adkhttp, or ask with Ask.", made[unseenAsk]},
	{"repeated-ask", "It is paid for twice, and a model that is asked the same goes in a circle.",
		"Keep the answer, or put what came of it into what is asked next.", made[repeatedAsk]},
	{"unclosed-answer", "Its connection is held to the end of the turn and closed then, so that the next request has to make one.",
		"Close the body of every answer, also of one that is not read.", made[unclosedAnswer]},
	{"refused-conversation", "Providers refuse it, and every later request has it again.",
		"Drop a call together with its result, and answer each call that is kept.", made[refusedConversation]},
	{"secret-in-ask", "Whoever is asked keeps it, and so does every trace.",
		"Leave it out of what is asked, and redact what is recorded.", made[secretInAsk]},
	{"secret-told", "Whoever reads it has it, and so has the model in every later turn.",
		"Say in words of your own what failed, and keep the error for the log.", made[secretTold]},
	{"raised-trust", "The model takes it for the developers' own word, and follows what others have written into it.",
		"Give it the tier of where it came from, and keep it out of the standing instructions.", made[raisedTrust]},
	{"needless-trust", "The model takes all that it returns for the developers' own word, also what others have written.",
		"Leave the tool untrusted, unless the developers write every word that it returns.", made[needlessTrust]},
	{"refused-tool", "Providers refuse every request that offers it, whatever else is asked.",
		"Name it with letters, digits, _ and -, and say what the arguments are under \"properties\".", made[refusedTool]},
	{"id-of-content", "An id closes the envelope of its record: who writes the text knows how to end it.",
		"Take the id from the context's NewID, or from who made the record.", made[idOfContent]},
	{"uncounted-budget", "What does not fit is found out by the provider, who refuses the turn.",
		"Set the encoding together with the window, or shed with a budget.", made[uncountedBudget]},
	{"empty-answer", "The dispatch ends as after an answer, and the user waits for one that never comes.",
		"Ask again in the dispatch output pipeline, or nack there, and look at what the provider sent.", made[emptyAnswer]},
	{"panic", "The engine makes an error of it, so that a turn whose code is wrong ends like one that was refused.",
		"Mend the code; what may fail gives an error.", made[panics]},
	{"contained-failure", "The failure was kept from the turn, and nobody but the trace knows of it.",
		"Mend the listener, the handler or the late use of a handle.", made[containedFailure]},
}

// AllAdvice returns all advice, in the order in which it is checked.
func AllAdvice() []Advice { return slices.Clone(advices) }

// Hints looks for what is legal in a turn but probably a mistake, and returns it in the order of
// the crossings. It sees the crossings but not the code, and gives no hint where it cannot tell;
// the comment of each advice says when. info is what the probe's Observe received for the run.
func Hints(info adk.RunInfo, crossings iter.Seq[*adk.Crossing]) []Hint {
	s := newStory(info)
	s.watchers = nil
	s.advised()
	for x := range crossings {
		s.tell(x)
	}
	s.end()
	return s.hintsInOrder()
}

// advised makes the history look for hints.
func (s *history) advised() {
	for _, advice := range advices {
		s.advisers = append(s.advisers, advice.watch(nil))
	}
}

// hintsInOrder returns the hints in the order of their crossings.
func (s *history) hintsInOrder() []Hint {
	slices.SortStableFunc(s.hinted, func(a, b Hint) int { return a.Crossing - b.Crossing })
	return s.hinted
}

// hint reports that the present advice applies to a crossing.
func (s *history) hint(n int, at *seamCall, related []int, format string, args ...any) {
	h := Hint{Advice: advices[s.present].Name, Crossing: n, Text: safetext.Line(fmt.Sprintf(format, args...)), Related: earlier(n, related)}
	if at.known() {
		h.Seam = safetext.Line(at.seam.String())
	}
	s.hinted = append(s.hinted, h)
}

// String says in a few lines what was seen, where, why it matters and what to do.
func (h Hint) String() string {
	text := fmt.Sprintf("%s at crossing %d, in %s: %s", h.Advice, h.Crossing, h.Seam, h.Text)
	for _, advice := range advices {
		if advice.Name == h.Advice {
			text += "\n" + advice.Why + " " + advice.Do
		}
	}
	return text
}

package calls

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Tree is a whole run as the tree of its seam calls.
type Tree struct {
	Info    adk.RunInfo
	Lines   []*adk.Crossing // all of them, in order; crossing n is at n-1
	Calls   map[int]*Call
	Root    *Call          // nil if there are no crossings
	Strands map[int]string // the paths of strands, by their numbers
	Opens   map[int]*Step  // the openings of media, by the numbers of their operations
	Media   *wire.Openings // what the openings gave; nil if the run is not replayed
	// Order gives, for each crossing number, the position in which the strands take their steps
	// when the run is replayed. It does not change the order of what strands share, which stays as
	// recorded. Order is nil if the strands run freely.
	Order []int
	// Mixed says that goroutines which live code started made crossings. Order may then also
	// reorder the crossings of a single strand.
	Mixed bool
	// Cancels are cancellations that were not recorded. A replay makes each one after the crossing
	// with its number.
	Cancels []*adk.Crossing
	// Cut says that the recording was cut short, or cannot be read to its end, so that the rest of
	// the run is not known.
	Cut     bool
	version int // the version of the format that the run was recorded in
}

// Call is one call of a seam.
type Call struct {
	Begin  *adk.Crossing
	Return *adk.Crossing // nil if the run ends before the call returns
	Parent *Call         // the caller; nil for the run
	Owner  *Call         // the nearest run or dispatch above; nil for the run
	Strand string        // the path of its strand
	// Steps are what happened in the call, in order: operations, the calls below it, events and
	// facts. Middlewares are steps of their run or dispatch, and not of the middleware around them,
	// so that adding or removing one middleware moves no other.
	Steps []*Step
	// Script is what the call's user code did, in order: its operations, including those through a
	// handle that was passed on to it.
	Script []*Step

	forks map[string]int // how often each name of a strand was used
}

// Step is one thing that happened in a call.
type Step struct {
	In   *Call
	X    *adk.Crossing // the line; the first line of a spanning operation, or the call line of a call
	Done *adk.Crossing // the second line of a spanning operation
	// Call is set if the step is a call of a seam below.
	Call *Call
	// For an operation: the seam calls that it led to, and its events and facts.
	Calls []*Call
	Notes []*adk.Crossing

	rare *rare // nil for most steps; nearly every crossing has a step, so steps must be small
}

// rare holds the fields that few steps need.
type rare struct {
	script []*Step
	waits  string
	beside bool
}

// Script returns what the reader of an opened media did, in order.
func (s *Step) Script() []*Step {
	if s.rare == nil {
		return nil
	}
	return s.rare.script
}

// IsBesideOthers reports whether another operation of the same call and strand was open at the same
// time. That happens if user code starts goroutines.
func (s *Step) IsBesideOthers() bool { return s.rare != nil && s.rare.beside }

// Failed reports whether an operation ended with an error, for example a sleep whose context ended.
// It is false for a nil step.
func (s *Step) Failed() bool { return s != nil && s.Done != nil && s.Done.Err != nil }

// MadeBefore returns the earlier steps of the same call that made an id for later use.
func (s *Step) MadeBefore() (made []*Step) {
	for _, other := range s.In.Steps {
		if other.X.Seq < s.X.Seq && wire.OnlyMakes(other.X) && wire.MadeID(other.X) != "" {
			made = append(made, other)
		}
	}
	return made
}

// KeyOf returns the key of the first crossing in the call that has the kind and the name of x and a
// key. For example, a tool call is reported in pieces under one id, and only the first piece names
// the tool. KeyOf returns "" if no such crossing has a key.
func (c *Call) KeyOf(x *adk.Crossing) string {
	if x == nil {
		return ""
	}
	for _, s := range c.Steps {
		if s.X.Kind == x.Kind && s.X.Name == x.Name && s.X.Key != "" {
			return s.X.Key
		}
	}
	return ""
}

// Waits returns the path of the strand that a step waits for, or "" if it waits for none.
func (s *Step) Waits() string {
	if s.rare == nil {
		return ""
	}
	return s.rare.waits
}

// Crossings returns pointers to the crossings in lines.
func Crossings(lines []trace.Line) []*adk.Crossing {
	all := make([]*adk.Crossing, len(lines))
	for i := range lines {
		all[i] = &lines[i].Crossing
	}
	return all
}

// Durations returns how long the operations of a run wait, by their numbers.
func Durations(lines []*adk.Crossing) map[int]time.Duration {
	all := map[int]time.Duration{}
	for _, x := range lines {
		if x.Phase == adk.Begin && x.Kind.Uses(adk.FieldDuration) {
			all[x.Op] = x.Duration
		}
	}
	return all
}

// New returns the tree of a run that was recorded in a version of the format, or that is compared
// with such a run.
func New(version int, info adk.RunInfo, lines []trace.Line) *Tree {
	return NewOf(version, info, Crossings(lines))
}

// NewOf is like New, for crossings that need not be adjacent in memory. The tree keeps the slice.
func NewOf(version int, info adk.RunInfo, crossings []*adk.Crossing) *Tree {
	t := &Tree{Info: info, Lines: crossings, version: version, Calls: map[int]*Call{}, Strands: map[int]string{0: ""}, Opens: map[int]*Step{}}
	b := treeBuilder{Tree: t, ops: map[int]*Step{}, open: map[*Call][]*Step{}, gates: map[string]*Step{}, forks: map[int]*Step{}, stacks: map[int][]*Call{}}
	for _, x := range crossings {
		b.add(x)
	}
	return t
}

// Of returns the tree of a trace that is to be replayed. The tree has what the openings of media
// gave.
func Of(recorded *trace.Trace) *Tree {
	t := New(recorded.Version, recorded.Info, recorded.Lines())
	t.Media = recorded.Openings()
	return t
}

// Version returns the version of the format that the run was recorded in, or that it is compared
// in.
func (t *Tree) Version() int { return t.version }

// Last returns the last line of a step. For a middleware that is its call line, because what
// follows in its pipeline begins inside it.
func (s *Step) Last() *adk.Crossing {
	switch {
	case s.Done != nil:
		return s.Done
	case s.Call != nil && s.Call.Return != nil && !wire.IsPipeline(s.X.Seam):
		return s.Call.Return
	}
	return s.X
}

// SeamOf returns the seam of the call that a crossing belongs to.
func (t *Tree) SeamOf(x *adk.Crossing) adk.Seam {
	if c := t.Calls[wire.CallOf(x)]; c != nil {
		return c.Begin.Seam
	}
	return x.Seam
}

// inCalledDispatch reports whether c is a call of a middleware or an executor of a dispatch that
// user code called, and not of the turn's own dispatch.
func (c *Call) inCalledDispatch() bool {
	return (wire.IsPipeline(c.Begin.Seam) || c.Begin.Seam.Label == adk.LabelExecutor) && c.Owner.Called()
}

// Called reports whether user code called c, a run or dispatch.
func (c *Call) Called() bool {
	return c != nil && c.Parent != nil && !wire.ByEngine(c.Parent.Begin.Seam)
}

// IsOf reports whether c is a call of a chosen seam. Middlewares and executors of a dispatch that
// user code called do not count: they belong to that code.
func (c *Call) IsOf(chosen func(adk.Seam) bool) bool {
	return !wire.ByEngine(c.Begin.Seam) && !c.inCalledDispatch() && chosen(c.Begin.Seam)
}

// IsUnder reports whether c is a call of a chosen seam, or of code that a call of such a seam
// supplied.
func (c *Call) IsUnder(chosen func(adk.Seam) bool) bool {
	for c != nil && !c.IsOf(chosen) {
		c = c.broughtBy()
	}
	return c != nil
}

// Choice answers IsUnder for all calls of a run. It examines each call once, however deeply they
// are nested. It is not safe for concurrent use.
type Choice struct {
	chosen func(adk.Seam) bool
	known  map[*Call]bool
}

// NewChoice returns a Choice of the seams for which chosen returns true.
func NewChoice(chosen func(adk.Seam) bool) *Choice { return &Choice{chosen, map[*Call]bool{}} }

// Takes reports whether c is under a chosen seam, as IsUnder does.
func (o *Choice) Takes(c *Call) bool {
	if c == nil {
		return false
	}
	takes, known := o.known[c]
	if !known {
		takes = c.IsOf(o.chosen) || o.Takes(c.broughtBy())
		o.known[c] = takes
	}
	return takes
}

// broughtBy returns the call whose code supplied the code of c: the code of a strand, for example,
// comes from the call that forked it. It returns nil if c is a call of a seam of its own.
func (c *Call) broughtBy() *Call {
	switch label := c.Begin.Seam.Label; {
	case label == adk.LabelStrand || label == adk.LabelOnAck || label == adk.LabelDispatch:
		return c.Parent
	case c.inCalledDispatch():
		return c.Owner
	}
	return nil
}

// StateBefore returns the last state crossing before an executor's call, within the same caller.
func (t *Tree) StateBefore(call *adk.Crossing) *adk.Crossing {
	for _, x := range slices.Backward(t.Lines[:call.Seq-1]) {
		if wire.TellsState(x) && x.Call == call.Call {
			return x
		}
	}
	return nil
}

// CancelsBefore reports whether the run was cancelled before the crossing with number seq.
func (t *Tree) CancelsBefore(seq int) bool {
	return slices.ContainsFunc(t.Lines[:seq-1], wire.IsCancel)
}

// treeBuilder builds a tree from the lines, one after the other.
type treeBuilder struct {
	*Tree
	ops    map[int]*Step            // the spanning operations that are open
	open   map[*Call][]*Step        // the latest of them by call, in the order in which they began
	spare  [][]*Step                // emptied slices for reuse in open
	reads  []*Step                  // the openings of media that are in progress
	ids    map[*adk.Crossing]string // cached ids of tool calls, see callID
	gates  map[string]*Step         // the waits for the gates that are open
	forks  map[int]*Step            // by strand
	stacks map[int][]*Call          // the open calls of user code, by strand
	room   []Step                   // memory for the next steps
}

func (b *treeBuilder) add(x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindCall:
		b.enter(x)
		return
	case x.Kind == adk.KindReturn:
		b.leave(x)
		return
	}
	c := b.Calls[x.Call]
	if c == nil {
		c = b.Root // a cancel may come before the run's call, and belongs to it
	}
	if c == nil {
		return
	}
	switch x.Kind.Class() {
	case adk.ClassOperation:
		b.operation(c, x)
	case adk.ClassEvent:
		b.event(c, x)
	default:
		b.fact(c, x)
	}
}

func (b *treeBuilder) enter(x *adk.Crossing) {
	parent := b.Calls[x.Call]
	c := &Call{Begin: x, Parent: parent, Strand: b.Strands[x.Strand]}
	b.Calls[x.ID] = c
	if parent == nil {
		b.Root = c
	} else {
		c.Owner = parent
		if !wire.ByEngine(parent.Begin.Seam) {
			c.Owner = parent.Owner
		}
		b.place(c)
	}
	if !wire.ByEngine(x.Seam) {
		b.stacks[x.Strand] = append(b.stacks[x.Strand], c)
	}
}

// place adds a call to its parent in the tree: the owner for a middleware, the operation that led
// to it if there is one, and the caller otherwise.
func (b *treeBuilder) place(c *Call) {
	s := b.step(c.Parent, c.Begin)
	s.Call = c
	switch label := c.Begin.Seam.Label; {
	case wire.IsPipeline(c.Begin.Seam) && c.Owner != nil: // in a damaged trace there may be none
		s.In = c.Owner
	case label == adk.LabelStrand:
		if fork := b.forks[c.Begin.Strand]; fork != nil {
			fork.Calls = append(fork.Calls, c)
			return
		}
	case wire.IsLedTo(c.Begin.Seam):
		if op := b.cause(c); op != nil {
			op.Calls = append(op.Calls, c)
			return
		}
	case label == adk.LabelDispatch && !wire.ByEngine(c.Parent.Begin.Seam):
		b.performed(s)
	}
	s.In.Steps = append(s.In.Steps, s)
}

// cause returns the open operation of the caller that led to a call. If goroutines began several,
// it is the one with the call's arguments.
func (b *treeBuilder) cause(c *Call) *Step {
	return explains(b.open[c.Parent], func(s *Step) bool {
		return s.X.Strand == c.Begin.Strand && LeadsTo(s.X, c.Begin)
	}, func(s *Step) bool {
		return len(s.Calls) == 0 && (!wire.RunsTool(s.X) || s.told(wire.ToolBegins) != nil) // the event is emitted before the handler is called
	}, func(s *Step) bool {
		if wire.RunsTool(s.X) {
			return b.haveOneID(s.X, c.Begin)
		}
		return HasArguments(s.X, c.Begin)
	})
}

// explains picks the step that a call or an event belongs to. Among the steps for which may is
// true, it prefers those that satisfy the hints in says, an earlier hint before a later one, and of
// the remaining ones it takes the last. It returns nil if may is true for none.
func explains(steps []*Step, may func(*Step) bool, says ...func(*Step) bool) (best *Step) {
	var room [4]*Step
	able := room[:0]
	for _, s := range steps {
		if may(s) {
			able = append(able, s)
		}
	}
	for _, is := range says {
		if len(able) < 2 {
			break
		}
		if some := slices.DeleteFunc(slices.Clone(able), func(s *Step) bool { return !is(s) }); len(some) > 0 {
			able = some
		}
	}
	if len(able) == 0 {
		return nil
	}
	return able[len(able)-1]
}

// LeadsTo reports whether an operation can lead to a call of a seam.
func LeadsTo(op, call *adk.Crossing) bool {
	label := op.Kind.LeadsTo()
	switch {
	case label != call.Seam.Label:
		return false
	case label == adk.LabelTool:
		return call.Seam.Name == safetext.ToolName(op.Record)
	case label == adk.LabelStorage:
		return call.Seam.Name == string(op.Collection)+"."+op.Kind.String()
	}
	return true
}

// HasArguments reports whether a call has the arguments of the operation op.
func HasArguments(op, call *adk.Crossing) bool {
	return op.Key == call.Key && (op.Record == nil || call.Record == nil || wire.SameRecord(op.Record, call.Record)) && sameArgs(op, call)
}

// AreEqual reports whether two operations that lead to calls do the same.
func AreEqual(a, b *adk.Crossing) bool {
	return a.Kind == b.Kind && a.Collection == b.Collection && a.Key == b.Key && wire.SameRecord(a.Record, b.Record) && sameArgs(a, b)
}

// sameArgs reports whether two crossings have the same arguments, whether given as data or as JSON
// text.
func sameArgs(a, b *adk.Crossing) bool {
	if a.Args == nil || b.Args == nil {
		return a.Args == nil && b.Args == nil
	}
	one, err := asObject(a.Args)
	other, otherErr := asObject(b.Args)
	return err == nil && otherErr == nil && plain.Equal(one, other)
}

func asObject(args any) (map[string]any, error) {
	if object, ok := args.(map[string]any); ok {
		return object, nil
	}
	return canonical.Object(args)
}

// step makes a step. It allocates many at a time.
func (b *treeBuilder) step(in *Call, x *adk.Crossing) *Step {
	if len(b.room) == 0 {
		b.room = make([]Step, min(stepsAtOnce, len(b.Lines)))
	}
	s := &b.room[0]
	b.room = b.room[1:]
	s.In, s.X = in, x
	return s
}

// stepsAtOnce is how many steps are allocated at a time.
const stepsAtOnce = 32

// performed adds a step to the script of the user code that made it. Usually that is the innermost
// open call of the strand, even if it uses the handle of a call above. If the handle belongs to an
// open call that the innermost one is not below, the step comes from a goroutine that user code
// started, and belongs to the handle's call. The same holds for a call of a dispatch through the
// handle of an open call further up.
func (b *treeBuilder) performed(s *Step) {
	stack := b.stacks[s.X.Strand]
	if len(stack) == 0 { // the handle belongs to a strand that has ended or never began
		if s.In != nil && !wire.ByEngine(s.In.Begin.Seam) {
			s.In.Script = append(s.In.Script, s)
		}
		return
	}
	by := stack[len(stack)-1]
	if own := b.Calls[s.X.Call]; own != by && slices.Contains(stack, own) && (wire.IsDispatched(s.X) || !by.isBelow(own)) {
		by = own
	}
	if open := b.reading(by); open != nil {
		if open.rare == nil {
			open.rare = &rare{}
		}
		open.rare.script = append(open.rare.script, s)
		return
	}
	by.Script = append(by.Script, s)
}

// isBelow reports whether a call was made within another one.
func (c *Call) isBelow(above *Call) bool {
	for c != nil && c != above {
		c = c.Parent
	}
	return c != nil
}

// reading returns the innermost opening of a media that is in progress and began within the call
// since. What happens in its strand is done by the reader.
func (b *treeBuilder) reading(since *Call) (innermost *Step) {
	for _, s := range b.reads {
		if s.X.Strand == since.Begin.Strand && s.X.Seq > since.Begin.Seq &&
			(innermost == nil || s.X.Seq > innermost.X.Seq) {
			innermost = s
		}
	}
	return innermost
}

func (b *treeBuilder) leave(x *adk.Crossing) {
	c := b.Calls[x.ID]
	if c == nil {
		return
	}
	c.Return = x
	delete(b.ids, c.Begin)
	stack := b.stacks[x.Strand]
	for i := len(stack) - 1; i >= 0; i-- {
		if stack[i] == c {
			b.stacks[x.Strand] = append(stack[:i:i], stack[i+1:]...)
			break
		}
	}
}

func (b *treeBuilder) operation(c *Call, x *adk.Crossing) {
	if wire.Awaits(x) && b.version < wire.VersionOfWait { // the event of the wait is recorded all the same
		return
	}
	if x.Phase == adk.Done {
		if s := b.ops[x.Op]; s != nil {
			b.ends(s, x)
			if wire.EndsAsk(x) {
				b.performed(b.step(c, x))
			}
		}
		return
	}
	s := b.step(c, x)
	c.Steps = append(c.Steps, s)
	b.performed(s)
	if x.Phase == adk.Begin {
		b.begins(s)
	}
	switch {
	case wire.OpensMedia(x):
		b.Opens[x.Op] = s
	case wire.AsksForGate(x):
		if b.gates[x.Name] == nil { // a second wait for the same id does not open (GAT-5)
			b.gates[x.Name] = s
		}
	case wire.Awaits(x):
		s.rare = &rare{waits: b.Strands[x.ID]}
	case wire.Forks(x):
		b.forks[x.ID] = s
		path := x.Name
		if above := c.Strand; above != "" {
			path = above + "/" + x.Name
		}
		if n := c.forks[x.Name]; n > 0 {
			path += "#" + strconv.Itoa(n)
		}
		if c.forks == nil {
			c.forks = map[string]int{}
		}
		c.forks[x.Name]++
		b.Strands[x.ID] = path
	}
}

// near is how many of the latest operations are searched for the cause of an event or a call.
const near = 32

func (b *treeBuilder) begins(s *Step) {
	b.ops[s.X.Op] = s
	if wire.OpensMedia(s.X) {
		b.reads = append(b.reads, s)
	}
	of, ok := b.open[s.In]
	if n := len(b.spare); !ok && n > 0 {
		of, b.spare = b.spare[n-1], b.spare[:n-1]
	}
	if len(of) == near {
		of = slices.Delete(of, 0, 1)
	}
	b.open[s.In] = append(of, s)
}

// besideOthers marks an operation that ends, and those open at that time, as made by several
// goroutines if one of them blocked its goroutine when the other began in the same strand.
func besideOthers(s *Step, open []*Step) {
	for _, other := range open {
		first, second := other, s
		if s.X.Seq < other.X.Seq {
			first, second = s, other
		}
		if other == s || first.X.Strand != second.X.Strand || !first.blocksUntil(second.X.Seq) {
			continue
		}
		for _, one := range []*Step{s, other} {
			if one.rare == nil {
				one.rare = &rare{}
			}
			one.rare.beside = true
		}
	}
}

// blocksUntil reports whether the goroutine that began an operation cannot have done anything else
// before the crossing seq. It can have if the operation leads to a call, or after the first piece
// of an answer, because then user code runs.
func (s *Step) blocksUntil(seq int) bool {
	return wire.IsPause(s.X) || s.IsAsk() && (len(s.Notes) == 0 || s.Notes[0].Seq > seq)
}

// ends ends an operation. If several are open at once, the trace does not say which of them an
// event or a call belongs to, so the one that ends may have been given the wrong ones; exchange
// corrects that.
func (b *treeBuilder) ends(s *Step, done *adk.Crossing) {
	s.Done = done
	delete(b.ops, done.Op)
	b.reads = state.Without(b.reads, s)
	of := b.open[s.In]
	besideOthers(s, of)
	if label := s.X.Kind.LeadsTo(); len(of) > 1 && (label == adk.LabelTool || label == adk.LabelStorage) {
		b.exchange(s, of)
	}
	delete(b.ids, s.X)
	at := slices.Index(of, s)
	if at < 0 {
		return // more than near operations began after it
	}
	if of = slices.Delete(of, at, at+1); len(of) > 0 {
		b.open[s.In] = of
		return
	}
	delete(b.open, s.In)
	b.spare = append(b.spare, of)
}

// exchange corrects an earlier guess: if the operation s cannot have ended as it did with the calls
// and events that it was given, s swaps them with an equal open operation that can have. If the
// tool of s returned but s lacks the event of the tool's end, s takes the event of another open
// operation whose tool returned.
func (b *treeBuilder) exchange(s *Step, open []*Step) {
	if !s.cameBack(s.Done) {
		for _, other := range open {
			if other != s && other.cameBack(s.Done) && b.areEqual(s, other) {
				s.Calls, other.Calls = other.Calls, s.Calls
				s.Notes, other.Notes = other.Notes, s.Notes
				break
			}
		}
	}
	if !wire.RunsTool(s.X) || !s.hasReturned() || s.told(wire.ToolEnds) != nil {
		return
	}
	for _, other := range open {
		if told := other.told(wire.ToolEnds); told != nil && other.hasReturned() {
			other.Notes = state.Without(other.Notes, told)
			s.Notes = append(s.Notes, told)
			return
		}
	}
}

// cameBack reports whether an operation that ended with the line done can have led to its calls:
// its call returned, and failed if and only if the operation did. An operation that led to no call
// must have failed.
func (s *Step) cameBack(done *adk.Crossing) bool {
	if len(s.Calls) == 0 {
		return done.Err != nil
	}
	return s.hasReturned() && s.hasFailed() == (done.Err != nil)
}

func (s *Step) hasReturned() bool { return len(s.Calls) > 0 && s.Calls[0].Return != nil }

func (s *Step) hasFailed() bool { return s.Calls[0].Return.Outcome != adk.OutcomeOK }

func (b *treeBuilder) areEqual(s, other *Step) bool {
	if wire.RunsTool(s.X) && wire.RunsTool(other.X) {
		return b.haveOneID(s.X, other.X)
	}
	return AreEqual(s.X, other.X)
}

func (b *treeBuilder) haveOneID(one, other *adk.Crossing) bool {
	id := b.callID(one)
	return id != "" && id == b.callID(other)
}

// callID returns the id of the tool call that an execution or a tool's call makes, or "" if its
// arguments are invalid. The id is cached, because the arguments may be long.
func (b *treeBuilder) callID(x *adk.Crossing) string {
	id, known := b.ids[x]
	if known {
		return id
	}
	tool := x.Seam.Name
	if wire.RunsTool(x) {
		tool = safetext.ToolName(x.Record)
	}
	if args, err := canonical.Object(x.Args); err == nil {
		id, _ = canonical.Checksum(tool, args)
	}
	if b.ids == nil {
		b.ids = map[*adk.Crossing]string{}
	}
	b.ids[x] = id
	return id
}

// caused are the kinds of events that operations cause. All others concern the engine's own course.
var caused = causedEvents()

func causedEvents() map[adk.Kind]bool {
	events := map[adk.Kind]bool{}
	for _, kind := range adk.Kinds() {
		for _, event := range kind.Causes() {
			events[event] = true
		}
	}
	return events
}

// event adds an event to the operation that caused it. That is the last operation of the strand,
// unless goroutines have begun several at once.
func (b *treeBuilder) event(c *Call, x *adk.Crossing) {
	if caused[x.Kind] {
		for i := len(c.Steps) - 1; i >= 0; i-- {
			s := c.Steps[i]
			if s.X.Kind.Class() != adk.ClassOperation || s.X.Strand != x.Strand {
				continue
			}
			if !s.causes(x) || len(b.open[c]) > 1 {
				s = cmp.Or(b.causeOf(x, c.Steps[:i+1]), s)
			}
			s.Notes = append(s.Notes, x)
			return
		}
	}
	c.Steps = append(c.Steps, b.step(c, x))
}

// causes reports whether an operation may cause an event and has not caused one of that kind yet.
func (s *Step) causes(x *adk.Crossing) bool {
	return s.X.Strand == x.Strand && slices.Contains(s.X.Kind.Causes(), x.Kind) &&
		s.told(func(told *adk.Crossing) bool { return told.Kind == x.Kind }) == nil
}

// told returns the first note of a step for which is returns true. It searches only the first few:
// a step of a valid run has no more.
func (s *Step) told(is func(*adk.Crossing) bool) *adk.Crossing {
	for _, x := range s.Notes[:min(len(s.Notes), near)] {
		if is(x) {
			return x
		}
	}
	return nil
}

// causeOf returns the operation that caused an event: the latest one-line operation that can have,
// or else an open one. It returns nil if no operation can have caused it.
func (b *treeBuilder) causeOf(x *adk.Crossing, before []*Step) *Step {
	for _, s := range slices.Backward(before[max(0, len(before)-near):]) {
		if !s.X.Kind.Spanning() && s.causes(x) {
			return s
		}
	}
	return explains(b.open[before[0].In], func(s *Step) bool { return s.causes(x) },
		func(s *Step) bool { return x.Name == s.X.Name },
		func(s *Step) bool {
			if wire.ToolBegins(x) {
				return wire.RunsTool(s.X) && b.callID(s.X) == x.Key
			}
			return s.hasReturned()
		},
		func(s *Step) bool { return !wire.ToolEnds(x) || s.hasReturned() && s.hasFailed() == x.IsError })
}

func (b *treeBuilder) fact(c *Call, x *adk.Crossing) {
	switch {
	case wire.IsSettlement(x):
		if s := b.gates[x.Name]; s != nil {
			s.Notes = append(s.Notes, x)
			if wire.Settles(x) {
				delete(b.gates, x.Name)
			}
			return
		}
	case wire.IsPiece(x):
		if s := b.ops[x.Op]; s != nil {
			s.Notes = append(s.Notes, x)
			b.performed(b.step(c, x))
			return
		}
	case wire.IsTimer(x):
		if s := b.ops[x.N]; s != nil {
			s.Notes = append(s.Notes, x)
			return
		}
	}
	s := b.step(c, x)
	c.Steps = append(c.Steps, s)
	if wire.IsMisuse(x) {
		b.performed(s)
	}
}

// IsShared reports whether an operation of this kind changes or uses something that strands share.
// Such operations keep the recorded order, so that a turn is the same whichever strand is faster.
func IsShared(kind adk.Kind) bool {
	if kind.Class() != adk.ClassOperation {
		return false
	}
	switch kind.Touches() {
	case adk.TouchHandles, adk.TouchReading, adk.TouchWriting, adk.TouchStream:
		return true
	}
	return false
}

// Shares is like IsShared, for a recorded crossing. A dispatch that user code calls counts too: it
// begins with copies of what its caller sees, and flushes to its caller (DSP-9, DEL-2).
func (t *Tree) Shares(x *adk.Crossing) bool {
	if x.Kind == adk.KindCall || wire.EndsIteration(x) || wire.EndsDispatch(x) {
		c := t.Calls[wire.CallOf(x)]
		return c != nil && c.Begin.Seam.Label == adk.LabelDispatch && c.Called()
	}
	return IsShared(x.Kind)
}

// GateID returns the id of the gate that a recorded crossing may take or free: a wait asks for the
// id, and a settlement lets the next wait have it (GAT-5). It returns "" for other crossings.
func GateID(x *adk.Crossing) string {
	if wire.AsksForGate(x) || wire.Settles(x) {
		return x.Name
	}
	return ""
}

// Settlement returns the last settlement of the gate that a step waited for, or nil if there is
// none or s is nil.
func (s *Step) Settlement() *adk.Crossing { return s.note(wire.IsSettlement) }

// Timer returns the timer that woke a step, or nil if there is none or s is nil.
func (s *Step) Timer() *adk.Crossing { return s.note(wire.IsTimer) }

func (s *Step) note(is func(*adk.Crossing) bool) (last *adk.Crossing) {
	if s != nil {
		for _, x := range s.Notes {
			if is(x) {
				last = x
			}
		}
	}
	return last
}

// IsAsk reports whether a step asks the world.
func (s *Step) IsAsk() bool { return wire.Asks(s.X) }

// LeftOpen reports whether a step is an ask that was still open when its seam call returned.
func (s *Step) LeftOpen() bool {
	return s.IsAsk() && s.Done != nil && errors.Is(s.Done.Err, adk.E_CONTEXT_ENDED)
}

// LeftBehind reports whether two asks received equally many pieces of their answers and at least
// one of them ended only because its seam call returned. Clients read answers on goroutines of
// their own, so whether the end was still read is nondeterministic and not a difference.
func LeftBehind(a, b *Step) bool {
	return a.Done != nil && b.Done != nil && (a.LeftOpen() || b.LeftOpen()) && len(a.Notes) == len(b.Notes)
}

// Unanswered reports whether a step is, or led to, a call in missed: the calls without an answer.
func (s *Step) Unanswered(missed map[int]bool) bool {
	if s.Call != nil {
		return missed[s.Call.Begin.ID]
	}
	return slices.ContainsFunc(s.Calls, func(c *Call) bool { return missed[c.Begin.ID] })
}

// Size returns the number of crossings of a step, including everything below it.
func (s *Step) Size() int {
	if s.Call != nil {
		return s.Call.Size()
	}
	n := 1 + len(s.Notes)
	if s.Done != nil {
		n++
	}
	for _, c := range s.Calls {
		n += c.Size()
	}
	return n
}

// Size returns the number of crossings of a call, including everything below it.
func (c *Call) Size() int {
	n := 1
	if c.Return != nil {
		n++
	}
	for _, s := range c.Steps {
		n += s.Size()
	}
	return n
}

// AckHandler identifies a recorded on-ack handler. Each dispatch numbers its own handlers, so it
// includes the call that registers and removes the handler.
type AckHandler struct{ Call, ID int }

// AckHandlerOf returns the handler that a crossing registers or removes.
func AckHandlerOf(x *adk.Crossing) AckHandler { return AckHandler{x.Call, x.ID} }

// RunCall is the number of the call that is the run itself. LineOfHeader and LineOfFirst are the
// numbers of the lines of a trace with its header and its first crossing.
const (
	RunCall      = 1
	LineOfHeader = 1
	LineOfFirst  = 2
)

// StepOf returns the operation that a crossing is a line of, or nil if there is none.
func (t *Tree) StepOf(x *adk.Crossing) *Step {
	c := t.Calls[x.Call]
	if c == nil || x.Kind.Class() != adk.ClassOperation {
		return nil
	}
	if x.Phase == adk.Done {
		if at := slices.IndexFunc(c.Steps, func(s *Step) bool { return s.Done == x }); at >= 0 {
			return c.Steps[at]
		}
		return nil
	}
	at, found := slices.BinarySearchFunc(c.Steps, x.Seq, func(s *Step, seq int) int { return s.X.Seq - seq })
	if !found {
		return nil
	}
	return c.Steps[at]
}

// Next returns what user code did next in a call after the crossing with number behind, ignoring
// pieces of answers and operations that only make an id or a time. If it did nothing more, Next
// returns how the call ended, or nil if it did not end.
func (c *Call) Next(behind int) *adk.Crossing {
	for _, s := range c.Script {
		if s.X.Seq > behind && s.X.Phase != adk.Done && !wire.OnlyMakes(s.X) && !wire.IsPiece(s.X) {
			return s.X
		}
	}
	return c.Return
}

// OperationOf returns the operation that a crossing of the tree belongs to or was caused by, or nil
// if there is none.
func (t *Tree) OperationOf(x *adk.Crossing) *adk.Crossing {
	if s := t.StepOf(x); s != nil {
		return s.X
	}
	call := t.Calls[x.Call]
	switch {
	case wire.IsDispatched(x):
		return x
	case call == nil || x.Kind == adk.KindReturn:
		return nil
	}
	for _, s := range call.Steps {
		if slices.Contains(s.Notes, x) || slices.ContainsFunc(s.Calls, func(c *Call) bool { return c.Begin == x }) {
			return s.X
		}
	}
	return nil
}

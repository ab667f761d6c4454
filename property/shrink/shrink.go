package shrink

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Stats describes what shrinking did.
type Stats struct {
	// Tried is the number of turns that were tried, Kept the number of those that still showed what
	// was to be kept.
	Tried, Kept int
	// From and To are the sizes of the turn before and after, by Turn.Size.
	From, To int
}

// Shrink reduces a turn to a smaller one for which keeps still returns true. It drops scripts,
// operations, middlewares, strands, tools and records, at first in big pieces and in the end one by
// one. Then it drops whole iterations, and simplifies what is left. It stops when nothing more can
// be done: without any single piece of the result, keeps returns false. It is deterministic if
// keeps is.
//
// Every turn that keeps is called with can be run. keeps is not called with t itself: if no smaller
// turn is kept, Shrink returns t.
func Shrink(t turn.Turn, keeps func(turn.Turn) bool) (turn.Turn, Stats) {
	s := &shrinker{keeps: keeps, best: t, stats: Stats{From: t.Size()}}
	for {
		before := s.stats.Kept
		s.prune()
		s.hoist()
		s.simplify()
		if s.stats.Kept == before {
			break
		}
	}
	s.stats.To = s.best.Size()
	return s.best, s.stats
}

// KeepsFinding returns a function for Shrink that keeps a finding of CheckTurn with that name.
func KeepsFinding(name string) func(turn.Turn) bool {
	return func(t turn.Turn) bool {
		return slices.ContainsFunc(turn.CheckTurn(t), func(f turn.Finding) bool { return f.Name == name })
	}
}

type shrinker struct {
	keeps func(turn.Turn) bool
	best  turn.Turn
	stats Stats
}

// shifts is by how many choices an order may move when operations are dropped at which strands had
// a choice.
const shifts = 8

// try takes a turn if it still shows what is to be kept. If that fails and the turn's order has
// decisions, try also moves them to earlier choices, since a dropped operation may have been a
// choice.
func (s *shrinker) try(t turn.Turn) bool {
	if s.take(t) {
		return true
	}
	for by := 1; by <= shifts && len(t.Order) > 0 && t.Order[0].Choice > by; by++ {
		earlier := t
		earlier.Order = slices.Clone(t.Order)
		for i := range earlier.Order {
			earlier.Order[i].Choice -= by
		}
		if s.take(earlier) {
			return true
		}
	}
	return false
}

func (s *shrinker) take(t turn.Turn) bool {
	s.stats.Tried++
	if !s.keeps(t) {
		return false
	}
	s.best = t
	s.stats.Kept++
	return true
}

// prune drops pieces: halves, quarters and so on, until no single piece can be dropped.
func (s *shrinker) prune() {
	for size := pieces(s.best); size > 0; size /= 2 {
		for at := pieces(s.best) - size; at > -size; {
			if s.try(without(s.best, max(at, 0), at+size)) {
				at = min(at, pieces(s.best)-size)
			} else {
				at -= size
			}
		}
	}
}

// pruning numbers the pieces of a turn in the order of its fields, and leaves out those with
// numbers from lo up to, but not including, hi. If a piece is dropped, everything in it is dropped
// too.
type pruning struct{ at, lo, hi int }

// pieces returns the number of pieces in a turn.
func pieces(t turn.Turn) int {
	p := &pruning{lo: -1, hi: -1}
	p.turn(t)
	return p.at
}

// without returns a turn without the pieces from lo up to hi.
func without(t turn.Turn, lo, hi int) turn.Turn {
	p := &pruning{lo: lo, hi: hi}
	return p.turn(t)
}

// drops numbers a piece and reports whether it is left out.
func (p *pruning) drops() bool {
	p.at++
	return p.at-1 >= p.lo && p.at-1 < p.hi
}

func (p *pruning) turn(t turn.Turn) turn.Turn {
	t.Instructions = pruned(p, t.Instructions, nil)
	t.Tools = pruned(p, t.Tools, nil)
	t.Kept = pruned(p, t.Kept, nil)
	if t.Standalone != nil {
		alone := *t.Standalone
		alone.Records = pruned(p, alone.Records, nil)
		t.Standalone = &alone
	}
	t.Loud = pruned(p, t.Loud, nil)
	t.TurnInput = pruned(p, t.TurnInput, nil)
	t.DispatchInput = pruned(p, t.DispatchInput, nil)
	t.DispatchOutput = pruned(p, t.DispatchOutput, nil)
	t.TurnOutput = pruned(p, t.TurnOutput, nil)
	t.Order = pruned(p, t.Order, nil)
	t.Scripts = pruned(p, t.Scripts, p.script)
	return t
}

// pruned returns the list without the dropped pieces. inside prunes each element; it is also called
// for a dropped element, so that the numbers of later pieces stay the same.
func pruned[T any](p *pruning, list []T, inside func(T) T) []T {
	var kept []T
	for _, one := range list {
		dropped := p.drops()
		if inside != nil {
			one = inside(one)
		}
		if !dropped {
			kept = append(kept, one)
		}
	}
	return kept
}

func (p *pruning) script(s turn.Script) turn.Script {
	s.Body = p.body(s.Body)
	return s
}

func (p *pruning) body(b turn.Body) turn.Body {
	b.Ops = pruned(p, b.Ops, p.op)
	return b
}

func (p *pruning) op(op turn.Op) turn.Op {
	op.Settle = pruned(p, op.Settle, nil)
	if op.Do != nil {
		body := p.body(*op.Do)
		op.Do = &body
	}
	if op.Dispatch != nil {
		n := *op.Dispatch
		n.Input = pruned(p, n.Input, nil)
		n.Output = pruned(p, n.Output, nil)
		n.Scripts = pruned(p, n.Scripts, p.script)
		op.Dispatch = &n
	}
	return op
}

// hoist drops whole iterations; later iterations move up.
func (s *shrinker) hoist() {
	for k := iterationsOf(s.best); k >= 0; k-- {
		s.try(withoutIteration(s.best, k))
	}
}

func iterationsOf(t turn.Turn) int {
	most := -1
	for _, one := range t.Scripts {
		if seam, ok := iterationSeam(one.Seam); ok {
			most = max(most, seam.Iteration)
		}
	}
	return most
}

// iterationSeam parses the path of a seam that is called once per iteration.
func iterationSeam(path string) (adk.Seam, bool) {
	seam, err := adk.ParseSeam(path)
	return seam, err == nil && strings.HasSuffix(path, "#"+strconv.Itoa(seam.Iteration)) && seam.Label != adk.LabelTool
}

func withoutIteration(t turn.Turn, k int) turn.Turn {
	t = copyOf(t)
	t.Scripts = slices.DeleteFunc(t.Scripts, func(s turn.Script) bool {
		seam, ok := iterationSeam(s.Seam)
		return ok && seam.Iteration == k
	})
	for i := range t.Scripts {
		t.Scripts[i].Seam = movedUp(t.Scripts[i].Seam, k)
		for j := range t.Scripts[i].Ops {
			t.Scripts[i].Ops[j].On = movedUp(t.Scripts[i].Ops[j].On, k)
		}
	}
	return t
}

func movedUp(path string, k int) string {
	seam, ok := iterationSeam(path)
	if !ok || seam.Iteration <= k {
		return path
	}
	seam.Iteration--
	return seam.String()
}

// simplify simplifies what is left, one edit at a time.
func (s *shrinker) simplify() {
	for at := 0; ; {
		t := copyOf(s.best)
		e := &editing{target: at}
		e.turn(&t)
		if !e.made {
			return
		}
		if !s.try(t) {
			at++ // after a successful edit, the next edit has its number
		}
	}
}

// editing numbers the edits that would make a turn simpler, and makes the one with number target.
type editing struct {
	at, target int
	made       bool
}

// edit makes the edit if it has the target number. It counts only edits that are worthwhile.
func (e *editing) edit(worthwhile bool, make func()) {
	if !worthwhile {
		return
	}
	if e.at == e.target {
		make()
		e.made = true
	}
	e.at++
}

// zero is the edit that sets a field to its zero value.
func zero[T any](e *editing, isZero bool, field *T) {
	e.edit(!isZero, func() {
		var none T
		*field = none
	})
}

func (e *editing) turn(t *turn.Turn) {
	zero(e, !t.WriteBehind, &t.WriteBehind)
	zero(e, t.Standalone == nil, &t.Standalone)
	if t.Standalone != nil {
		zero(e, !t.Standalone.Gates, &t.Standalone.Gates)
	}
	zero(e, t.Stash == nil, &t.Stash)
	zero(e, t.Cancelled == nil, &t.Cancelled)
	e.edit(len(t.Prompt) > 1, func() { t.Prompt = "p" })
	for i := range t.Loud {
		zero(e, !t.Loud[i].Goexit, &t.Loud[i].Goexit)
	}
	for i := range t.Order {
		e.edit(t.Order[i].Choice > 1, func() { t.Order[i].Choice-- })
	}
	for i := 0; i < len(t.Scripts); i++ {
		s := &t.Scripts[i]
		for n := range s.Occurrence {
			e.edit(true, func() { s.Occurrence = n })
		}
		e.edit(usual(s), func() { t.Scripts = slices.Delete(t.Scripts, i, i+1) })
		if e.made {
			return
		}
		e.body(&s.Body)
	}
}

func (e *editing) body(b *turn.Body) {
	e.end(&b.End)
	for i := range b.Ops {
		e.op(&b.Ops[i])
	}
}

func (e *editing) end(end *turn.End) {
	e.edit(end.How != "" && end.How != adk.OutcomeOK, func() { *end = turn.End{} })
	e.edit(end.How == adk.OutcomePanic, func() { end.How = adk.OutcomeError })
	zero(e, !end.Kept, &end.Kept)
	zero(e, end.Result == nil, &end.Result)
	zero(e, end.Records == nil, &end.Records)
	e.edit(len(end.Records) > 0, func() { end.Records = []turn.Record{} })
	e.failure(&end.Err)
}

// failure replaces an error by one that is only a short text.
func (e *editing) failure(f **turn.Failure) {
	e.edit(*f != nil && (len((*f).Causes) > 0 || (*f).Known != "" || (*f).Code != "" || (*f).Panic), func() { *f = turn.Failing("x") })
	e.edit(*f != nil && len((*f).Text) > 1, func() {
		shorter := **f
		shorter.Text = "x"
		*f = &shorter
	})
}

// asked reduces an ask and its answer.
func (e *editing) asked(op *turn.Op) {
	if op.Asked == nil {
		return
	}
	less := *op.Asked
	op.Asked = &less
	zero(e, less.Effect == "", &op.Asked.Effect)
	zero(e, !less.AfterAbort, &op.Asked.AfterAbort)
	for _, text := range []*json.RawMessage{&op.Asked.Request, &op.Asked.Answer} {
		e.edit(len(*text) > len(`0`), func() { *text = json.RawMessage(`0`) })
	}
	for i := range op.Asked.Pieces {
		e.edit(true, func() { op.Asked.Pieces = slices.Delete(slices.Clone(op.Asked.Pieces), i, i+1) })
		if e.made {
			return
		}
	}
}

func (e *editing) op(op *turn.Op) {
	zero(e, op.On == "", &op.On)
	zero(e, !op.Must, &op.Must)
	zero(e, !op.Flag, &op.Flag)
	zero(e, !op.IsError, &op.IsError)
	zero(e, op.Cause == nil, &op.Cause)
	e.failure(&op.Cause)
	zero(e, op.Value == nil, &op.Value)
	zero(e, op.Args == nil, &op.Args)
	e.edit(op.Args != nil && !isEmptyObject(op.Args.V), func() { op.Args = turn.ValueOf(map[string]any{}) })
	zero(e, op.Result == nil, &op.Result)
	zero(e, op.Schema == nil, &op.Schema)
	zero(e, op.Duration == 0, &op.Duration)
	e.edit(op.Duration > time.Second, func() { op.Duration = time.Second })
	e.edit(len(op.Text) > 1, func() { op.Text = "x" })
	e.asked(op)
	for i := range op.Settle {
		e.settlement(&op.Settle[i])
	}
	if op.Do != nil {
		e.edit(op.Kind == "fork" && len(op.Do.Ops) == 1, func() { *op = op.Do.Ops[0] })
	}
	if op.Do != nil {
		e.body(op.Do)
	}
	if op.Dispatch != nil {
		for i := range op.Dispatch.Scripts {
			e.body(&op.Dispatch.Scripts[i].Body)
		}
	}
}

func isEmptyObject(v any) bool {
	object, ok := v.(map[string]any)
	return ok && len(object) == 0
}

func (e *editing) settlement(s *turn.Settlement) {
	zero(e, s.By == "", &s.By)
	zero(e, s.After == 0, &s.After)
	zero(e, s.Value == nil, &s.Value)
	e.failure(&s.Err)
}

// copyOf returns a copy of t that shares no list with it, so that it can be edited.
func copyOf(t turn.Turn) turn.Turn { return (&pruning{lo: -1, hi: -1}).turn(t) }

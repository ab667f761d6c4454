package stats

import (
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// Figures are the counts of some traces.
type Figures struct {
	// Traces is how many traces were read. Unreadable is how many of them could not be read to
	// their end; what could be read is counted.
	Traces     int `json:"traces"`
	Unreadable int `json:"unreadable"`
	Crossings  int `json:"crossings"`
	// Turns is the number of runs of a turn or of a standalone dispatch. Ends counts how dispatches
	// ended: ack, nack, aborted.
	Turns      int            `json:"turns"`
	Ends       map[string]int `json:"ends"`
	Iterations int            `json:"iterations"`
	// Asks counts what user code asked of the world. The asks in Models asked a model.
	Asks Calls `json:"asks"`
	// Retries counts asks that repeat the failed ask before them in their call.
	Retries int              `json:"retries"`
	Tokens  Tokens           `json:"tokens"`
	Models  map[string]Model `json:"models"`
	// Stops counts the reasons why models stopped, as their answers say.
	Stops map[string]int `json:"stops"`
	// Cost is the cost of the tokens by the given prices; nil without prices.
	Cost *Cost `json:"cost,omitempty"`
	// Tools counts executions of tools by name, and Errors counts error events by code.
	Tools  map[string]Calls `json:"tools"`
	Errors map[string]int   `json:"errors"`
	// Turn is the durations of turns that ended, Ask those of asks until the last piece of the
	// answer, and Tool those of executions of tools.
	Turn Spread `json:"turnTimes"`
	Ask  Spread `json:"askTimes"`
	Tool Spread `json:"toolTimes"`
}

// Calls is a number of calls, and how many of them failed.
type Calls struct {
	Count  int `json:"calls"`
	Failed int `json:"failed"`
}

func (c *Calls) add(failed bool) {
	c.Count++
	if failed {
		c.Failed++
	}
}

// Tokens are what models read and wrote.
type Tokens struct {
	// In is what they read. That includes Cached, which came from a cache.
	In     int `json:"in"`
	Cached int `json:"cached"`
	Out    int `json:"out"`
	// Counted is how many answers did not report tokens, so that their tokens were counted here.
	Counted int `json:"counted"`
}

func (t *Tokens) add(other Tokens) {
	t.In, t.Cached, t.Out, t.Counted = t.In+other.In, t.Cached+other.Cached, t.Out+other.Out, t.Counted+other.Counted
}

// Model counts the asks of one model, by its name in the requests. If no trace shows whom an
// executor asks, it is named after the executor's seam.
type Model struct {
	Calls
	Tokens Tokens `json:"tokens"`
}

// Cost is what tokens cost.
type Cost struct {
	Currency string  `json:"currency"`
	Amount   float64 `json:"amount"`
	// Unpriced is the number of answers without a known price, which count as free.
	Unpriced int `json:"unpriced"`
}

// NewFigures returns empty figures. They have a Cost if there are prices.
func NewFigures(prices *Prices) *Figures {
	f := &Figures{Ends: map[string]int{}, Models: map[string]Model{}, Stops: map[string]int{}, Tools: map[string]Calls{}, Errors: map[string]int{}}
	if prices != nil {
		f.Cost = &Cost{Currency: prices.Currency}
	}
	return f
}

// Unit is the unit of the value of a row.
type Unit string

// The units of rows.
const (
	Number   Unit = "number"
	Duration Unit = "ns"
	Money    Unit = "money"
)

// Row is one figure with its name.
type Row struct {
	Name  string  `json:"name"`
	Unit  Unit    `json:"unit"`
	Value float64 `json:"value"`
}

// rowsBeside returns the rows of everything that has a row in f or in other. First come those that
// all traces have, in a fixed order, and then those of models, tools, stops, ends and errors,
// sorted by name.
func (f *Figures) rowsBeside(other *Figures) []Row {
	rows := []Row{
		number("traces", f.Traces), number("traces.unreadable", f.Unreadable), number("crossings", f.Crossings),
		number("turns", f.Turns), number("iterations", f.Iterations),
		number("asks", f.Asks.Count), number("asks.failed", f.Asks.Failed), number("asks.retries", f.Retries),
		number("tokens.in", f.Tokens.In), number("tokens.cached", f.Tokens.Cached), number("tokens.out", f.Tokens.Out), number("tokens.counted", f.Tokens.Counted),
	}
	if f.Cost != nil {
		rows = append(rows, Row{"cost", Money, f.Cost.Amount}, number("cost.unpriced", f.Cost.Unpriced))
	}
	rows = append(rows, f.eachTurn()...)
	rows = append(rows, f.Turn.rows("time.turn")...)
	rows = append(rows, f.Ask.rows("time.ask")...)
	rows = append(rows, f.Tool.rows("time.tool")...)
	for _, name := range namesIn(f.Models, other.Models) {
		rows = append(rows, f.Models[name].rows("models."+name)...)
	}
	for _, name := range namesIn(f.Tools, other.Tools) {
		rows = append(rows, f.Tools[name].rows("tools."+name)...)
	}
	rows = append(rows, counts("stops.", f.Stops, other.Stops)...)
	rows = append(rows, counts("ends.", f.Ends, other.Ends)...)
	return append(rows, counts("errors.", f.Errors, other.Errors)...)
}

func (m Model) rows(at string) []Row {
	return []Row{
		number(at+".asks", m.Count), number(at+".failed", m.Failed),
		number(at+".tokens.in", m.Tokens.In), number(at+".tokens.cached", m.Tokens.Cached), number(at+".tokens.out", m.Tokens.Out),
	}
}

func (c Calls) rows(at string) []Row {
	return []Row{number(at+".calls", c.Count), number(at+".failed", c.Failed)}
}

func counts(family string, here, there map[string]int) (rows []Row) {
	for _, name := range namesIn(here, there) {
		rows = append(rows, number(family+name, here[name]))
	}
	return rows
}

// namesIn returns the keys of two maps, sorted.
func namesIn[V any](here, there map[string]V) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(here)), maps.Keys(there))
	slices.Sort(names)
	return slices.Compact(names)
}

// families are the rows that only some traces have, with * in place of the variable part.
var families = slices.Concat(Model{}.rows("models.*"), Calls{}.rows("tools.*"), []Row{
	number("stops.*", 0), number("errors.*", 0),
	number("ends."+adk.StatusAck, 0), number("ends."+adk.StatusNack, 0), number("ends."+adk.StatusAborted, 0),
})

// inFamily reports whether a name is that of a row which only some traces have. If the name only
// begins like such rows, alike are these rows.
func inFamily(name string) (ok bool, alike []string) {
	family, _, _ := strings.Cut(name, ".")
	for _, row := range families {
		before, after, open := strings.Cut(row.Name, "*")
		switch {
		case row.Name == name, open && len(name) >= len(before+after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after):
			return true, nil
		case strings.HasPrefix(row.Name, family+"."):
			alike = append(alike, row.Name)
		}
	}
	return false, alike
}

// eachTurn returns averages per turn, which are more meaningful for two folders of different sizes.
func (f *Figures) eachTurn() []Row {
	mean := func(name string, unit Unit, sum float64) Row { return Row{name, unit, sum / float64(max(f.Turns, 1))} }
	rows := []Row{
		mean("perTurn.iterations", Number, float64(f.Iterations)), mean("perTurn.asks", Number, float64(f.Asks.Count)),
		mean("perTurn.tokens.in", Number, float64(f.Tokens.In)), mean("perTurn.tokens.out", Number, float64(f.Tokens.Out)),
	}
	if f.Cost != nil {
		rows = append(rows, mean("perTurn.cost", Money, f.Cost.Amount))
	}
	return rows
}

func number(name string, n int) Row { return Row{name, Number, float64(n)} }

// Difference is a figure of two folders.
type Difference struct {
	Name string  `json:"name"`
	Unit Unit    `json:"unit"`
	Was  float64 `json:"was"`
	Now  float64 `json:"now"`
}

// Change returns the difference of the new and the old value.
func (d Difference) Change() float64 { return d.Now - d.Was }

// Percent returns the change in percent of the old value. It returns false if the old value is 0
// and the new one is not.
func (d Difference) Percent() (float64, bool) {
	switch {
	case d.Now == d.Was:
		return 0, true
	case d.Was == 0:
		return 0, false
	}
	return d.Change() / d.Was * 100, true
}

// Compare compares the figures of two folders.
func Compare(was, now *Figures) []Difference {
	before := was.rowsBeside(now)
	var all []Difference
	for i, row := range now.rowsBeside(was) {
		all = append(all, Difference{row.Name, row.Unit, before[i].Value, row.Value})
	}
	return all
}

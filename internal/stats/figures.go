package stats

import (
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// Figures are what was counted in some traces.
type Figures struct {
	// Traces is how many were read, and Unreadable how many of them not to their end: of
	// those is counted what there is.
	Traces     int `json:"traces"`
	Unreadable int `json:"unreadable"`
	Crossings  int `json:"crossings"`
	// Turns are runs of a turn, or of a dispatch alone; Ends is how their dispatches ended:
	// ack, nack, aborted.
	Turns      int            `json:"turns"`
	Ends       map[string]int `json:"ends"`
	Iterations int            `json:"iterations"`
	// Asks are what user code asked of the world. Those of Models asked a model.
	Asks Calls `json:"asks"`
	// Retries are asks that say the same as the one before them in their call, which failed.
	Retries int              `json:"retries"`
	Tokens  Tokens           `json:"tokens"`
	Models  map[string]Model `json:"models"`
	// Stops is why models stopped, as their answers say.
	Stops map[string]int `json:"stops"`
	// Cost is what the tokens cost by the prices that were given; nil without.
	Cost *Cost `json:"cost,omitempty"`
	// Tools are the executions of tools by their names, and Errors the error events by
	// their codes.
	Tools  map[string]Calls `json:"tools"`
	Errors map[string]int   `json:"errors"`
	// Turn is how long turns took that ended, Ask how long answers took, until their last
	// piece, and Tool how long executions of tools did.
	Turn Spread `json:"turnTimes"`
	Ask  Spread `json:"askTimes"`
	Tool Spread `json:"toolTimes"`
}

// Calls are how many there were, and how many of them failed.
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
	// In is what they read, Cached included, which is what of it they had read before.
	In     int `json:"in"`
	Cached int `json:"cached"`
	Out    int `json:"out"`
	// Counted is how many answers said no tokens: theirs were counted here.
	Counted int `json:"counted"`
}

func (t *Tokens) add(other Tokens) {
	t.In, t.Cached, t.Out, t.Counted = t.In+other.In, t.Cached+other.Cached, t.Out+other.Out, t.Counted+other.Counted
}

// Model is what was asked of one model, by the name that the requests say; or of the
// executor, by its seam, where no trace shows whom it asks.
type Model struct {
	Calls
	Tokens Tokens `json:"tokens"`
}

// Cost is what tokens cost.
type Cost struct {
	Currency string  `json:"currency"`
	Amount   float64 `json:"amount"`
	// Unpriced is of how many answers the price is not known: they cost nothing here.
	Unpriced int `json:"unpriced"`
}

// NewFigures have counted nothing, with a cost where there are prices.
func NewFigures(prices *Prices) *Figures {
	f := &Figures{Ends: map[string]int{}, Models: map[string]Model{}, Stops: map[string]int{}, Tools: map[string]Calls{}, Errors: map[string]int{}}
	if prices != nil {
		f.Cost = &Cost{Currency: prices.Currency}
	}
	return f
}

// Unit says what the value of a row counts.
type Unit string

// The units of rows.
const (
	Number   Unit = "number"
	Duration Unit = "ns"
	Money    Unit = "money"
)

// Row is one figure under its name.
type Row struct {
	Name  string  `json:"name"`
	Unit  Unit    `json:"unit"`
	Value float64 `json:"value"`
}

// rowsBeside are the rows of all that has a row here or in other figures: first those that all
// traces have, in a fixed order, then those of models, tools, stops, ends and errors by their
// names.
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

// namesIn are the keys of two maps, in their order.
func namesIn[V any](here, there map[string]V) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(here)), maps.Keys(there))
	slices.Sort(names)
	return slices.Compact(names)
}

// families are the rows that only some traces have, with * for what has a name of its own.
var families = slices.Concat(Model{}.rows("models.*"), Calls{}.rows("tools.*"), []Row{
	number("stops.*", 0), number("errors.*", 0),
	number("ends."+adk.StatusAck, 0), number("ends."+adk.StatusNack, 0), number("ends."+adk.StatusAborted, 0),
})

// inFamily reports whether a name is of a row that only some traces have. Of one that merely
// begins as such rows do, alike are those rows.
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

// eachTurn are what a turn has on average, which tells more of two folders of unequal size.
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

// Change is by how much the figure is more than it was.
func (d Difference) Change() float64 { return d.Now - d.Was }

// Percent is the change as a share of what was, and reports whether there is one: of
// nothing no share can be told.
func (d Difference) Percent() (float64, bool) {
	switch {
	case d.Now == d.Was:
		return 0, true
	case d.Was == 0:
		return 0, false
	}
	return d.Change() / d.Was * 100, true
}

// Compare sets the figures of two folders side by side, in the order of Rows.
func Compare(was, now *Figures) []Difference {
	before := was.rowsBeside(now)
	var all []Difference
	for i, row := range now.rowsBeside(was) {
		all = append(all, Difference{row.Name, row.Unit, before[i].Value, row.Value})
	}
	return all
}
